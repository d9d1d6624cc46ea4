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

// readFrames reads all messages, and the lines that were junk.
func readFrames(r io.Reader, headed bool) (frames, junk []string, err error) {
	f := FrameReader{R: r, Headed: headed, Junk: func(line []byte) { junk = append(junk, string(line)) }}
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
	f.Add([]byte("Content-Length: 12\r\n\r\n{\"a\":1}\nContent-Length: 99999999999\n{}\n"), []byte{1})
	f.Fuzz(func(t *testing.T, b, cuts []byte) {
		got, _, err := readFrames(&splitReader{b: b, cuts: cuts}, false)
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
		got, junk, err := readFrames(r, true)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) || len(junk) != 1 {
			t.Errorf("%s: %d frames, junk %q, %v", name, len(got), junk, err)
		}
	}
}

// TestLogLineLikeAHeader: a line of a log that looks like a header swallows
// nothing of the messages behind it: where messages are lines, and where they
// have headers, if no empty line follows it.
func TestLogLineLikeAHeader(t *testing.T) {
	const a, b = `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":2,"result":{"x":"y"}}`
	headed := func(m string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(m), m) }
	for name, tt := range map[string]struct {
		headed bool
		stream string
	}{
		"before a message":      {false, "Content-Length: 12\n" + a + "\n" + b + "\n"},
		"with an empty line":    {false, "Content-Length: 12\r\n\r\n" + a + "\n" + b + "\n"},
		"longer than may be":    {false, "Content-Length: 99999999999\n\n" + a + "\n" + b + "\n"},
		"between messages":      {false, a + "\nContent-Length: 12\n" + b + "\n"},
		"as last line":          {false, a + "\n" + b + "\nContent-Length: 12\n"},
		"before a header":       {true, "Content-Length: 12\n" + headed(a) + headed(b)},
		"before a log line":     {true, "Content-Length: 12\nServer: x\nINFO ready\n\n" + headed(a) + "Content-Length: 7\nlog\n" + headed(b)},
		"with no number":        {true, "Content-Length: many\n\n" + headed(a) + "Content-Length: -1\n\n" + headed(b)},
		"before a line":         {true, "Content-Length: 5000\n" + a + "\n" + headed(b)},
		"as last line, headed":  {true, headed(a) + headed(b) + "Content-Length: 12\n"},
		"lines without headers": {true, a + "\n" + b + "\n"},
	} {
		for how, r := range map[string]io.Reader{
			"whole": strings.NewReader(tt.stream), "bytes": iotest.OneByteReader(strings.NewReader(tt.stream)),
		} {
			if got, _, err := readFrames(r, tt.headed); err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", []string{a, b}) {
				t.Errorf("%s, %s: %q, %v", name, how, got, err)
			}
		}
	}
	if got, _, err := readFrames(strings.NewReader("Content-Length: 12\n\n{}"), true); err != io.ErrUnexpectedEOF {
		t.Errorf("a body that is cut off: %q, %v", got, err)
	}
}

// TestLogLineHoldsNothingBack: the message after such a line is given out as
// soon as it is there, for a server that waits for the answer says no more.
func TestLogLineHoldsNothingBack(t *testing.T) {
	for _, line := range []string{"Content-Length: 5000\n", "Content-Length: 5000\n\n", "Content-Length: 0\n\n"} {
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
	for _, tt := range []struct{ begin, end, id string }{
		{`{"jsonrpc":"2.0","id":7,"result":{"x":"`, `"}}`, "7"},
		{`{"id":"7","result":{"x":"`, `"},"jsonrpc":"2.0"}`, `"7"`},
		{`{"result":{"x":"`, `"},"id":8}`, "8"},
		{`{"jsonrpc":"2.0","result":{"x":"`, `"}, "id": 9 }`, "9"},
		{`{"result":{"x":"`, `"},"id":10,"jsonrpc":"2.0"}`, "10"},
		{`{"jsonrpc":"2.0","result":{"x":"`, `","id":7}}`, ""}, // of something in the result
		{`{"jsonrpc":"2.0","result":{"x":"`, `\"id\":7}`, ""},  // the text of a string
		{"{", "", ""},
	} {
		fill := MaxFrame + frameBuffer
		length := len(tt.begin) + fill + len(tt.end)
		for form, head := range map[string]string{"a line": "", "a header": fmt.Sprintf("Content-Length: %d\r\n\r\n", length)} {
			f := FrameReader{Headed: true, R: io.MultiReader(strings.NewReader(head+tt.begin), io.LimitReader(zeros{}, int64(fill)), strings.NewReader(tt.end+"\n{\"b\":2}\n"))}
			_, err := f.Next()
			large, ok := errors.AsType[*FrameTooLarge](err)
			if !ok || string(large.ID) != tt.id {
				t.Errorf("%s, %s…%s: %v, %s", form, tt.begin, tt.end, err, large.ID)
			}
			if next, err := f.Next(); err != nil || string(next) != `{"b":2}` {
				t.Errorf("%s, %s…%s: then %s, %v", form, tt.begin, tt.end, next, err)
			}
		}
	}
	f := FrameReader{R: io.MultiReader(strings.NewReader("{"), io.LimitReader(zeros{}, MaxFrame+1))}
	if _, err := f.Next(); !strings.Contains(fmt.Sprint(err), "more than 64 MiB") {
		t.Errorf("without an end: %v", err)
	}
	if _, err := f.Next(); err != io.EOF {
		t.Errorf("behind that: %v", err)
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
