package lru

import (
	"fmt"
	"testing"
)

func TestStore(t *testing.T) {
	s := Store[string]{Number: 2, Bytes: 10}
	want := func(id, value string, state State) {
		t.Helper()
		if v, got := s.Lend(id); v != value || got != state {
			t.Errorf("%s is %q, %v, not %q, %v", id, v, got, value, state)
		}
	}
	want("a", "", Unknown)
	if !s.Keep("a", "A", 4) || !s.Keep("b", "B", 4) {
		t.Error("not kept")
	}
	want("a", "A", Kept)
	want("a", "", Lent)
	s.Keep("a", "A2", 4) // used last now
	s.Keep("c", "C", 4)  // b goes: there are too many
	want("b", "", Dropped)
	s.Keep("c", "C2", 7) // a goes: there are too many bytes
	want("a", "", Dropped)
	want("c", "C2", Kept)
	s.Drop("c")
	want("c", "", Dropped)
	if s.Keep("d", "D", 11) {
		t.Error("a value is kept that is longer than all may be")
	}
	want("d", "", Dropped)
	s.Keep("b", "again", 1)
	want("b", "again", Kept)
	for i := range 2 * maxDropped {
		s.Keep(fmt.Sprint("n", i), "", 11)
	}
	if len(s.dropped) != maxDropped {
		t.Errorf("%d ids are remembered", len(s.dropped))
	}
	want("a", "", Unknown)
	if none := new(Store[int]); none.Keep("a", 1, 0) {
		t.Error("the zero value keeps something")
	}
}
