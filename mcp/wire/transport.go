// Package wire is shared by the client and the server of the Model Context Protocol: JSON-RPC
// messages, the interface of transports, tools, results and the revisions of the protocol. It
// does no input or output itself.
package wire

import (
	"context"
	"time"
)

// A Transport carries complete JSON-RPC messages, one frame each, both ways. Messages are
// passed without the delimiters of the wire.
type Transport interface {
	// Send sends one complete message. It is safe for concurrent use: messages never
	// interleave. It keeps no reference to msg. If ctx ends while part of the message is
	// sent, the transport is unusable afterwards. An error that wraps ErrNotSent means that
	// nothing was sent.
	Send(ctx context.Context, msg []byte) error

	// Receive returns the next message. Only one goroutine may call it. The caller may keep
	// the slice. It returns io.EOF when the peer is gone.
	Receive() ([]byte, error)

	// Close unblocks Send and Receive and releases all resources.
	// It may be called more than once, from any goroutine.
	Close() error
}

// ShutdownGrace limits what the end of a session waits for: the last answers of a server in
// this process, the DELETE of an HTTP session.
const ShutdownGrace = 2 * time.Second
