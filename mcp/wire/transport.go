// Package wire is what the client and the server of the Model Context Protocol
// share: JSON-RPC messages, the transport that carries them, tools, results and
// the revisions of the protocol. It does no input or output of its own.
package wire

import (
	"context"
	"time"
)

// A Transport carries whole JSON-RPC messages, one frame each, both ways.
// What a frame looks like on the wire is the transport's business; a message
// handed over here has no delimiter.
type Transport interface {
	// Send puts one whole message on the wire. It is safe for concurrent use:
	// messages never interleave. It keeps no reference to msg. When ctx ends
	// while part of the message is out, the transport is unusable afterwards.
	// An error that wraps ErrNotSent means that nothing left.
	Send(ctx context.Context, msg []byte) error

	// Receive returns the next message. One goroutine may call it. The slice
	// belongs to the caller. It returns io.EOF when the peer is gone.
	Receive() ([]byte, error)

	// Close unblocks Send and Receive and gives up what the transport holds.
	// It may be called more than once, from any goroutine.
	Close() error
}

// ErrNotSent says that no byte of a message left this process.
var ErrNotSent error = notSent{}

type notSent struct{}

func (notSent) Error() string { return "not sent" }

// ShutdownGrace is each wait of the ladder: stdin closed, SIGTERM, SIGKILL.
const ShutdownGrace = 2 * time.Second
