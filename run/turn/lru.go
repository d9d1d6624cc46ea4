package turn

import (
	"slices"
	"sync"
)

// An lruStore keeps a bounded number of values by their ids, and a bounded number of bytes of
// them. When there is no room, the value that was used longest ago is dropped. A value is lent
// to one user at a time. The user may change it and gives it back. The methods may be called
// concurrently. The zero value keeps nothing, because its limits are 0.
type lruStore[T any] struct {
	Number int // of values, at most
	Bytes  int // of all values together, at most

	mu      sync.Mutex
	kept    []lruEntry[T] // least recently used first
	lent    []string      // ids in use
	dropped []string      // ids dropped most recently
}

type lruEntry[T any] struct {
	id    string
	value T
	bytes int
}

// maxLRUDropped is how many ids of dropped values are remembered.
const maxLRUDropped = 1000

// A lruState says whether the store contains the value of an id.
type lruState int

const (
	lruUnknown lruState = iota // never kept, or dropped so long ago that this is forgotten
	lruKept
	lruLent    // in use
	lruDropped // dropped for lack of room
)

// Lend takes the value of an id out of the store until Keep or Drop is called with this id. The
// value is the zero value unless the state is Kept.
func (s *lruStore[T]) Lend(id string) (value T, state lruState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.kept, func(e lruEntry[T]) bool { return e.id == id }); i >= 0 {
		value = s.kept[i].value
		s.kept = slices.Delete(s.kept, i, i+1)
		s.lent = append(s.lent, id)
		return value, lruKept
	}
	switch {
	case slices.Contains(s.lent, id):
		state = lruLent
	case slices.Contains(s.dropped, id):
		state = lruDropped
	}
	return value, state
}

// Keep stores a value, or returns one that was lent, and drops others to make room. It reports
// whether the value is kept: a value larger than the store is dropped itself.
func (s *lruStore[T]) Keep(id string, value T, bytes int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent = withoutID(s.lent, id)
	s.dropped = withoutID(s.dropped, id)
	s.kept = slices.DeleteFunc(s.kept, func(e lruEntry[T]) bool { return e.id == id })
	if s.Number < 1 || bytes > s.Bytes {
		s.drop(id)
		return false
	}
	s.kept = append(s.kept, lruEntry[T]{id, value, bytes})
	for sum := s.size(); len(s.kept) > s.Number || sum > s.Bytes; {
		sum -= s.kept[0].bytes
		s.drop(s.kept[0].id)
		s.kept = slices.Delete(s.kept, 0, 1)
	}
	return true
}

// Drop removes a value that was lent and is no longer useful.
func (s *lruStore[T]) Drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent = withoutID(s.lent, id)
	s.drop(id)
}

func (s *lruStore[T]) size() (sum int) {
	for _, e := range s.kept {
		sum += e.bytes
	}
	return sum
}

// drop remembers that the value of an id was dropped. The caller holds s.mu.
func (s *lruStore[T]) drop(id string) {
	s.dropped = append(withoutID(s.dropped, id), id)
	s.dropped = slices.Delete(s.dropped, 0, max(0, len(s.dropped)-maxLRUDropped))
}

func withoutID(ids []string, id string) []string {
	return slices.DeleteFunc(ids, func(other string) bool { return other == id })
}
