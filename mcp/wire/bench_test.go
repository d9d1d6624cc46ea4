package wire

import (
	"fmt"
	"strings"
	"testing"
)

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
				m, err := ParseMessage(frame)
				if err != nil {
					b.Fatal(err)
				}
				result, _ := m.Result()
				r, err := ReadResult(result)
				if err != nil || len(r.Render().JSON) < n/2 {
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
		f := FrameReader{R: &splitReader{b: frame}}
		if _, err := f.Next(); err != nil {
			b.Fatal(err)
		}
	}
}

// TestReplyIsNotCopied: a long result costs no memory beyond its frame.
func TestReplyIsNotCopied(t *testing.T) {
	frame := longReply(1 << 20)
	if n := testing.AllocsPerRun(10, func() {
		m, _ := ParseMessage(frame)
		result, _ := m.Result()
		r, _ := ReadResult(result)
		r.Render()
	}); n > 12 {
		t.Errorf("%v allocations", n)
	}
	res := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m, _ := ParseMessage(frame)
			result, _ := m.Result()
			r, _ := ReadResult(result)
			r.Render()
		}
	})
	if per := res.AllocedBytesPerOp(); per > 4096 {
		t.Errorf("%d bytes for a reply of %d", per, len(frame))
	}
}
