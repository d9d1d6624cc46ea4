package mcp

import (
	"context"

	"toolpipe/mcp/wire"
)

// A conn carries requests to one server and replies back: over a Transport,
// where all replies come on one stream and are matched by id, or as HTTP
// exchanges, where each reply comes in the response to its request.
type conn interface {
	// exchange sends the request and waits for its reply, until ctx ends. The
	// error is a *wire.RPCError, a *wire.NoReplyError, or a *statusError.
	exchange(ctx context.Context, r *wire.Request) ([]byte, error)

	// postMessage sends a notification or a response, which has no reply, and returns
	// when the server has taken it.
	postMessage(ctx context.Context, msg []byte) error

	// lost says why nothing can be sent any more; nil while something can.
	lost() error

	// close ends the connection, within a bounded time.
	close()
}
