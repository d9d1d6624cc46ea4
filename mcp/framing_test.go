package mcp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// readFrames reads all frames, joined, and what was junk.
func readFrames(r io.Reader) (frames, junk []string, err error) {
	f := frameReader{r: r, junk: func(line []byte) { junk = append(junk, string(line)) }}
	for {
		b, err := f.next()
		if err == io.EOF {
			return frames, junk, nil
		}
		if err != nil {
			return frames, junk, err
		}
		frames = append(frames, string(b))
	}
}

// slowFrames is the obvious reader of newline frames: all of it, split.
func slowFrames(b []byte) (frames []string) {
	b = bytes.TrimPrefix(b, []byte("\xEF\xBB\xBF"))
	for _, line := range bytes.Split(b, []byte("\n")) {
		line = bytes.TrimSuffix(line, []byte("\r"))
		if t := bytes.TrimLeft(line, " \t\r"); len(t) > 0 && (t[0] == '{' || t[0] == '[') {
			frames = append(frames, string(line))
		}
	}
	return frames
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

// FuzzFrames: however reads split the stream, the frames are those of the
// obvious reader.
func FuzzFrames(f *testing.F) {
	f.Add([]byte("{\"a\":1}\r\n\nlog line\n[2]\n{\"b\":2}"), []byte{0, 3})
	f.Add([]byte("\xEF\xBB\xBF{}\n \t{}\n"), []byte{})
	f.Add([]byte("\n\xEF\xBB\xBF{}\n"), []byte{})
	f.Add([]byte(strings.Repeat(" ", 100)+"{}\n"), []byte{255})
	f.Fuzz(func(t *testing.T, b, cuts []byte) {
		if bytes.Contains(bytes.ToLower(b), []byte("content-length")) {
			t.Skip("another framing")
		}
		got, _, err := readFrames(&splitReader{b: b, cuts: cuts})
		if want := slowFrames(b); err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	})
}

func TestFrames(t *testing.T) {
	long := `{"x":"` + strings.Repeat("y", 3*frameBuffer) + `"}`
	longer := `{"x":"` + strings.Repeat("z", 20*frameBuffer) + `"}`
	stream := "{\"a\":1}\n" + long + "\nbanner\n" + longer + "\r\nContent-Length: 7\r\nX: y\r\n\r\n{\"b\":2}\ncontent-length:3\n\n[1]{\"c\":3}\n"
	want := []string{`{"a":1}`, long, longer, `{"b":2}`, `[1]`, `{"c":3}`}
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(stream), "halves": iotest.HalfReader(strings.NewReader(stream)), "bytes": iotest.OneByteReader(strings.NewReader(stream)),
	} {
		got, junk, err := readFrames(r)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || len(junk) != 1 {
			t.Errorf("%s: %d frames, junk %q, %v", name, len(got), junk, err)
		}
	}
}

// TestFramesAreTheCallers: reading on does not change what was given out.
func TestFramesAreTheCallers(t *testing.T) {
	long := `{"x":"` + strings.Repeat("y", 3*frameBuffer) + `"}`
	f := frameReader{r: strings.NewReader("{\"a\":1}\n" + long + "\n{\"b\":2}\n")}
	var got [][]byte
	for {
		b, err := f.next()
		if err != nil {
			break
		}
		got = append(got, b)
	}
	if len(got) != 3 || string(got[0]) != `{"a":1}` || string(got[1]) != long || string(got[2]) != `{"b":2}` {
		t.Errorf("%d frames: %.20q", len(got), got)
	}
}

func TestFrameTooLarge(t *testing.T) {
	for name, head := range map[string]string{"a line": "{", "a header": fmt.Sprintf("Content-Length: %d\r\n\r\n", maxFrame+1)} {
		_, _, err := readFrames(io.MultiReader(strings.NewReader(head), io.LimitReader(zeros{}, maxFrame+frameBuffer)))
		if !errors.Is(err, errFrameTooLarge) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	return len(p), nil
}

func TestTail(t *testing.T) {
	var lines []string
	tl := &tail{log: func(l string) { lines = append(lines, l) }}
	var all strings.Builder
	for i := range 20_000 {
		line := fmt.Sprintf("line %d\r\n", i)
		all.WriteString(line)
		io.WriteString(iotest.TruncateWriter(tl, 1<<20), line)
	}
	io.WriteString(tl, "no end")
	tl.end()
	got := tl.String()
	if want := all.String() + "no end"; len(got) > maxTail || len(got) < maxTail-100 || !strings.HasSuffix(want, got) || !strings.HasPrefix(got, "line ") {
		t.Errorf("%d bytes kept: %.30q … %q", len(got), got, got[len(got)-30:])
	}
	if len(lines) != 20_001 || lines[19_999] != "line 19999" || lines[20_000] != "no end" {
		t.Errorf("%d lines, the last %q", len(lines), lines[len(lines)-1])
	}
	if got := lastLines("a\nb\nc\n", 2); got != "b\nc" {
		t.Errorf("last lines %q", got)
	}
}
