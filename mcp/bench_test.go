package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"toolpipe/mcp/process"
	"toolpipe/mcp/wire"
)

// benchSession is a session with the plain double.
func benchSession(b *testing.B, spec Spec) *Session {
	b.Helper()
	spec.Name = "peer"
	s, err := Connect(context.Background(), spec, Hooks{}, &process.Processes{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// BenchmarkCall is one call in a row over each transport.
func BenchmarkCall(b *testing.B) {
	args := json.RawMessage(`{"text":"hello"}`)
	run := func(name string, spec func(b *testing.B) Spec) {
		b.Run(name, func(b *testing.B) {
			s := benchSession(b, spec(b))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Call(context.Background(), "t", args, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("stdio", func(b *testing.B) Spec { return stdio("plain") })
	run("http", func(b *testing.B) Spec { return Spec{URL: serveWeb(b, legacyWeb).URL} })
}

// BenchmarkParallelCalls has eight calls in flight on one pipe.
func BenchmarkParallelCalls(b *testing.B) {
	s := benchSession(b, stdio("plain"))
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.Call(context.Background(), "t", json.RawMessage(`{}`), nil); err != nil {
				b.Error(err)
			}
		}
	})
}

// BenchmarkConnect is start, negotiation and end of a stdio server.
func BenchmarkConnect(b *testing.B) {
	for b.Loop() {
		s, err := Connect(context.Background(), Spec{Name: "peer", Command: program("double", "modern-only")}, Hooks{}, &process.Processes{})
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

func longReply(n int) []byte {
	const line = `The quick brown fox \"jumps\" over the lazy dog; a line of text of eighty columns\n`
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"%s"}]}}`, strings.Repeat(line, n/len(line)))
}

// BenchmarkReply reads a reply: the frame taken apart, the result rendered.
func BenchmarkReply(b *testing.B) {
	for _, n := range []int{200, 64 << 10, 16 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			frame := longReply(n)
			b.SetBytes(int64(len(frame)))
			b.ReportAllocs()
			for b.Loop() {
				m, err := wire.ParseMessage(frame)
				if err != nil {
					b.Fatal(err)
				}
				r, err := wire.ReadResult(m.result)
				if err != nil || len(r.Render(0).JSON) < n/2 {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkFrames reads long lines.
func BenchmarkFrames(b *testing.B) {
	frame := append(longReply(16<<20), '\n')
	b.SetBytes(int64(len(frame)))
	b.ReportAllocs()
	for b.Loop() {
		f := wire.FrameReader{R: &splitReader{b: frame}}
		if _, err := f.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestReplyIsNotCopied: a long result costs no memory beyond its frame.
func TestReplyIsNotCopied(t *testing.T) {
	frame := longReply(1 << 20)
	if n := testing.AllocsPerRun(10, func() {
		m, _ := wire.ParseMessage(frame)
		r, _ := wire.ReadResult(m.result)
		r.Render(0)
	}); n > 12 {
		t.Errorf("%v allocations", n)
	}
	res := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m, _ := wire.ParseMessage(frame)
			r, _ := wire.ReadResult(m.result)
			r.Render(0)
		}
	})
	if per := res.AllocedBytesPerOp(); per > 4096 {
		t.Errorf("%d bytes for a reply of %d", per, len(frame))
	}
}

// splitReader gives what it has in pieces whose lengths are the bytes of cuts.
type splitReader struct {
	b, cuts []byte
	i       int
}

func (s *splitReader) Read(p []byte) (int, error) {
	if len(s.b) == 0 {
		return 0, io.EOF
	}
	n := len(s.b)
	if len(s.cuts) > 0 {
		n = min(n, 1+int(s.cuts[s.i%len(s.cuts)]))
		s.i++
	}
	n = copy(p, s.b[:n])
	s.b = s.b[n:]
	return n, nil
}
