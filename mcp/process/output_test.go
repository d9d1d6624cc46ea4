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
				full := false
				o := Output{Head: kept, Tail: tail, Full: func() { full = true }}
				for from := 0; from < size; from += step {
					o.Write(all[from:min(size, from+step)])
				}
				gotHead, gotTail, dropped := o.Kept()
				want := max(0, size-kept-tail)
				if full != (size >= kept) {
					t.Errorf("%d bytes by %d: full is %t", size, step, full)
				}
				if !bytes.Equal(gotHead, all[:min(size, kept)]) || !bytes.Equal(gotTail, all[min(size, kept)+want:]) || dropped != int64(want) {
					t.Errorf("%d bytes by %d, tail %d: %d and %d kept, %d dropped", size, step, tail, len(gotHead), len(gotTail), dropped)
				}
			}
		}
	}
}

// From gives every byte that is kept, at its place, whatever the steps.
func TestOutputFrom(t *testing.T) {
	const kept = 100
	for _, size := range []int{0, 1, kept, kept + 1, 2 * kept, 2*kept + 1, 7 * kept} {
		all := make([]byte, size)
		for i := range all {
			all[i] = byte('a' + i*7%26)
		}
		o := Output{Head: kept, Tail: kept}
		o.Write(all)
		if o.Size() != int64(size) {
			t.Errorf("size %d of %d", o.Size(), size)
		}
		for _, limit := range []int{1, 7, kept, 10 * kept} {
			var got []byte
			gap := 0
			for offset := int64(0); ; {
				b, at := o.From(offset, limit)
				if len(b) > limit || at < offset || !bytes.HasPrefix(all[at:], b) {
					t.Fatalf("%d bytes from %d: %q at %d", size, offset, b, at)
				}
				gap += int(at - offset)
				if len(b) == 0 {
					break
				}
				got = append(got, b...)
				offset = at + int64(len(b))
			}
			if want := max(0, size-2*kept); gap != want || len(got) != size-want {
				t.Errorf("%d bytes by %d: %d given, %d left out", size, limit, len(got), gap)
			}
		}
		for _, offset := range []int64{-5, int64(size), int64(size) + 5} {
			if b, at := o.From(offset, kept); offset > 0 && (len(b) > 0 || at != int64(size)) || offset < 0 && at != 0 {
				t.Errorf("from %d of %d: %q at %d", offset, size, b, at)
			}
		}
	}
}
