// Package mcp is a client of the Model Context Protocol. A Spec says how to
// reach a server, Connect negotiates the revision of the protocol, and the
// Session lists tools, prompts and resources and calls the tools.
//
// A revision is a dated version of the protocol. "Modern" is 2026-07-28, which
// has no handshake but metadata on every request; "legacy" are all before it.
// A call is sent at most once, every wait has a bound, no process outlives its
// Session, and no secret of the Spec gets into a hook or an error.
package mcp

import (
	"slices"
	"time"

	"toolpipe/mcp/oauth"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/secrets"
)

// Spec says how to reach one server. Exactly one of URL, Command and Local is set.
type Spec struct {
	Name    string
	URL     string                // Streamable HTTP: http or https, without user name and password; or unix:PATH
	Command []string              // stdio: argv, started without a shell
	Local   func() wire.Transport // connects to a server in this process

	Dir        string            // stdio: working directory; "" is the root directory, not the user's
	Environ    []string          // stdio and TokenCommand: our own environment; allow-listed names and InheritEnv are passed on
	Env        map[string]string // stdio: set in the child
	InheritEnv []string          // stdio: names passed on from Environ
	Framing    string            // stdio: "newline" (also "") or "content-length"

	Headers      map[string]string // http: sent on every request
	Bearer       string            // http: secret
	TokenCommand []string          // http: argv whose first line of output is the bearer token
	OAuth        *oauth.Settings
	Logins       *oauth.Store // http: where the token comes from if nothing above gives one; nil: nowhere
	InsecureHTTP bool         // http: credentials may go over plain http to a host that is not loopback

	Protocol       Protocol
	StartupTimeout time.Duration // 0: 30 s
	ToolTimeout    time.Duration // longest time without progress; 0: 120 s; the hard deadline is ten times that
	Elicit         string        // "off" (also ""), "decline", "defaults", "ask"; "each": as ask, for requests with an Ask (2026-07-28)
	Client         Client

	probeTimeout time.Duration // 0: defaultProbe; tests set a shorter one
}

// Client is what a server is told of this program.
type Client struct {
	Version string
	Meta    []byte // further members of _meta of all requests but calls of tools, without braces; nil for none
}

// Protocol says which revision a server speaks.
type Protocol struct {
	Only  string // "legacy" or "2026-07-28": no other is tried; "auto" or "": whichever it speaks
	Known string // the revision that it spoke last, which is tried first and may be wrong; "" where nobody knows
}

// spokeLegacy is the legacy revision that the server spoke last; "" for none.
func (p Protocol) spokeLegacy() string {
	if p.Only == wire.ModernRevision || !slices.Contains(wire.LegacyRevisions[:], p.Known) {
		return ""
	}
	return p.Known
}

// Hooks are called for what happens beside the answers, from any goroutine, but
// not after Close has returned. Any may be nil.
type Hooks struct {
	// Warning has a code such as "tools_changed" or "server_lost".
	Warning func(code, message string)
	// Log has lines of the server's stderr and its log notifications.
	Log func(line string)
	// LogMessage has the parameters of each log notification: an object with level,
	// data and perhaps logger.
	LogMessage func(params []byte)
	// Announced has the method and the parameters of each notification that a list or a
	// resource has changed. The parameters belong to the caller.
	Announced func(method string, params []byte)
	// Wire has every message that was sent ('>') or received ('<'), without secrets.
	Wire func(direction byte, line []byte)
	// OutputWait is how long the caller has waited, in all, until its own
	// output was read. Deadlines of a call do not count that time.
	OutputWait func() time.Duration
	// Elicit asks the user, for Spec.Elicit "ask".
	Elicit wire.AskFunc
	// Secrets are kept out of all that hooks and errors say. Those of the Spec
	// are added. nil: those of the Spec alone.
	Secrets *secrets.Set
}

// HasCredentials reports whether a request to the server carries a secret, a stored
// login apart.
func (spec *Spec) HasCredentials() bool {
	for name := range spec.Headers {
		if secrets.Named(name) {
			return true
		}
	}
	return spec.HasFixedToken()
}
