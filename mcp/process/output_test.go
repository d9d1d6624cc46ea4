package process

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestOutputLines(t *testing.T) {
	var lines []string
	tl := &Output{Tail: MaxStderr, Log: func(l string) { lines = append(lines, l) }}
	var all strings.Builder
	for i := range 20_000 {
		line := fmt.Sprintf("line %d\r\n", i)
		all.WriteString(line)
		io.WriteString(iotest.TruncateWriter(tl, 1<<20), line)
	}
	io.WriteString(tl, "no end")
	tl.End()
	got := tl.String()
	if want := all.String() + "no end"; len(got) > MaxStderr || len(got) < MaxStderr-100 || !strings.HasSuffix(want, got) || !strings.HasPrefix(got, "line ") {
		t.Errorf("%d bytes kept: %.30q … %q", len(got), got, got[len(got)-30:])
	}
	if len(lines) != 20_001 || lines[19_999] != "line 19999" || lines[20_000] != "no end" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
}

func TestOutputEnds(t *testing.T) {
	const kept = 1000
	for _, size := range []int{0, 1, kept - 1, kept, kept + 1, 2*kept - 1, 2 * kept, 2*kept + 1, 5*kept + 77} {
		all := make([]byte, size)
		for i := range all {
			all[i] = byte('a' + i*7%26)
		}
		for _, tail := range []int{0, kept} {
			for _, step := range []int{1, 100, kept, 3 * kept} {
				o := Output{Head: kept, Tail: tail}
				for from := 0; from < size; from += step {
					o.Write(all[from:min(size, from+step)])
				}
				gotHead, gotTail, dropped := o.Kept()
				want := max(0, size-kept-tail)
				if !bytes.Equal(gotHead, all[:min(size, kept)]) || !bytes.Equal(gotTail, all[min(size, kept)+want:]) || dropped != int64(want) {
					t.Errorf("%d bytes by %d, tail %d: %d and %d kept, %d dropped", size, step, tail, len(gotHead), len(gotTail), dropped)
				}
			}
		}
	}
}
