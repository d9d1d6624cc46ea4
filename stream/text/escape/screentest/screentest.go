// Package screentest is a terminal for tests of terminal output. Only tests import it.
package screentest

import (
	"regexp"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"toolpipe/stream/text/escape"
	"toolpipe/stream/text/screen"
)

// A Screen is the screen of a terminal that gives each character the most columns that any
// terminal gives it. It fails the test at a control function that toolpipe does not use, so
// that nothing hostile passes.
type Screen struct {
	Width  int
	Refuse func(r rune) bool // characters that fail the test too; may be nil

	t     testing.TB
	mu    sync.Mutex
	shown *screen.Screen
	left  []string // the lines that left the screen at its top
	goes  bool     // the last of them goes on in the next row
	style string   // the present style
}

// New makes an empty screen.
func New(t testing.TB, width int) *Screen {
	e := &Screen{t: t, Width: width}
	e.shown = screen.New(width, screen.MaxRows, screen.Options{Columns: escape.RuneColumns, Control: e.control, Leaves: e.leaves})
	return e
}

// used are the control functions that toolpipe uses.
var used = regexp.MustCompile(`^(\r|\n|\x1b\[(J|K|0m|1m|2m|33m))$`)

func (e *Screen) control(function []byte) {
	if !used.Match(function) {
		e.t.Errorf("a control function that disturbs a terminal: %q", function)
	}
	if strings.HasSuffix(string(function), "m") {
		e.style = strings.TrimSuffix(string(function), "\x1b[0m")
	}
}

func (e *Screen) leaves(text string, goesOn bool) {
	if e.goes {
		e.left[len(e.left)-1] += text
	} else {
		e.left = append(e.left, text)
	}
	e.goes = goesOn
}

// Write shows p. As on a terminal, the end of a line begins the next one.
func (e *Screen) Write(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resized()
	if !utf8.Valid(p) {
		e.t.Errorf("bytes that are not UTF-8: %q", p)
	}
	if e.Refuse != nil {
		for _, r := range string(p) {
			if r >= ' ' && r != 0x7f && e.Refuse(r) {
				e.t.Errorf("a character that disturbs a terminal: %U", r)
			}
		}
	}
	e.shown.Write([]byte(strings.ReplaceAll(strings.ReplaceAll(string(p), "\r\n", "\n"), "\n", "\r\n")))
	if e.style != "" {
		e.t.Errorf("a style is left on after %q", p)
	}
	return len(p), nil
}

// resized gives the screen the width that the test set.
func (e *Screen) resized() { e.shown.Resize(e.Width, screen.MaxRows) }

// Text returns the visible text, after the lines that left the screen at its top, without the
// blanks at the end of its rows.
func (e *Screen) Text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resized()
	var rows []string
	for _, line := range append(e.left, e.shown.View().Rows...) {
		rows = append(rows, strings.TrimRight(line, " "))
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

// Lines returns the lines that were written, not wrapped, with their blanks.
func (e *Screen) Lines() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resized()
	lines := e.shown.Lines()
	if n := len(e.left) - 1; n >= 0 && e.goes {
		return append(append(e.left[:n:n], e.left[n]+lines[0]), lines[1:]...)
	}
	return append(e.left[:len(e.left):len(e.left)], lines...)
}

// Column returns the column of the cursor, from 0.
func (e *Screen) Column() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.shown.View().Column - 1
}

// Want fails the test if the visible rows differ from these.
func (e *Screen) Want(rows ...string) {
	e.t.Helper()
	if got, want := e.Text(), strings.Join(rows, "\n"); got != want {
		e.t.Errorf("the screen is\n%s\nnot\n%s", got, want)
	}
}
