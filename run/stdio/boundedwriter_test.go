package stdio

import (
	"io"
	"os"
	"testing"
)

// A line of events to a pipe, as -o ndjson writes it for each delta.
func BenchmarkBounded(b *testing.B) {
	r, w, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	defer r.Close()
	go io.Copy(io.Discard, r)
	out := Bounded(b.Context(), Blocking(w), new(ReaderWaits))
	line := make([]byte, 80)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := out.Write(line); err != nil {
			b.Fatal(err)
		}
	}
	w.Close()
}
