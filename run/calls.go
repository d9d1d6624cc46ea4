package run

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp/confine"
	"toolpipe/mcp/wire"
	"toolpipe/run/event"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
)

// caller answers the calls of a turn: it decides all of them in order, runs
// the allowed ones, and reports the results in order.
type caller struct {
	box       *toolbox
	gate      *approve.Gate
	emit      func(event.Event) error
	flush     func() error
	parallel  int
	maxBytes  int
	whole     bool // events are written, and show a result that was cut for the model in full
	dryRun    bool
	goOn      bool // --unapproved deny: tell the model instead of stopping
	cmdLines  bool
	note      func(format string, args ...any) // a line for the user on stderr
	nextLocal int                              // numbers the calls of command lines

	mu     sync.Mutex // held while a verdict is taken again
	failed error      // what ends the run: a panic in a call, or a call that is unapproved when it was to run
}

// pending is one call on its way to its answer.
type pending struct {
	stream.Call
	tool   *tool  // nil: unknown
	args   []byte // canonical
	line   string // the command line that it stands for, "" for a tool call
	answer *answer
	told   bool   // its tool_call event was written
	denial string // why it was denied, as a person is told

	verdict *approve.Verdict // nil: not taken yet
}

// answer decides and runs calls, then the command lines of the same reply,
// and appends their answers to the conversation.
func (c *caller) answer(ctx context.Context, l *loop, calls []stream.Call, lines []string) error {
	all := c.pendings(calls, lines)
	stop, err := c.decide(ctx, l, all)
	if err != nil || stop != nil {
		c.finish(l, all)
		if err == nil {
			err = stop
		}
		return err
	}
	err = c.execute(ctx, l, all)
	c.appendAnswers(l, all)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return err
}

// report emits calls that will never run because the run ends here.
func (c *caller) report(l *loop, calls []stream.Call, lines []string) error {
	return c.finish(l, c.pendings(calls, lines))
}

// pendings are the calls of a reply in the order in which they run.
func (c *caller) pendings(calls []stream.Call, lines []string) []*pending {
	all := make([]*pending, 0, len(calls)+len(lines))
	for _, call := range calls {
		all = append(all, &pending{Call: call})
	}
	for _, line := range lines {
		all = append(all, c.lineCall(line))
	}
	return all
}

// prepare looks the tool up and reads the arguments; what cannot run has its
// answer afterwards.
func (c *caller) prepare(p *pending) {
	p.tool = c.box.byName[p.Name]
	text := bytes.Trim(p.Arguments, " \t\r\n")
	if len(text) == 0 || string(text) == "null" {
		text = []byte("{}")
	}
	args, err := approve.Canonical(text)
	switch {
	case p.tool == nil:
		p.answer = tell(event.ResultInvalid, "tool dispatch failed: no tool is named "+strconv.Quote(p.Name))
	case err != nil:
		p.answer = tell(event.ResultInvalid, "tool arguments not parseable as JSON: "+err.Error())
	}
	if err == nil {
		p.args = args
	}
}

// announce emits the call as it will be decided and sent.
func (c *caller) announce(l *loop, p *pending) error {
	c.prepare(p)
	p.told = true
	l.toolCalls++
	e := &event.Call{Turn: l.turns, ID: p.ID, Name: p.Name, Arguments: p.args, Raw: p.Arguments}
	if p.tool != nil {
		e.Server, e.Tool = p.tool.conn.Name, p.tool.Name
	}
	return c.emit(e)
}

// execute runs what has no answer yet. Calls annotated read-only run side by
// side; any other waits for all before it and holds back all after it.
func (c *caller) execute(ctx context.Context, l *loop, all []*pending) error {
	if len(all) == 1 { // the common turn needs no goroutine
		if all[0].answer == nil {
			c.run(ctx, all[0])
		}
		if err := c.result(l, all[0]); err != nil {
			return err
		}
		return c.failed
	}
	ready := make([]chan struct{}, len(all))
	for i := range ready {
		ready[i] = make(chan struct{})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	goroutine.Start(func() {
		defer close(done)
		c.schedule(ctx, all, ready)
	})
	var failed error
	for i, p := range all {
		select {
		case <-ready[i]:
		case <-done:
		}
		if p.answer == nil { // schedule has panicked
			p.answer = tell(event.ResultUnknown, "outcome unknown: a defect of toolpipe")
		}
		if err := c.result(l, p); err != nil && failed == nil {
			failed = err
			cancel(failed) // stdout is gone: nothing more is run, and the log still gets every result
		}
	}
	<-done
	cancel(nil)
	if failed == nil {
		failed = c.failed
	}
	return failed
}

func (c *caller) schedule(ctx context.Context, all []*pending, ready []chan struct{}) {
	slots := make(chan struct{}, c.parallel)
	var running sync.WaitGroup
	for i, p := range all {
		if p.answer != nil {
			close(ready[i])
			continue
		}
		if !p.tool.ReadOnly {
			running.Wait()
			c.run(ctx, p)
			close(ready[i])
			continue
		}
		slots <- struct{}{}
		goroutine.StartIn(&running, func() {
			c.run(ctx, p)
			<-slots
			close(ready[i])
		})
	}
	running.Wait()
}

// run makes one call and keeps its answer. It is the only place where a tool
// is run.
func (c *caller) run(ctx context.Context, p *pending) {
	began := time.Now()
	defer func() {
		p.answer.event.Time = time.Since(began)
	}()
	defer func() {
		if r := recover(); r != nil {
			p.answer = tell(event.ResultUnknown, "outcome unknown: a defect of toolpipe")
			c.mu.Lock()
			defer c.mu.Unlock()
			c.failed = goroutine.NewPanic(r)
		}
	}()
	if ctx.Err() != nil {
		p.answer = tell(event.ResultNotRun, "not run: the run ended")
		p.answer.open = true
		return
	}
	release, err := p.tool.conn.slot(ctx)
	if err != nil {
		p.answer = failed(&p.tool.conn.Server, err)
		return
	}
	defer release()
	bounds := c.again(ctx, p)
	if p.answer != nil {
		return
	}
	result, err := p.tool.conn.session.Call(confine.WithBounds(ctx, bounds), p.tool.Name, p.args, func(g wire.Progress) {
		c.emit(&event.Progress{ID: p.ID, Progress: g.Progress, Total: g.Total, Message: g.Message})
		c.flush()
	})
	if err != nil {
		p.answer = failed(&p.tool.conn.Server, err)
		return
	}
	p.answer = c.rendered(result)
}

// result emits the answer of p.
func (c *caller) result(l *loop, p *pending) error {
	switch p.answer.event.Status {
	case event.ResultUnknown:
		l.unknown = true
	case event.ResultDenied:
		l.denied++
	}
	p.answer.event.ID = p.ID
	return c.emit(&p.answer.event)
}

// finish announces every call that was not yet, and answers every one that
// has no answer: the run ends before it runs. The error is the first of the
// output; a log goes on behind it.
func (c *caller) finish(l *loop, all []*pending) (failed error) {
	for _, p := range all {
		if p.told {
			continue
		}
		if err := c.announce(l, p); failed == nil {
			failed = err
		}
	}
	for _, p := range all {
		if p.answer == nil {
			p.answer = tell(event.ResultNotRun, "not run: the run ended")
		}
		if err := c.result(l, p); failed == nil {
			failed = err
		}
	}
	return failed
}

// appendAnswers appends one tool message for each call, in order, and one
// user message for the command lines.
func (c *caller) appendAnswers(l *loop, all []*pending) {
	var outputs strings.Builder
	for _, p := range all {
		if p.answer == nil || p.answer.open {
			continue
		}
		if p.line != "" {
			if outputs.Len() > 0 {
				outputs.WriteString("\n\n")
			}
			outputs.WriteString("CMD: " + p.line + "\n" + p.answer.text())
			continue
		}
		l.request.Messages = append(l.request.Messages, stream.Message{
			Role: stream.ToolRole, CallID: p.ID, Name: p.Name, Parts: p.answer.parts,
			Failed: p.answer.event.Status != event.ResultOK,
		})
	}
	if outputs.Len() > 0 {
		l.request.Messages = append(l.request.Messages, stream.Message{Role: stream.User, Parts: []stream.Part{{Text: outputs.String()}}})
	}
}
