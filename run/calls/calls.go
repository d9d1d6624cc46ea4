// Package calls makes calls without a model: the calls that standard input lists as JSON
// lines (--calls), or a reviewed plan that --stage wrote (--apply). The rules, the lock and
// the log of this run apply to each call.
package calls

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/turn"
	"toolpipe/stream/goroutine"
)

const flag = "--calls"

// maxLine is the longest line, in bytes.
const maxLine = 16 << 20

// maxAhead is how many calls may be under way before the first one has its answer.
const maxAhead = 64

type run struct {
	*turn.Plan
	feed  *turn.Feed
	stop  context.CancelCauseFunc
	ahead chan struct{}  // one element for each read-only call under way
	going sync.WaitGroup // the read-only calls under way

	mu    sync.Mutex
	first error // of the calls, in the order in which they ended
}

// Run makes the calls that standard input lists, and counts them in tally. The plan p must be
// resolved. The error is the one of the first call that was not made or that failed. With
// --keep-going the calls after it are still made.
func Run(ctx context.Context, p *turn.Plan, tally *turn.Tally) error {
	if _, err := p.Box.Begin(ctx); err != nil {
		return err
	}
	if p.Inv.Streams.InTerminal {
		p.Inv.SayWaiting()
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	r := &run{Plan: p, stop: stop, ahead: make(chan struct{}, maxAhead)}
	r.feed = p.NewFeed(0, r.failed)
	r.feed.Ends = "the calls after it are not made"
	if p.Inv.Config.KeepGoing {
		r.feed.Ends = "the calls after it are made"
	}
	lines := make(chan line)
	goroutine.Start(func() { readLines(ctx, p.Inv.Streams.In, lines) })
	err := r.makeCalls(ctx, lines)
	r.going.Wait()
	tally.Add(r.feed.Close())
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.first != nil {
		return r.first
	}
	return err
}

// makeCalls takes calls as they come, until standard input or ctx ends or a call has failed.
func (r *run) makeCalls(ctx context.Context, lines <-chan line) error {
	b := backlog{own: r.Inv.Run}
	defer r.warnOfLog(&b)
	for ended := false; !ended && r.goesOn(); {
		var l line
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case l = <-lines:
		}
		switch {
		case l.err == io.EOF:
			ended = true
			for _, c := range b.calls {
				c.open = false
			}
		case l.err != nil:
			return l.err
		default:
			if err := b.read(l); err != nil {
				return err
			}
		}
		for c := range b.ready {
			if r.makeCall(ctx, c); !r.goesOn() {
				break
			}
		}
	}
	return nil
}

func (r *run) warnOfLog(b *backlog) {
	if b.nested+b.refused > 0 {
		r.Inv.Warn("calls_skipped", "", fmt.Sprintf("calls of the log that are not made: %d of nested runs, %d that were denied, not run or staged", b.nested, b.refused))
	}
}

// makeCall makes a call. Read-only calls run beside each other. Any other call, with its verdict,
// waits for the calls before it, and the calls after it wait for it.
func (r *run) makeCall(ctx context.Context, c *asked) {
	if t := r.Box.Tool(c.name); t == nil || !t.ReadOnly {
		r.going.Wait()
		if r.goesOn() {
			r.answered(c.id, r.feed.Add(ctx, c.id, c.name, c.args)())
		}
		return
	}
	if r.ahead <- struct{}{}; !r.goesOn() {
		return // no further call follows
	}
	answer := r.feed.Add(ctx, c.id, c.name, c.args)
	goroutine.StartIn(&r.going, func() {
		r.answered(c.id, answer())
		<-r.ahead
	})
}

// goesOn reports whether a further call is made.
func (r *run) goesOn() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.first == nil || r.Inv.Config.KeepGoing
}

func (r *run) keep(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first = cmp.Or(r.first, err)
}

// failed keeps the error that ends the feed. A defect, a limit or a lost output ends the run.
func (r *run) failed(err error) {
	r.keep(err)
	switch failure.Of(err).Status {
	case failure.StatusUnapproved, failure.StatusServer:
	default:
		r.stop(err)
	}
}

// answered checks the answer of a call for a failure.
func (r *run) answered(id event.ID, o turn.Outcome) {
	name, number := id.Number()
	if !number {
		name = strconv.Quote(name)
	}
	f := &failure.Error{Status: failure.StatusTool, Message: flag + ": the call " + name + ": "}
	if o.Tool == nil {
		f.Status, f.Hints = failure.StatusUsage, []string{"--list-tools shows the names"}
	}
	switch o.Status {
	case event.ResultOK, event.ResultStaged, event.ResultNotRun: // the reason is reported elsewhere
		return
	case event.ResultUnknown:
		f.Status = failure.StatusUnknown
	}
	f.Message += o.Failure()
	r.keep(f)
}

// A line is one line of standard input, or the error instead of it.
type line struct {
	text   []byte
	number int
	err    error // io.EOF at the end
}

func (l *line) wrong(format string, args ...any) error {
	return failure.UsageError([]string{`a line is {"id":"1","name":"fs__read_file","arguments":{"path":"a"}}`}, "%s: stdin:%d: "+format, append([]any{flag, l.number}, args...)...)
}

// readLines reads until the end, an error or the end of ctx.
func readLines(ctx context.Context, in io.Reader, to chan<- line) {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 0, 64<<10), maxLine)
	send := func(l line) bool {
		select {
		case to <- l:
			return true
		case <-ctx.Done():
			return false
		}
	}
	n := 1
	for ; s.Scan(); n++ {
		if text := bytes.TrimSpace(s.Bytes()); len(text) > 0 && !send(line{text: bytes.Clone(text), number: n}) {
			return
		}
	}
	switch err := s.Err(); {
	case err == nil:
		send(line{err: io.EOF})
	case errors.Is(err, bufio.ErrTooLong):
		send(line{err: failure.Usage("%s: stdin:%d: the line is longer than %d MiB", flag, n, maxLine>>20)})
	default:
		send(line{err: failure.Usage("%s: stdin: %s", flag, failure.Cause(err))})
	}
}
