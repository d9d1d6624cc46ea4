// Package mcp is a client of the Model Context Protocol. A Spec describes how to reach a
// server, Connect negotiates the revision of the protocol, and the Session lists tools,
// prompts and resources and calls the tools.
//
// A revision is a dated version of the protocol. "Modern" is 2026-07-28, which has no
// handshake but metadata on every request; "legacy" means every earlier revision. A call that
// may change something runs at most once, every wait is limited, no process outlives its Session,
// and no secret of the Spec appears in a hook or an error.
package mcp

import (
	"crypto/tls"
	"slices"
	"time"

	"toolpipe/mcp/oauth"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/secrets"
)

// Spec describes how to reach one server. Exactly one of URL, Command and Local is set.
type Spec struct {
	Name    string
	URL     string                // Streamable HTTP: http or https, without user name and password; or unix:PATH, or the address of a door
	Command []string              // stdio: argv, started without a shell
	Local   func() wire.Transport // connects to a server in this process

	Dir        string            // stdio: working directory; "" is the root directory, not the user's
	Environ    []string          // stdio and TokenCommand: our own environment; allow-listed names and InheritEnv are passed on
	Env        map[string]string // stdio: set in the child
	InheritEnv []string          // stdio: names passed on from Environ
	Framing    string            // stdio: "newline" (also "") or "content-length"

	Headers      map[string]string // http: sent on every request
	Bearer       string            // http: secret
	TokenCommand []string          // http: argv; the first line of its output is the bearer token
	OAuth        *oauth.Settings
	Logins       *oauth.Store // http: source of the token if no field above gives one; may be nil
	InsecureHTTP bool         // http: credentials may go over plain http to a host that is not loopback

	Protocol       Protocol
	StartupTimeout time.Duration // 0: 30 s
	ToolTimeout    time.Duration // longest time without progress; 0: 120 s; the hard deadline is ten times as long
	Elicit         string        // "off" (also ""), "decline", "defaults", "ask"; "each": as ask, for requests with an Ask (2026-07-28)
	Client         Client

	probeTimeout time.Duration // 0: defaultProbe; tests set a shorter one
}

// Client describes this program to servers.
type Client struct {
	Version     string
	Meta        []byte           // further members of _meta in all requests except tool calls, without braces; nil for none
	Certificate *tls.Certificate // https: shown to the origin of the URL, and to no other; nil for none
}

// Protocol selects the revision that is spoken with a server.
type Protocol struct {
	Only  string // "legacy" or "2026-07-28": no other revision is tried; "auto" or "": any that the server speaks
	Known string // the revision of the last session, which is tried first and may be wrong; "" if unknown
}

// spokeLegacy is the last revision that the server spoke, if it is a legacy one; ""
// otherwise.
func (p Protocol) spokeLegacy() string {
	if p.Only == wire.ModernRevision || !slices.Contains(wire.LegacyRevisions[:], p.Known) {
		return ""
	}
	return p.Known
}

// Hooks are called from any goroutine for events other than answers, but never after Close
// has returned. Any of them may be nil.
type Hooks struct {
	// Warning gets a code such as "tools_changed" or "server_lost".
	Warning func(code, message string)
	// Log gets lines of the server's stderr and its log notifications.
	Log func(line string)
	// LogMessage gets the parameters of each log notification: an object with level, data and
	// perhaps logger.
	LogMessage func(params []byte)
	// Announced gets the method and the parameters of each notification that a list or a
	// resource has changed. The callee may keep the parameters.
	Announced func(method string, params []byte)
	// Wire gets every message that was sent ('>') or received ('<'), without secrets.
	Wire func(direction byte, line []byte)
	// OutputWait is the total time that the caller has waited for a reader of its own output.
	// Deadlines of a call do not count that time.
	OutputWait func() time.Duration
	// Tape answers the start of the server, and requests that only read.
	Tape Tape
	// Elicit asks the user, for Spec.Elicit "ask".
	Elicit wire.AskFunc
	// Secrets are removed from everything that hooks and errors contain. The secrets of the
	// Spec are added to it. nil: only the secrets of the Spec.
	Secrets *secrets.Set
}

// A Tape answers a request: with the answer that ask gets, or with the answer of an earlier run. The
// method "connect" is the start of the server. Calls of tools do not use it.
type Tape func(method string, params []byte, ask func() ([]byte, error)) ([]byte, error)

// HasCredentials reports whether a request to the server carries a secret, not counting a
// stored login.
func (spec *Spec) HasCredentials() bool {
	for name := range spec.Headers {
		if secrets.Named(name) {
			return true
		}
	}
	return spec.HasFixedToken()
}
