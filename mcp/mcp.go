// Package mcp talks to tool servers by the Model Context Protocol.
//
// Its words are the specification's. A Spec says how to reach a server; a
// Transport carries whole JSON-RPC messages to it; a Session is a connected
// server. A revision is a dated version of the protocol; "modern" is
// 2026-07-28 and later (no handshake, metadata on every request), "legacy" all
// before it. A Server is the other side: tools as Go functions, in this
// process, over an in-memory transport.
package mcp

import (
	"context"
	"encoding/json"
	"time"

	"toolpipe/mcp/oauth"
	"toolpipe/mcp/wire"
	"toolpipe/stream/secrets"
)

// Spec says how to reach one server. Exactly one of URL, Command and Local is set.
type Spec struct {
	Name    string
	URL     string                // Streamable HTTP
	Command []string              // stdio: argv, started without a shell
	Local   func() wire.Transport // connects to a server in this process

	Dir        string            // stdio: working directory; "" is a neutral one, not the user's
	Environ    []string          // stdio and TokenCommand: toolpipe's own environment; only allow-listed names and InheritEnv pass
	Env        map[string]string // stdio: set in the child
	InheritEnv []string          // stdio: names passed from Environ
	Framing    string            // stdio: "newline" (also "") or "content-length"

	Headers      map[string]string // http: sent on every request
	Bearer       string            // http: secret
	TokenCommand []string          // http: argv whose first line of output is the bearer token
	OAuth        *oauth.ClientCredentials
	InsecureHTTP bool // http: credentials may go over plain http to a host that is not loopback

	Protocol       string        // "auto" (also ""), "legacy", "2026-07-28"
	StartupTimeout time.Duration // 0: 30 s
	ToolTimeout    time.Duration // longest time without progress; 0: 120 s; the hard deadline is ten times that
	Elicit         string        // "off" (also ""), "decline", "defaults", "ask"
	Version        string        // toolpipe's own, for clientInfo

	probeTimeout time.Duration // 0: defaultProbe; tests do not wait for it
}

// Hooks tell what happens beside the answers. They are called from any
// goroutine, never after Close returned; any may be nil.
type Hooks struct {
	Warning    func(code, message string)                                                                                 // e.g. "protocol_mismatch", "tools_changed", "tool_dropped", "server_lost"
	Log        func(line string)                                                                                          // stderr lines, log notifications: shown with -v
	OutputWait func() time.Duration                                                                                       // how long the caller has waited, in all, for whoever reads its output: no tool's silence
	Wire       func(direction byte, line []byte)                                                                          // -vv: '>' and '<', secrets removed
	Elicit     func(ctx context.Context, message string, schema json.RawMessage) (action string, content json.RawMessage) // for Elicit "ask"
	Secrets    *secrets.Set                                                                                               // kept out of all that is told; those of the server are added. nil: these alone
}

// HasCredentials says whether a request to the server carries a secret.
func (spec *Spec) HasCredentials() bool {
	for name := range spec.Headers {
		if secrets.Named(name) {
			return true
		}
	}
	return spec.Bearer != "" || len(spec.TokenCommand) > 0 || spec.OAuth != nil
}
