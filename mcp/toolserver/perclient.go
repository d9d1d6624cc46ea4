package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
)

// PerClient is a server with separate state for each client. clientOf returns the context of
// the client of a call. Each client gets its own server, which is created at the client's
// first call and ended when its context ends. nil means a client that stays until the run
// ends.
func PerClient(clientOf func(context.Context) context.Context, create func() (s *Server, end func())) *Server {
	stays, _ := create()
	var mu sync.Mutex
	all := map[context.Context]*Server{nil: stays}
	serverOf := func(client context.Context) (*Server, error) {
		mu.Lock()
		defer mu.Unlock()
		if s := all[client]; s != nil {
			return s, nil
		}
		if client.Err() != nil {
			return nil, errors.New("the connection has ended")
		}
		s, end := create()
		all[client] = s
		goroutine.AfterContext(client, func() {
			mu.Lock()
			delete(all, client)
			mu.Unlock()
			end()
		})
		return s, nil
	}
	front := New(stays.name, stays.version)
	for i, t := range stays.tools {
		t.fn = func(ctx context.Context, args json.RawMessage, progress func(wire.Progress)) (*wire.Result, error) {
			s, err := serverOf(clientOf(ctx))
			if err != nil {
				return nil, err
			}
			return s.tools[i].fn(ctx, args, progress)
		}
		front.tools = append(front.tools, t)
	}
	return front
}
