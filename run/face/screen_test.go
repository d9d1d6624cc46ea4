package face

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"toolpipe/run/event"
	"toolpipe/stream/escape"
)

// emulator is a terminal's screen as far as the face uses one: it wraps and,
// when its width changes, wraps anew. A sequence that it does not know is an
// error, so that nothing hostile passes.
type emulator struct {
	t     *testing.T
	mu    sync.Mutex
	width int
	lines [][]cell // each may take several rows
	row   int      // the cursor's line
	at    int      // and its place in it
	bytes []byte   // all that was written
}

// cell is one column of a line; the second of a wide character is empty.
type cell struct{ text, style string }

func newEmulator(t *testing.T, width int) *emulator {
	return &emulator{t: t, width: width, lines: [][]cell{nil}}
}

func (e *emulator) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.bytes = append(e.bytes, p...)
	style := ""
	for s := string(p); s != ""; {
		if rest, ok := strings.CutPrefix(s, "\x1b["); ok {
			end := strings.IndexAny(rest, "mJ")
			if end < 0 {
				e.t.Errorf("a foreign control sequence: %.20q", s)
				return len(p), nil
			}
			parameter := rest[:end]
			if rest[end] == 'J' {
				e.lines = e.lines[:e.row+1]
				e.lines[e.row] = e.lines[e.row][:min(e.at, len(e.lines[e.row]))]
				if parameter != "" {
					e.t.Errorf("a foreign control sequence: %.20q", s)
				}
			} else if style = parameter; !slices.Contains([]string{"0", "1", "2", "33"}, parameter) {
				e.t.Errorf("a foreign style: %.20q", s)
			}
			if style == "0" {
				style = ""
			}
			s = rest[end+1:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			e.t.Errorf("a byte that is not UTF-8: %.20q", s)
		}
		e.put(r, style)
		s = s[n:]
	}
	if style != "" {
		e.t.Errorf("a style is left on after %q", p)
	}
	return len(p), nil
}

func (e *emulator) put(r rune, style string) {
	line := e.lines[e.row]
	switch {
	case r == '\r':
		e.at -= e.at % e.width
	case r == '\n':
		e.row++
		e.at = 0
		if e.row == len(e.lines) {
			e.lines = append(e.lines, nil)
		}
	case r < ' ' || r >= 0x7f && r < 0xa0:
		e.t.Errorf("a control character: %U", r)
	case escape.RuneColumns(r) == 0 && e.at > 0:
		line[e.at-1].text += string(r)
	default:
		cells := []cell{{string(r), style}}
		if escape.RuneColumns(r) == 2 {
			if e.at%e.width == e.width-1 {
				line = append(line[:min(e.at, len(line))], cell{" ", ""})
				e.at++
			}
			cells = append(cells, cell{"", style})
		}
		for len(line) < e.at+len(cells) {
			line = append(line, cell{" ", ""})
		}
		e.at += copy(line[e.at:], cells)
		e.lines[e.row] = line
	}
}

// Text is what is seen, without the blanks at the end of its rows.
func (e *emulator) text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var rows []string
	for _, line := range e.lines {
		for len(line) > e.width {
			rows, line = append(rows, rowText(line[:e.width])), line[e.width:]
		}
		rows = append(rows, rowText(line))
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

func rowText(cells []cell) string {
	var b strings.Builder
	for _, c := range cells {
		b.WriteString(c.text)
	}
	return strings.TrimRight(b.String(), " ")
}

func (e *emulator) want(rows ...string) {
	e.t.Helper()
	if got, want := e.text(), strings.Join(rows, "\n"); got != want {
		e.t.Errorf("the screen is\n%s\nnot\n%s", got, want)
	}
}

// widest is how many columns the longest line takes.
func (e *emulator) widest() int {
	n := 0
	for _, line := range e.lines {
		n = max(n, len(line))
	}
	return n
}

// literal is s as the JSON string that a server sends.
func literal(s string) []byte { return event.AppendString(nil, s) }

// callEvent and okResult are a call and a server's answer to it.
func callEvent(n int, name, arguments string) *event.Call {
	return &event.Call{ID: "c" + strconv.Itoa(n), Name: name, Arguments: []byte(arguments)}
}

func okResult(n int, text string) *event.Result {
	return &event.Result{ID: fmt.Sprintf("c%d", n), Status: event.ResultOK, TextJSON: literal(text), Bytes: len(text)}
}

// ownResult is an answer of toolpipe's own to a call.
func ownResult(n int, status event.ResultStatus, text string) *event.Result {
	text = "[toolpipe] " + text
	return &event.Result{ID: fmt.Sprintf("c%d", n), Status: status, Text: []byte(text), Bytes: len(text)}
}
