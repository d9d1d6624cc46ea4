package face

import (
	"testing"
	"time"
)

func TestElapsed(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0 s", 59999 * time.Millisecond: "59 s", time.Minute: "1 min 00 s", 3*time.Hour + 5*time.Second: "180 min 05 s"} {
		if got := elapsed(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
	for d, want := range map[time.Duration]string{0: "0 ms", 999 * time.Millisecond: "999 ms", 1999 * time.Millisecond: "1.9 s", 61 * time.Second: "1 min 01 s"} {
		if got := duration(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
}
