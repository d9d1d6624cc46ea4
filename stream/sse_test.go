package stream

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// events reads all of r and prints one line an event.
func events(r io.Reader, limit int) (lines []string, err error) {
	for ev, e := range Events(r, limit) {
		if e != nil {
			return lines, e
		}
		line := fmt.Sprintf("%q", ev.Data)
		if ev.Name != "" {
			line = ev.Name + " " + line
		}
		if ev.ID != "" {
			line += " id=" + ev.ID
		}
		if ev.Retry > 0 {
			line += " retry=" + ev.Retry.String()
		}
		if ev.Unfinished {
			line += " unfinished"
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func TestEvents(t *testing.T) {
	for _, test := range []struct{ name, in, want string }{
		{"empty", "", ""},
		{"one", "data: a\n\n", `"a"`},
		{"no space", "data:a\n\n", `"a"`},
		{"two spaces", "data:  a\n\n", `" a"`},
		{"no colon", "data\n\ndata\ndata\n\n", `"\n"`},
		{"joined", "data: a\ndata: b\ndata\ndata: c\n\n", `"a\nb\n\nc"`},
		{"first line empty", "data:\ndata: b\n\n", `"\nb"`},
		{"carriage return and line feed", "data: a\r\n\r\ndata: b\r\n\r\n", `"a" "b"`},
		{"lone carriage return", "data: a\r\rdata: b\r\r", `"a" "b"`},
		{"mixed line ends", "data: a\n\rdata: b\r\n\ndata: c\r\n\r", `"a" "b" "c"`},
		{"byte order mark", "\ufeffdata: a\n\n", `"a"`},
		{"two byte order marks", "\ufeff\ufeffdata: a\n\ndata: b\n\n", `"b"`},
		{"half a byte order mark", "\xef\xbbdata: a\n\ndata: b\n\n", `"b"`},
		{"comments", ": x\n\n:\n\ndata: a\n: y\n\n", `"a"`},
		{"comment between data", "data: a\n: y\ndata: b\n\n", `"a\nb"`},
		{"heartbeat", "data:\n\ndata: \n\ndata: a\n\n", `"a"`},
		{"name", "event: x\ndata: a\n\ndata: b\n\n", `x "a" "b"`},
		{"name without data", "event: x\n\ndata: b\n\n", `"b"`},
		{"id stays", "id: 1\ndata: a\n\ndata: b\n\nid\ndata: c\n\n", `"a" id=1 "b" id=1 "c"`},
		{"id without data", "id: 1\n\nid: 2\nretry: 30\ndata:\n\n", `"" id=1 "" id=2 retry=30ms`},
		{"id with null", "id: a\x00b\ndata: a\n\n", `"a"`},
		{"bad retry", "retry: 10x\nretry: -1\nretry:\ndata: a\n\n", `"a"`},
		{"unknown fields", "foo: bar\nDATA: x\n data: y\ndata: a\n\n", `"a"`},
		{"no blank line at the end", "data: a\n\ndata: b\n", `"a" "b" unfinished`},
		{"no line end at the end", "data: a\n\ndata: b", `"a" "b" unfinished`},
		{"no line end on the second line", "data: b\ndata: c", `"b\nc" unfinished`},
		{"field cut in its name", "data: a\n\nda", `"a"`},
		{"invalid UTF-8", "data: \xff\xfe\n\n", `"\xff\xfe"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, r := range map[string]io.Reader{
				"whole":    strings.NewReader(test.in),
				"by bytes": iotest.OneByteReader(strings.NewReader(test.in)),
				"with end": iotest.DataErrReader(strings.NewReader(test.in)),
			} {
				got, err := events(r, 100)
				if s := strings.Join(got, " "); err != nil || s != test.want {
					t.Errorf("%s: got %s, %v\nwant %s", name, s, err, test.want)
				}
			}
		})
	}
}

func TestEventsLimit(t *testing.T) {
	line := strings.Repeat("x", 94)
	for _, test := range []struct {
		name, in string
		events   int
		fails    bool
	}{
		{"line at the limit", "data: " + line + "\n\n", 1, false},
		{"line over the limit", "data: a\n\ndata: " + line + "x\n\n", 1, true},
		{"endless line", "data: a\n\ndata: " + strings.Repeat(line, 50), 1, true},
		{"endless comment", ":" + strings.Repeat(line, 50), 0, true},
		{"data over the limit", "data: " + line + "\ndata: 12345\ndata: \n\n", 0, true},
		{"many comments", "data: a\n" + strings.Repeat(":"+line+"\n", 5000) + "data: b\n\n", 1, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := events(strings.NewReader(test.in), 100)
			var e *Error
			if len(got) != test.events || errors.As(err, &e) != test.fails || (e != nil && e.Kind != TooLarge) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// A broken transfer ends the sequence with its error, and what was not a
// whole event by then does not come out.
func TestEventsReadError(t *testing.T) {
	broken := errors.New("reset")
	got, err := events(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 100)
	if err != broken || len(got) != 1 {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := events(emptyReader{}, 100); err != io.ErrNoProgress {
		t.Errorf("reader without progress: %v", err)
	}
}

type emptyReader struct{}

func (emptyReader) Read([]byte) (int, error) { return 0, nil }

// Memory does not grow with junk between two data lines of one event.
func TestEventsKeepsNoJunk(t *testing.T) {
	limit := 4 * firstBuffer
	r := io.MultiReader(
		strings.NewReader("data: a\n"),
		strings.NewReader(strings.Repeat(": "+strings.Repeat("x", 1000)+"\n", 2000)),
		strings.NewReader("data: b\n\n"))
	most := 0
	watched := readerFunc(func(p []byte) (int, error) {
		most = max(most, len(p))
		return r.Read(p)
	})
	if got, err := events(watched, limit); err != nil || fmt.Sprint(got) != `["a\nb"]` {
		t.Fatalf("got %q, %v", got, err)
	}
	if most > firstBuffer {
		t.Errorf("buffer grew to %d bytes", most)
	}
}

// Nothing is read while a whole line is buffered.
func TestEventsReadsLate(t *testing.T) {
	var seen int
	reads := 0
	r := readerFunc(func(p []byte) (int, error) {
		reads++
		if reads > 1 {
			if seen != 2 {
				t.Errorf("read number %d came after %d of 2 events", reads, seen)
			}
			return 0, io.EOF
		}
		return copy(p, "data: a\n\ndata: b\n\ndata: c"), nil
	})
	for range Events(r, 100) {
		seen++
	}
	if seen != 3 {
		t.Errorf("%d events", seen)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// slowEvents is the specification, read slowly: the whole body at once, lines
// by replacement, one map of fields an event.
func slowEvents(body []byte) (lines []string) {
	s := strings.TrimPrefix(string(body), "\ufeff")
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	id := ""
	blocks := []string{""}
	rows := strings.Split(s, "\n")
	for i, row := range rows {
		last := &blocks[len(blocks)-1]
		if row != "" {
			*last += row + "\n"
		} else if i < len(rows)-1 {
			blocks = append(blocks, "")
		}
	}
	for i, block := range blocks {
		var data []string
		name, hasID := "", false
		for row := range strings.Lines(block) {
			field, value, _ := strings.Cut(strings.TrimSuffix(row, "\n"), ":")
			value = strings.TrimPrefix(value, " ")
			switch field {
			case "data":
				data = append(data, value)
			case "event":
				name = value
			case "id":
				if !strings.Contains(value, "\x00") {
					id, hasID = value, true
				}
			}
		}
		text := strings.Join(data, "\n")
		unfinished := i == len(blocks)-1
		if text == "" && (unfinished || !hasID) {
			continue
		}
		line := fmt.Sprintf("%q", text)
		if name != "" {
			line = name + " " + line
		}
		if id != "" {
			line += " id=" + id
		}
		if unfinished {
			line += " unfinished"
		}
		lines = append(lines, line)
	}
	return lines
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("\ufeffevent: x\r\ndata: a\rdata:b\n\nid: 1\n\n: c\ndata"), uint16(3))
	f.Add([]byte("data: a\n\r\n\r\rid:\ndata:  \n\n"), uint16(1))
	f.Fuzz(func(t *testing.T, body []byte, step uint16) {
		if bytes.Contains(body, []byte("retry")) {
			return
		}
		want := slowEvents(body)
		got, err := events(&scriptedReader{rest: body, sizes: []int{int(step)}}, 1<<20)
		if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("in reads of %d: got %q, %v\nwant %q", step, got, err, want)
		}
	})
}
