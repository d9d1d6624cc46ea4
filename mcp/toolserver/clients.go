package toolserver

import (
	"context"
	"sync"

	"toolpipe/stream/goroutine"
)

// clients are the clients of Serve, at most thousands.
type clients struct {
	guard     sync.Mutex // guards the fields below
	served    map[*connection]bool
	interests map[string]int // how many clients subscribe to each resource
}

// join adds a client.
func (s *Server) join(c *connection) {
	s.guard.Lock()
	defer s.guard.Unlock()
	s.served[c] = true
}

// leave removes a client. It does not wait for the servers to stop announcing changes of its
// resources.
func (s *Server) leave(c *connection) {
	s.guard.Lock()
	delete(s.served, c)
	s.guard.Unlock()
	c.mu.Lock()
	uris := c.listens.uris
	c.listens.uris = map[string]int{}
	c.mu.Unlock()
	if len(uris) > 0 {
		goroutine.Start(func() {
			for uri := range uris {
				s.interest(context.WithoutCancel(c.ctx), uri, -1)
			}
		})
	}
}

// eachClient visits the present clients.
func (s *Server) eachClient(visit func(*connection)) {
	s.guard.Lock()
	all := make([]*connection, 0, len(s.served))
	for c := range s.served {
		all = append(all, c)
	}
	s.guard.Unlock()
	for _, c := range all {
		visit(c)
	}
}

// interest adds a client that subscribes to a resource, or removes one. Only the first and
// the last one cause a call of the front.
func (s *Server) interest(ctx context.Context, uri string, more int) error {
	s.guard.Lock()
	was := s.interests[uri]
	if s.interests[uri] += more; s.interests[uri] <= 0 {
		delete(s.interests, uri)
	}
	s.guard.Unlock()
	if was > 0 && was+more > 0 {
		return nil
	}
	err := s.Front.Subscribe(ctx, uri, more > 0)
	if err != nil && more > 0 {
		s.guard.Lock()
		delete(s.interests, uri)
		s.guard.Unlock()
	}
	return err
}
