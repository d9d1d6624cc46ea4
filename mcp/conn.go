package mcp

import (
	"context"

	"toolpipe/mcp/wire"
)

// A conn carries requests to one server and returns the replies. Over a Transport all replies
// come on one stream and are matched by id. Over HTTP each reply comes in the response to its
// request.
type conn interface {
	// exchange sends the request and waits for its reply, until ctx ends. The
	// error is a *wire.RPCError, a *wire.NoReplyError, or a *statusError.
	exchange(ctx context.Context, r *wire.Request) ([]byte, error)

	// postMessage sends a notification or a response, which have no reply. It returns when
	// the server has taken the message.
	postMessage(ctx context.Context, msg []byte) error

	// lost is the reason why nothing can be sent any more; nil while sending is possible.
	lost() error

	// close ends the connection, within a bounded time.
	close()
}
