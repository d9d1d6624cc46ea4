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
	style string // the present style
}

// New makes an empty screen.
func New(t testing.TB, width int) *Screen {
	e := &Screen{t: t, Width: width}
	e.shown = screen.New(width, screen.MaxRows, screen.Options{Columns: escape.RuneColumns, Control: e.control})
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

// Text returns the visible text, without the blanks at the end of its rows.
func (e *Screen) Text() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resized()
	return strings.TrimRight(strings.Join(e.shown.View().Rows, "\n"), "\n")
}

// Lines returns the lines up to the cursor, not wrapped, without the blanks at their ends.
func (e *Screen) Lines() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.resized()
	e.shown.Resize(screen.MaxColumns, screen.MaxRows)
	view := e.shown.View()
	e.resized()
	return view.Rows[:view.Row]
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
