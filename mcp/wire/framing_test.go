package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

// readFrames reads all frames, joined, and what was junk.
func readFrames(r io.Reader) (frames, junk []string, err error) {
	f := FrameReader{R: r, Junk: func(line []byte) { junk = append(junk, string(line)) }}
	for {
		b, err := f.Next()
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

// TestLogLineLikeAHeader: a line of a log that looks like a header swallows
// nothing of what follows, however reads split the stream.
func TestLogLineLikeAHeader(t *testing.T) {
	const a, b = `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{"x":"y"}}`
	long := `{"x":"` + strings.Repeat("y", 2*frameBuffer) + `"}`
	for name, stream := range map[string]string{
		"before a message":       "Content-Length: 12\n" + a + "\n" + b + "\n",
		"longer than it":         "Content-Length: 5000\n" + a + "\n" + b + "\n",
		"longer than may be":     "Content-Length: 99999999999\n" + a + "\n" + b + "\n",
		"with an empty line":     "Content-Length: 12\n\n" + a + "\n" + b + "\n",
		"empty line, long":       "Content-Length: 5000\r\n\r\n" + a + "\n" + b + "\n",
		"empty line, longer":     "Content-Length: 99999999999\n\n" + a + "\n" + b + "\n",
		"with other headers":     "HTTP/1.1 200 OK\nContent-Length: 12\nServer: x\n\nbody of the log\n" + a + "\n" + b + "\n",
		"with a log line":        "content-length: 5000\n\n[1] INFO ready\n" + a + "\n" + b + "\n",
		"between messages":       a + "\nContent-Length: 12\n" + b + "\n",
		"in a row":               "Content-Length: 1\nContent-Length: 2\n" + a + "\nContent-Length: 3\n\nContent-Length: 4\n" + b + "\n",
		"with no end of line":    "Content-Length: 5000\n\n" + a + "\nContent-Length: 5000\n\n" + b,
		"between framed":         "Content-Length: " + fmt.Sprint(len(a)) + "\r\n\r\n" + a + "Content-Length: 12\nlog\nContent-Length: " + fmt.Sprint(len(b)) + "\r\n\r\n" + b,
		"as last line":           a + "\n" + b + "\nContent-Length: 12\n",
		"before a long message":  "Content-Length: 70000\n\n" + long + "\n",
		"framed on many lines":   "Content-Length: 9\n\n{\n\"b\":2\n}",
		"framed with a line end": "Content-Length: " + fmt.Sprint(len(a)+1) + "\n\n" + a + "\n" + b + "\n",
	} {
		want := []string{a, b}
		switch name {
		case "with a log line": // it may be a message, and is told as none later
			want = []string{"[1] INFO ready", a, b}
		case "before a long message":
			want = []string{long}
		case "framed on many lines":
			want = []string{"{\n\"b\":2\n}"}
		case "framed with a line end":
			want = []string{a + "\n", b}
		}
		for how, r := range map[string]io.Reader{
			"whole": strings.NewReader(stream), "bytes": iotest.OneByteReader(strings.NewReader(stream)),
		} {
			if got, _, err := readFrames(r); err != nil || fmt.Sprintf("%.200q", got) != fmt.Sprintf("%.200q", want) {
				t.Errorf("%s, %s: %.200q, %v", name, how, got, err)
			}
		}
	}
}

// TestLogLineHoldsNothingBack: the message after such a line is given out as
// soon as it is there, for a server that waits for the answer says no more.
func TestLogLineHoldsNothingBack(t *testing.T) {
	for _, line := range []string{"Content-Length: 5000\n", "Content-Length: 5000\n\n", "Content-Length: 5000\n\nINFO ready\n", "Content-Length: 0\n\n"} {
		r, w := io.Pipe()
		go io.WriteString(w, line+"{\"a\":1}\n")
		f := FrameReader{R: r}
		time.AfterFunc(time.Minute, func() { w.CloseWithError(errors.New("held back")) })
		if got, err := f.Next(); err != nil || string(got) != `{"a":1}` {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
}

// TestFramesAreTheCallers: reading on does not change what was given out.
func TestFramesAreTheCallers(t *testing.T) {
	long := `{"x":"` + strings.Repeat("y", 3*frameBuffer) + `"}`
	f := FrameReader{R: strings.NewReader("{\"a\":1}\n" + long + "\n{\"b\":2}\n")}
	var got [][]byte
	for {
		b, err := f.Next()
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
	for name, head := range map[string]string{"a line": "{", "a header": fmt.Sprintf("Content-Length: %d\r\n\r\n", MaxFrame+1)} {
		_, _, err := readFrames(io.MultiReader(strings.NewReader(head), io.LimitReader(zeros{}, MaxFrame+frameBuffer)))
		if !errors.Is(err, ErrFrameTooLarge) {
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
