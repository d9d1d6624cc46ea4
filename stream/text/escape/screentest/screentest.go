// Package screentest emulates a terminal for tests of what is shown on one. Only
// tests import it.
package screentest

import (
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"toolpipe/stream/text/escape"
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

// sequence is what toolpipe uses. The escape character of any other one is refused.
var sequence = regexp.MustCompile(`^\x1b\[(J|K|0m|1m|2m|33m)`)

func (e *Screen) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	style := ""
	for s := string(p); s != ""; {
		found := sequence.FindStringSubmatch(s)
		if found == nil {
			r, n := utf8.DecodeRuneInString(s)
			if r == utf8.RuneError && n == 1 {
				e.t.Errorf("a byte that is not UTF-8: %.20q", s)
			}
			e.put(r)
			s = s[n:]
			continue
		}
		switch found[1] {
		case "J", "K":
			if found[1] == "J" {
				e.lines = e.lines[:e.row+1]
			}
			e.lines[e.row] = e.lines[e.row][:min(e.at, len(e.lines[e.row]))]
		case "0m":
			style = ""
		default:
			style = found[1]
		}
		s = s[len(found[0]):]
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
