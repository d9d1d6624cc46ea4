package processes

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
	"toolpipe/stream/text/screen"
)

const (
	usualColumns, usualRows = 80, 24
	// screenTerm is the TERM of a program with pty: the terminal that the screen understands.
	screenTerm = "xterm-256color"
	maxAnswers = 16 // of the terminal that the program has not read yet; further ones are dropped
)

// A size of a terminal. The zero value means no terminal.
type size struct{ columns, rows int }

// sizeOf is the size in the arguments cols and rows; otherwise if they are absent.
func sizeOf(args toolserver.Arguments, otherwise size) (size, error) {
	columns, rows := args.Integer("cols", int64(otherwise.columns)), args.Integer("rows", int64(otherwise.rows))
	switch {
	case columns < 1 || columns > screen.MaxColumns:
		return size{}, fmt.Errorf("cols is %d; 1 to %d are allowed", columns, screen.MaxColumns)
	case rows < 1 || rows > screen.MaxRows:
		return size{}, fmt.Errorf("rows is %d; 1 to %d are allowed", rows, screen.MaxRows)
	}
	return size{int(columns), int(rows)}, nil
}

func shownSize(v screen.View) size { return size{v.Columns, len(v.Rows)} }

type terminal struct {
	mu      sync.Mutex // locked while output is written to both the screen and the stream
	shown   *screen.Screen
	answers chan []byte
}

func newTerminal(of size) *terminal {
	t := &terminal{answers: make(chan []byte, maxAnswers)}
	t.shown = screen.New(of.columns, of.rows, screen.Options{Answer: func(answer []byte) {
		select {
		case t.answers <- answer:
		default: // the program asks faster than it reads
		}
	}})
	return t
}

func (p *program) keep(b []byte) {
	if p.terminal == nil {
		p.out.Write(b)
		return
	}
	p.terminal.mu.Lock()
	defer p.terminal.mu.Unlock()
	p.out.Write(b)
	p.terminal.shown.Write(b)
}

// answer gives the program the answers of its terminal, until copyOutput ends. A program that
// does not read its input blocks only this goroutine.
func (p *program) answer() {
	for answer := range p.terminal.answers {
		p.in.Write(answer)
	}
}

func (p *program) view() (screen.View, error) {
	if p.terminal == nil {
		return screen.View{}, fmt.Errorf("%s has no screen: start it with pty", p.id)
	}
	p.terminal.mu.Lock()
	defer p.terminal.mu.Unlock()
	return p.terminal.shown.View(), nil
}

// version is the version of the screen; the program must have one.
func (p *program) version() int64 {
	p.terminal.mu.Lock()
	defer p.terminal.mu.Unlock()
	return p.terminal.shown.Version()
}

func describeScreen(v screen.View) string {
	cursor := "the cursor is in row " + strconv.Itoa(v.Row) + ", column " + strconv.Itoa(v.Column)
	if v.CursorHidden {
		cursor += " and hidden"
	}
	return fmt.Sprintf("screen %d of %d columns and %d rows; %s", v.Version, v.Columns, len(v.Rows), cursor)
}

// screenText is the text on a screen, without the blank rows at its end.
func screenText(v screen.View) string {
	text := strings.TrimRight(strings.Join(v.Rows, "\n"), "\n")
	if text != "" {
		text += "\n"
	}
	return text
}

func readScreen(p *program, args toolserver.Arguments) (*wire.Result, error) {
	if args.Has("since") || args.Has("max_bytes") || args.Has("raw") {
		return nil, errors.New("since, max_bytes and raw apply to the output, not to the screen")
	}
	state := p.describe() // before the screen is read: if the program has ended, its screen is the last one
	v, err := p.view()
	if err != nil {
		return nil, err
	}
	text := screenText(v)
	r := toolserver.TextResult(fmt.Sprintf("[toolpipe] %s; %s; its rows follow\n%s", state, describeScreen(v), text))
	r.Structured = fmt.Appendf(nil, `{"screen":%d,"cols":%d,"rows":%d,"cursor":{"row":%d,"column":%d,"visible":%t},"text":%s}`,
		v.Version, v.Columns, len(v.Rows), v.Row, v.Column, !v.CursorHidden, jsontext.Quoted(text))
	r.TextComplete = true
	return r, nil
}

// searchScreens finds the matching rows on the screens of programs. A program without a
// screen is an error only if it was named.
func searchScreens(programs []*program, named bool, re *regexp.Regexp) (*wire.Result, error) {
	b := []byte("[toolpipe] id, version of the screen and row of each row that matches:\n")
	found := 0
	for _, p := range programs {
		v, err := p.view()
		if err != nil && named {
			return nil, err
		}
		for i, row := range v.Rows {
			if re.MatchString(row) {
				found++
				b = fmt.Appendf(b, "%s %d %d: %s\n", p.id, v.Version, i+1, readable.Cut(row, maxShown, "…"))
			}
		}
	}
	if found == 0 {
		b = append(b, "[toolpipe] no row of a screen matches\n"...)
	}
	return toolserver.TextResult(b), nil
}

// A screenCondition is a condition for the screen of a program. The zero value waits for
// nothing.
type screenCondition struct {
	wanted bool
	row    *regexp.Regexp // must match a row; nil: any row
	after  int64          // the version must be later than this, and than the one that was checked last
}

// onScreen reports whether a screen that was not checked yet meets the condition.
func (c *condition) onScreen() bool {
	s := &c.screen
	if !s.wanted || c.version() <= s.after {
		return false
	}
	v, _ := c.view()
	if s.row == nil {
		c.outcome = fmt.Sprintf("a later screen than %d", s.after)
		return true
	}
	s.after = v.Version
	at := slices.IndexFunc(v.Rows, s.row.MatchString)
	if at >= 0 {
		c.outcome = fmt.Sprintf("row %d matches: %s", at+1, readable.Cut(v.Rows[at], maxShown, "…"))
	}
	return at >= 0
}

func resize(_ context.Context, p *program, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
	switch {
	case p.terminal == nil:
		return nil, fmt.Errorf("%s has no screen: start it with pty", p.id)
	case !args.Has("cols") && !args.Has("rows"):
		return nil, errors.New("give cols, or rows, or both")
	case p.hasEnded():
		return nil, errors.New(p.describe())
	}
	t := p.terminal
	t.mu.Lock() // so that the screen has the size that the program draws for
	defer t.mu.Unlock()
	to, err := sizeOf(args, shownSize(t.shown.View()))
	if err != nil {
		return nil, err
	}
	if err := setSize(p.in, to); err != nil {
		return nil, fmt.Errorf("%s keeps its size: %w", p.id, err)
	}
	t.shown.Resize(to.columns, to.rows)
	return toolserver.TextResult(fmt.Sprintf("[toolpipe] %s has a screen of %d columns and %d rows now; its version is %d\n", p.id, to.columns, to.rows, t.shown.Version())), nil
}
