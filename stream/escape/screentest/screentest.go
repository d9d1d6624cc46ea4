// Package screentest emulates a terminal for tests of what is shown on one. Only
// tests import it.
package screentest

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"toolpipe/stream/escape"
)

// A Screen is that of a terminal: it wraps and, when its width changes, wraps
// anew. It fails the test at a control character or a sequence that toolpipe does
// not use, so that nothing hostile passes.
type Screen struct {
	Width  int
	Refuse func(r rune) bool // characters that fail the test too; may be nil

	t     testing.TB
	mu    sync.Mutex
	lines [][]string // by columns, the second of a wide character is empty; a line may take several rows
	row   int        // the cursor's line
	at    int        // and its place in it
}

// New makes an empty screen.
func New(t testing.TB, width int) *Screen { return &Screen{t: t, Width: width, lines: [][]string{nil}} }

func (e *Screen) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	style := ""
	for s := string(p); s != ""; {
		if rest, ok := strings.CutPrefix(s, "\x1b["); ok {
			end := strings.IndexAny(rest, "mJK")
			if end < 0 {
				e.t.Errorf("a foreign control sequence: %.20q", s)
				return len(p), nil
			}
			parameter := rest[:end]
			if rest[end] != 'm' {
				if rest[end] == 'J' {
					e.lines = e.lines[:e.row+1]
				}
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
		e.put(r)
		s = s[n:]
	}
	if style != "" {
		e.t.Errorf("a style is left on after %q", p)
	}
	return len(p), nil
}

func (e *Screen) put(r rune) {
	line := e.lines[e.row]
	switch {
	case r == '\r':
		e.at -= e.at % e.Width
	case r == '\n':
		e.row++
		e.at = 0
		if e.row == len(e.lines) {
			e.lines = append(e.lines, nil)
		}
	case r < ' ' || r >= 0x7f && r < 0xa0 || e.Refuse != nil && e.Refuse(r):
		e.t.Errorf("a character that disturbs a terminal: %U", r)
	case escape.RuneColumns(r) == 0 && e.at > 0:
		line[e.at-1] += string(r)
	default:
		columns := []string{string(r)}
		if escape.RuneColumns(r) == 2 {
			if e.at%e.Width == e.Width-1 {
				line = append(line[:min(e.at, len(line))], " ")
				e.at++
			}
			columns = append(columns, "")
		}
		for len(line) < e.at+len(columns) {
			line = append(line, " ")
		}
		e.at += copy(line[e.at:], columns)
		e.lines[e.row] = line
	}
}

// Text is what is seen, without the blanks at the end of its rows.
func (e *Screen) Text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var rows []string
	for _, line := range e.lines {
		for len(line) > e.Width {
			rows, line = append(rows, rowText(line[:e.Width])), line[e.Width:]
		}
		rows = append(rows, rowText(line))
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

func rowText(row []string) string { return strings.TrimRight(strings.Join(row, ""), " ") }

// Lines are the lines that were written, not wrapped, with their blanks.
func (e *Screen) Lines() (all []string) {
	for _, line := range e.lines {
		all = append(all, strings.Join(line, ""))
	}
	return all
}

// Column is where the cursor is in its row.
func (e *Screen) Column() int { return e.at % e.Width }

// Want fails the test if these are not all rows that are seen.
func (e *Screen) Want(rows ...string) {
	e.t.Helper()
	if got, want := e.Text(), strings.Join(rows, "\n"); got != want {
		e.t.Errorf("the screen is\n%s\nnot\n%s", got, want)
	}
}

// Widest is how many columns the longest line takes.
func (e *Screen) Widest() int {
	n := 0
	for _, line := range e.lines {
		n = max(n, len(line))
	}
	return n
}
