// Package wire is what the client and the server of the Model Context Protocol
// share: JSON-RPC messages, the transport that carries them, tools, results and
// the revisions of the protocol. It does no input or output of its own.
package wire

import (
	"context"
	"time"
)

// A Transport carries whole JSON-RPC messages, one frame each, both ways.
// Messages are handed over without the delimiters of the wire.
type Transport interface {
	// Send sends one whole message. It is safe for concurrent use: messages
	// never interleave. It keeps no reference to msg. When ctx ends while part
	// of the message is sent, the transport is unusable afterwards. An error
	// that wraps ErrNotSent means that nothing was sent.
	Send(ctx context.Context, msg []byte) error

	// Receive returns the next message. One goroutine may call it. The slice
	// belongs to the caller. It returns io.EOF when the peer is gone.
	Receive() ([]byte, error)

	// Close unblocks Send and Receive and releases all resources.
	// It may be called more than once, from any goroutine.
	Close() error
}

// ShutdownGrace bounds what the end of a session waits for: the last answers of
// a server in this process, the DELETE of an HTTP session.
const ShutdownGrace = 2 * time.Second
