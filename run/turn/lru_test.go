package turn

import (
	"fmt"
	"testing"
)

func TestStore(t *testing.T) {
	s := lruStore[string]{Number: 2, Bytes: 10}
	want := func(id, value string, state lruState) {
		t.Helper()
		if v, got := s.Lend(id); v != value || got != state {
			t.Errorf("%s is %q, %v, not %q, %v", id, v, got, value, state)
		}
	}
	want("a", "", lruUnknown)
	if !s.Keep("a", "A", 4) || !s.Keep("b", "B", 4) {
		t.Error("not kept")
	}
	want("a", "A", lruKept)
	want("a", "", lruLent)
	s.Keep("a", "A2", 4) // used last now
	s.Keep("c", "C", 4)  // b goes: there are too many
	want("b", "", lruDropped)
	s.Keep("c", "C2", 7) // a goes: there are too many bytes
	want("a", "", lruDropped)
	want("c", "C2", lruKept)
	s.Drop("c")
	want("c", "", lruDropped)
	if s.Keep("d", "D", 11) {
		t.Error("a value is kept that is longer than all may be")
	}
	want("d", "", lruDropped)
	s.Keep("b", "again", 1)
	want("b", "again", lruKept)
	for i := range 2 * maxLRU {
		s.Keep(fmt.Sprint("n", i), "", 11)
	}
	if len(s.entries) != maxLRU {
		t.Errorf("%d ids are remembered", len(s.entries))
	}
	want("a", "", lruUnknown)
	if none := new(lruStore[int]); none.Keep("a", 1, 0) {
		t.Error("the zero value keeps something")
	}
}
