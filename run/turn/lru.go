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
	entries []lruEntry[T] // least recently used first
}

type lruEntry[T any] struct {
	id    string
	state lruState
	value T // only of lruKept
	bytes int
}

// maxLRU is how many ids are remembered, including ids of dropped values.
const maxLRU = 1000

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
	for i := range s.entries {
		if e := &s.entries[i]; e.id == id {
			if value, state = e.value, e.state; state == lruKept {
				*e = lruEntry[T]{id: id, state: lruLent}
			}
		}
	}
	return value, state
}

// Keep stores a value, or returns one that was lent, and drops others to make room. It reports
// whether the value is kept: a value larger than the store is dropped itself.
func (s *lruStore[T]) Keep(id string, value T, bytes int) bool {
	if s.Number < 1 || bytes > s.Bytes {
		s.Drop(id)
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(lruEntry[T]{id, lruKept, value, bytes})
	number, sum := 0, 0
	for i, e := range slices.Backward(s.entries) {
		if e.state == lruKept {
			number, sum = number+1, sum+e.bytes
			if number > s.Number || sum > s.Bytes {
				s.entries[i] = lruEntry[T]{id: e.id, state: lruDropped}
			}
		}
	}
	return true
}

// Drop removes a value that was lent and is no longer useful.
func (s *lruStore[T]) Drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.set(lruEntry[T]{id: id, state: lruDropped})
}

// set stores the entry of an id as the one used last. The caller holds s.mu.
func (s *lruStore[T]) set(entry lruEntry[T]) {
	s.entries = append(slices.DeleteFunc(s.entries, func(e lruEntry[T]) bool { return e.id == entry.id }), entry)
	if i := slices.IndexFunc(s.entries, func(e lruEntry[T]) bool { return e.state == lruDropped }); i >= 0 && len(s.entries) > maxLRU {
		s.entries = slices.Delete(s.entries, i, i+1)
	}
}
