package stdio

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"testing"
	"time"
)

// numbered is a text in which each place can be told from the others.
func numbered(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i>>8 ^ i)
	}
	return b
}

// testGrace stands for endGrace.
const testGrace = 1200 * time.Millisecond

// endedWriter writes to w after the end of its run.
func endedWriter(w *os.File) io.Writer {
	ctx, end := context.WithCancel(context.Background())
	end()
	b := Bounded(ctx, Blocking(w), new(ReaderWaits)).(*boundedWriter)
	b.grace = testGrace
	return b
}

func pipe(t testing.TB) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// A reader that is only slow gets all of one long write after the end of the run too.
func TestBoundedSlowReader(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	text, got := numbered(512<<10), make(chan []byte)
	go func() {
		var all []byte
		for part := make([]byte, 32<<10); ; time.Sleep(testGrace / 12) {
			n, err := r.Read(part)
			if all = append(all, part[:n]...); err != nil {
				got <- all
				return
			}
		}
	}()
	if n, err := endedWriter(w).Write(text); n != len(text) || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	w.Close()
	if all := <-got; !bytes.Equal(all, text) {
		t.Errorf("the reader got %d bytes", len(all))
	}
}

// A reader that goes on after the writer has given up gets a beginning of the text,
// whatever the caller does with its buffer: bufio moves what is left to the front.
func TestBoundedGivesUp(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	before := make([]byte, 48<<10) // leaves a quarter of a pipe on Linux
	if _, err := w.Write(before); err != nil {
		t.Fatal(err)
	}
	text := numbered(2 << 20) // more than any pipe takes
	b := bufio.NewWriterSize(endedWriter(w), len(text))
	b.Write(text)
	if err := b.Flush(); err != context.Canceled {
		t.Fatal(err)
	}
	r.SetReadDeadline(time.Now().Add(testGrace / 4))
	all, _ := io.ReadAll(r)
	if got := all[len(before):]; !bytes.HasPrefix(text, got) {
		t.Errorf("the %d bytes that came are no beginning of the text", len(got))
	}
}

// A line of events to a pipe, as -o ndjson writes it for each delta.
func BenchmarkBounded(b *testing.B) {
	r, w := pipe(b)
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
