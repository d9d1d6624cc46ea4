package processes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"time"

	"toolpipe/mcp/builtin/shell"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/readable"
)

const (
	waitTail  = 2 << 10 // bytes at the end of each output in the answer of a wait
	lookEvery = 10 * time.Millisecond
)

// A condition is what a call waits for in one program: a line of output, a screen, a pause,
// or the end, whichever comes first.
type condition struct {
	*program
	lineSearch
	screen screenCondition
	idle   time.Duration // the length of a pause; 0: pauses do not count
	reacts bool          // a pause counts only after output that came since began

	began   time.Time // when the wait began
	outcome string    // the met condition, in words; "" until then
}

// A lineSearch is the progress of the search for a line of output.
type lineSearch struct {
	pattern *regexp.Regexp // must match a line; nil: no search
	inside  *regexp.Regexp // pattern for a text that begins inside a line
	next    int64          // offset of the first line of output that was not completely searched
	inLine  bool           // next is inside a line
	size    int64          // of the output at the last search
	unseen  int64          // bytes of output that were dropped before they were searched
}

func (s *server) wait(ctx context.Context, args toolserver.Arguments, progress func(wire.Progress)) (*wire.Result, error) {
	limit, err := shell.Seconds(args, "timeout_s", min(defaultWait, s.limit), s.limit)
	if err != nil {
		return nil, err
	}
	conditions, err := s.conditions(args)
	if err != nil {
		return nil, err
	}
	wanted := min(1, len(conditions))
	if args.Flag("all") {
		wanted = len(conditions)
	}
	met, err := await(ctx, conditions, wanted, limit, progress)
	switch {
	case err != nil:
		return nil, err
	case len(conditions) == 0:
		return toolserver.TextResult(fmt.Sprintf("[toolpipe] %v have passed\n", limit)), nil
	}
	var b []byte
	if !met {
		b = fmt.Appendf(b, "[toolpipe] timed out after %v\n", limit)
	}
	for _, c := range conditions {
		b = c.report(b)
	}
	r := toolserver.TextResult(b)
	r.IsError = !met
	return r, nil
}

// conditions are the conditions in the arguments of a wait, one for each process.
func (s *server) conditions(args toolserver.Arguments) (all []*condition, err error) {
	ids := args.List("ids")
	ofOne := args.Has("since") || args.Has("screen_after")
	switch {
	case len(ids) == 0 && (ofOne || args.Has("pattern") || args.Has("idle_s") || args.Has("exit") || args.Has("screen_pattern")):
		return nil, errors.New("ids is missing: the processes to wait for")
	case len(ids) == 0 && !args.Has("timeout_s"):
		return nil, errors.New("give ids, the processes to wait for, or timeout_s for a delay")
	case len(ids) > maxPrograms || ofOne && len(ids) > 1:
		return nil, fmt.Errorf("ids has %d elements; at most %d are allowed, and only one together with since or screen_after", len(ids), maxPrograms)
	}
	want, err := s.condition(args)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		c := *want
		if c.program, err = s.find(id); err != nil {
			return nil, err
		}
		if c.next, err = c.since(args, 0); err != nil {
			return nil, err
		}
		if c.screen.wanted {
			v, err := c.view()
			if err != nil {
				return nil, err
			}
			if c.screen.after > v.Version {
				return nil, fmt.Errorf("screen_after is %d; the screen of %s is %d", c.screen.after, id, v.Version)
			}
		}
		all = append(all, &c)
	}
	return all, nil
}

// condition is the condition in the arguments of a wait, without a program.
func (s *server) condition(args toolserver.Arguments) (*condition, error) {
	want := &condition{began: time.Now(), screen: screenCondition{
		wanted: args.Has("screen_pattern") || args.Has("screen_after"), after: args.Integer("screen_after", -1),
	}}
	var err error
	if args.Has("pattern") {
		var tree *syntax.Regexp
		if want.pattern, tree, err = toolserver.CompilePattern(args.Text("pattern"), false); err != nil {
			return nil, err
		}
		if want.inside, err = toolserver.InsideLine(tree); err != nil {
			return nil, err
		}
	}
	if args.Has("screen_pattern") {
		if want.screen.row, _, err = toolserver.CompilePattern(args.Text("screen_pattern"), false); err != nil {
			return nil, fmt.Errorf("screen_pattern: %w", err)
		}
	}
	want.idle, err = shell.Seconds(args, "idle_s", 0, s.limit)
	return want, err
}

// await waits until as many conditions as wanted are met, or limit has passed. Without
// conditions it waits for limit.
func await(ctx context.Context, conditions []*condition, wanted int, limit time.Duration, progress func(wire.Progress)) (met bool, err error) {
	timeout, tick, look := time.After(limit), time.NewTicker(shell.ProgressEvery), time.NewTicker(lookEvery)
	defer tick.Stop()
	defer look.Stop()
	for elapsed, over := shell.ProgressEvery, false; ; {
		count := 0
		for _, c := range conditions {
			if c.isMet() {
				count++
			}
		}
		if met = wanted > 0 && count >= wanted; met || over {
			return met, nil
		}
		select {
		case <-look.C:
		case <-timeout:
			over = true
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-tick.C:
			progress(shell.Progress(elapsed, limit, awaited(conditions)))
			elapsed += shell.ProgressEvery
		}
	}
}

func awaited(conditions []*condition) string {
	text := "waiting"
	for _, c := range conditions {
		if c.outcome == "" {
			text += fmt.Sprintf(", %s: %d bytes of output", c.id, c.out.Size())
		}
	}
	return readable.Cut(text, 200, "…")
}

// isMet reports whether the condition is met. The end of the program also meets it, because
// then nothing else can.
func (c *condition) isMet() bool {
	if c.outcome != "" {
		return true
	}
	ended := c.hasEnded() // before the output is searched, which is complete then
	switch {
	case c.pattern != nil && c.match():
	case c.onScreen():
	case ended:
		c.outcome = "ended"
	case c.idle > 0 && c.isIdle():
		c.outcome = fmt.Sprintf("no output for %v", c.idle)
	}
	return c.outcome != ""
}

// isIdle reports whether the program was silent for long enough.
func (c *condition) isIdle() bool {
	changed := c.program.began.Add(time.Duration(c.changed.Load()))
	if changed.Before(c.began) {
		return !c.reacts && time.Since(c.began) >= c.idle
	}
	return time.Since(changed) >= c.idle
}

// match searches the lines that were not completely searched, one by one. A line of more than
// maxSearched bytes is searched in parts that overlap.
func (c *condition) match() bool {
	size := c.out.Size()
	for c.size < size {
		b, at := c.out.From(c.next, maxSearched)
		c.unseen += at - c.next
		c.inLine = c.inLine || at > c.next
		c.next = at
		for line := range bytes.Lines(b) {
			text, _ := plain(bytes.TrimRight(line, "\r\n"))
			if c.matches(text) {
				c.outcome = fmt.Sprintf("matched at offset %d: %s", c.next, readable.Cut(string(text), maxShown, "…"))
				return true
			}
			if line[len(line)-1] == '\n' {
				c.next += int64(len(line))
				c.inLine = false
			} else if len(line) == maxSearched {
				c.next += maxSearched / 2
				c.inLine = true
			}
		}
		end := at + int64(len(b))
		if end >= size {
			c.size = size
		} else if c.next == at {
			c.next = end // the end of this line was dropped
		}
	}
	return false
}

// matches reports whether text, which begins at next, matches. Line ends in it were carriage
// returns.
func (c *condition) matches(text []byte) bool {
	if !c.inLine {
		return c.pattern.Match(text)
	}
	rest, lines, more := bytes.Cut(text, []byte("\n"))
	return c.inside.Match(rest) || more && c.pattern.Match(lines)
}

func (c *condition) report(b []byte) []byte {
	b = fmt.Appendf(b, "[toolpipe] %s", c.describe())
	if c.outcome != "" && c.outcome != "ended" {
		b = fmt.Appendf(b, "; %s", c.outcome)
	}
	if c.unseen > 0 && c.pattern != nil {
		b = fmt.Appendf(b, "; %d bytes came too fast, and were not searched", c.unseen)
	}
	if v, err := c.view(); c.screen.wanted && err == nil {
		return fmt.Appendf(b, "; %s; its rows follow\n%s", describeScreen(v), screenText(v))
	}
	from := c.lastLines(waitTail)
	text, next := c.part(from, waitTail, false)
	b = fmt.Appendf(b, "; the end of its output, bytes %d to %d:\n", from, next)
	b = append(b, text...)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		b = append(b, '\n')
	}
	return b
}
