package toolserver

import (
	"maps"
	"slices"
	"sync"

	"toolpipe/stream/goroutine"
)

// clients are the clients of Serve, at most thousands.
type clients struct {
	guard       sync.Mutex // guards the fields below
	served      map[*connection]bool
	subscribers map[string][]*listener // of each resource; a slice is never changed
}

// leave removes a client. It does not wait for the servers to stop announcing changes of its
// resources.
func (s *Server) leave(c *connection) {
	s.guard.Lock()
	delete(s.served, c)
	s.guard.Unlock()
	goroutine.Start(func() { s.forget(c.listens.legacy) })
}

func (s *Server) eachClient(visit func(*connection)) {
	s.guard.Lock()
	all := slices.Collect(maps.Keys(s.served))
	s.guard.Unlock()
	for _, c := range all {
		visit(c)
	}
}
