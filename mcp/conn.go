package mcp

import (
	"context"

	"toolpipe/mcp/wire"
)

// A conn carries requests to one server and replies back: over a Transport,
// where all replies come on one stream and are matched by id, or as HTTP
// exchanges, where a reply belongs to its request by itself.
type conn interface {
	// exchange sends the request and waits for its reply, until ctx ends. The
	// error is a *rpcError, an *undelivered, or one of the HTTP errors wrapped
	// in an *undelivered.
	exchange(ctx context.Context, r *wire.Request) ([]byte, error)

	// notify sends a notification and returns when the server has taken it.
	notify(ctx context.Context, method string) error

	// negotiated tells the conn the revision that was agreed on.
	negotiated(revision string)

	// lost says why nothing can be sent any more; nil while something can.
	lost() error

	// close ends the conversation, bounded.
	close()
}

// inbound is what a conn hands to its session. Its methods may be called from
// any goroutine and do not block.
type inbound interface {
	// notified is told of every notification but progress.
	notified(method string, params []byte)

	// asked is told of a request of the server; reply takes the whole
	// response message, once, at any later time.
	asked(m wire.Message, reply func(response []byte))

	// unread is told once that responses are dropped, because the server asks
	// and does not take the answers.
	unread()

	// gone is told once that the server ended although nobody closed it.
	gone(cause error)

	// wire is told of every message; nothing is copied for it.
	wire(direction byte, msg []byte)
}
