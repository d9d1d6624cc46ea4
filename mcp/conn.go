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

// receiver is what a conn hands to its session. Its methods may be called from
// any goroutine and do not block.
type receiver interface {
	// onNotification is called for every notification but progress.
	onNotification(method string, params []byte)

	// onRequest is called for a request of the server; reply takes the whole
	// response message, once, at any later time.
	onRequest(m wire.Message, reply func(response []byte))

	// onResponsesDropped is called once that responses are dropped, because the server asks
	// and does not take the answers.
	onResponsesDropped()

	// onLost is called once that the server ended although nobody closed it.
	onLost(cause error)

	// onMessage is called for every message; nothing is copied for it.
	onMessage(direction byte, msg []byte)
}
