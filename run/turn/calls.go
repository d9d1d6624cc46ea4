package turn

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"sync"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/session"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// round is the calls of one turn. All of them are decided in order before any of them runs, and
// their results are reported in order.
type round struct {
	*caller
	turn  int
	calls []*call
	tally CallTally

	mu      sync.Mutex // held during verdicts, but not while somebody is asked; guards the tally
	stopped error      // ends the run: a defect, or a second verdict
}

type call struct {
	stream.Call
	number    bool          // its id is a number
	line      string        // its command line; "" for a tool call
	after     int           // command lines after it in the same reply
	tool      *toolbox.Tool // nil: unknown
	args      []byte        // canonical
	trace     config.Trace  // its span in the caller's trace
	task      *session.Task // the server's answer in an earlier run; nil for none
	announced bool          // its tool_call event was written
	verdict   *approve.Verdict
	asked     time.Duration // how long somebody was asked about it since its last approval event
	staged    bool          // write it to the plan instead of running it
	denial    string        // why it was denied, for the user
	taped     taped         // in a recording, or from it
	noted     bool          // the session records that it is about to be sent
	answer    *answer       // nil: not yet
	nested    *CallTally    // counts of its nested run
	origin    event.Source
	labels    approve.Labels // of its result; set with the result
	egress    event.Egress   // for its approval event: sources of the conversation's labels

	ctx      context.Context     // in which it runs
	progress func(wire.Progress) // gets its progress too; may be nil
	done     chan struct{}       // closed when it has its answer
	settled  <-chan struct{}     // closed when the host can take another answer; nil: always
	user     hostUser
}

func eventID(c *call) event.ID {
	if c.number {
		return event.NumberID(c.ID)
	}
	return event.ID(c.ID)
}

// answer decides and runs calls, then the command lines of the same reply, and returns messages
// with the answers for the model. There are none if the run ends before any call has run: a later
// run can then make all of them.
func (c *caller) answer(ctx context.Context, turn int, calls []stream.Call, lines []string) ([]stream.Message, CallTally, error) {
	r := c.newRound(turn, calls, lines)
	if err := r.decide(ctx); err != nil {
		r.finish()
		return nil, r.tally, err
	}
	err := cmp.Or(r.execute(ctx), context.Cause(ctx))
	return r.messages(), r.tally, err
}

// report emits calls that will never run because the run ends.
func (c *caller) report(turn int, calls []stream.Call, lines []string) (CallTally, error) {
	r := c.newRound(turn, calls, lines)
	err := r.finish()
	return r.tally, err
}

func (c *caller) newRound(turn int, calls []stream.Call, lines []string) *round {
	r := &round{caller: c, turn: turn}
	for _, asked := range calls {
		r.calls = append(r.calls, &call{Call: asked})
	}
	for i, line := range lines {
		k := c.lines.call(line)
		k.after = len(lines) - 1 - i
		r.calls = append(r.calls, k)
	}
	return r
}

// prepare finds the tool and reads the arguments. A call that cannot run gets its answer here.
func (r *round) prepare(c *call) {
	var elsewhere string
	c.tool, elsewhere = r.find(c.Name)
	var err error
	c.args, err = canonical(c.Arguments)
	switch {
	case c.tool == nil && r.echoes != nil && r.echoes(c.Name):
		c.answer = resultAnswer(string(c.Arguments))
	case c.tool == nil:
		c.answer = ownAnswer(event.ResultInvalid, "tool dispatch failed: no tool is named "+strconv.Quote(c.Name)+elsewhere)
	case err != nil:
		c.answer = ownAnswer(event.ResultInvalid, "tool arguments not parseable as JSON: "+err.Error())
	default:
		if text := c.tool.Misfit(c.args); text != "" {
			c.answer = ownAnswer(event.ResultInvalid, "tool arguments do not fit the tool's schema: "+text)
		}
	}
}

// canonical is approve.Canonical, also for a call without arguments.
func canonical(arguments []byte) ([]byte, error) {
	text := bytes.Trim(arguments, " \t\r\n")
	if len(text) == 0 || string(text) == "null" {
		text = []byte("{}")
	}
	return approve.Canonical(text)
}

// announce emits the call in the form that is decided and sent.
func (r *round) announce(c *call) error {
	r.prepare(c)
	c.announced, c.origin = true, r.origin(c)
	r.mu.Lock()
	r.tally.ToolCalls++
	r.mu.Unlock()
	e := &event.Call{Turn: r.turn, ID: eventID(c), Name: c.Name, Arguments: c.args, Raw: c.Arguments}
	c.trace, e.Span = cmp.Or(c.trace, r.trace).Child()
	if c.tool != nil {
		e.Server, e.Tool = c.tool.Conn.Name, c.tool.Name
	}
	return r.emit(e)
}

// execute runs the calls that have no answer yet, and reports all results in order. Servers that
// start at their first call start now.
func (r *round) execute(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	for _, c := range r.calls {
		c.ctx, c.done = ctx, make(chan struct{})
		if c.answer == nil && !c.staged {
			c.tool.Conn.Begin()
		}
	}
	last := r.calls[len(r.calls)-1] // reports changed files
	scheduled := make(chan struct{})
	schedule := func() {
		defer close(scheduled)
		r.schedule(slices.Values(r.calls), func(c *call) {
			r.keep(c)
			close(c.done)
		})
	}
	if len(r.calls) == 1 { // the usual round needs no goroutine
		schedule()
	} else {
		goroutine.Start(schedule)
	}
	var failed error
	for _, c := range r.calls {
		select {
		case <-c.done:
		case <-scheduled:
		}
		if c.answer == nil { // schedule panicked
			c.answer = ownAnswer(event.ResultUnknown, "outcome unknown: a defect of toolpipe")
		}
		if c == last && r.known != nil {
			r.tellChanges(ctx, c)
		}
		if err := r.result(c); err != nil && failed == nil {
			failed = err
			cancel(failed) // standard output failed: no further call runs, and the log still gets every result
		}
	}
	<-scheduled
	cancel(nil)
	return cmp.Or(failed, r.stopped)
}

// schedule runs the calls that have no answer yet. Read-only calls run in parallel with each other,
// and calls of agents with each other. Any other call waits for all calls before it, and the calls
// after it wait for it. done is called with each call that has its answer, from any goroutine.
func (r *round) schedule(calls iter.Seq[*call], done func(*call)) {
	slots := make(chan struct{}, r.parallel)
	var running sync.WaitGroup
	var beside approve.Labels // labels of the calls that may be running
	agents := false           // the running calls are calls of agents
	alone := len(r.calls) == 1
	for c := range calls {
		if c.answer != nil {
			done(c)
			continue
		}
		isAgent := r.mayNestBeside(c)
		if !c.tool.ReadOnly && !isAgent || c.staged || alone { // the calls of a plan are in order
			running.Wait()
			beside = 0
			c.user.aside(func() {
				r.run(c)
				done(c)
			})
			continue
		}
		if agents != isAgent || r.flow.apart(beside, c.tool.Labels) {
			running.Wait()
			beside = 0
		}
		agents = isAgent
		beside |= c.tool.Labels
		slots <- struct{}{}
		goroutine.StartIn(&running, func() {
			r.run(c)
			done(c)
			<-slots
		})
	}
	running.Wait()
}

// run makes one call and keeps its answer. No tool runs anywhere else.
func (r *round) run(c *call) {
	began, ctx := time.Now(), c.ctx
	defer r.flow.settle(c)
	defer func() {
		c.answer.event.Time, c.answer.event.Labels = time.Since(began), c.labels.Words()
		c.answer.event.Began = began.Sub(r.plan.Inv.Began)
	}()
	defer func() {
		if v := recover(); v != nil {
			c.answer = ownAnswer(event.ResultUnknown, "outcome unknown: a defect of toolpipe")
			r.stop(goroutine.NewPanic(v))
		}
	}()
	defer r.besideNested(ctx, c)()
	defer c.tool.Conn.Slot(ctx)()
	var server *mcp.Session
	var err error
	if !c.staged || c.tool.Edits() {
		server, err = c.tool.Conn.Use(ctx)
	}
	switch {
	case ctx.Err() != nil: // the run ended before this call's turn
		c.answer = notRun(ctx)
	case err != nil && c.task != nil:
		c.answer = lost()
	case err != nil:
		c.answer = failedAnswer(&c.tool.Conn.Server, err)
	default:
		r.send(ctx, c, server)
	}
}

// send sends a call that is still allowed, once, and keeps the result.
func (r *round) send(ctx context.Context, c *call, server *mcp.Session) {
	var bounds confine.Bounds
	if c.task == nil {
		bounds = r.recheck(ctx, c)
	}
	if c.answer == nil && c.staged {
		r.stage(confine.WithBounds(ctx, bounds), c, bounds, server)
		return
	}
	if c.answer != nil || c.task == nil && !r.note(ctx, c) {
		return
	}
	if r.flow.mayBeExposed(c.tool) {
		if what := r.box.Unjudged(c.tool); what != "" {
			r.emit(&event.Warning{Code: "egress_unknown", Message: what})
		}
	}
	if r.wholeResults && c.tool.Edits() {
		bounds.Change = &confine.Change{}
	}
	inside, ctx := r.commandOf(ctx, c, &bounds)
	ctx = confine.WithBounds(ctx, bounds)
	progress := func(g wire.Progress) {
		r.emit(&event.Progress{ID: eventID(c), Progress: g.Progress, Total: g.Total, Message: g.Message})
		r.flush()
		if c.progress != nil {
			c.progress(g)
		}
	}
	result, err := r.ask(ctx, c, server, progress)
	if inside.ended(c) {
		return
	}
	if unsent, ok := errors.AsType[*wire.NoReplyError](err); ok && !unsent.Sent && ctx.Err() != nil {
		c.answer = notRun(ctx) // the run ended between the record in the session and the first byte
		return
	}
	r.bring(c, result)
	if c.answer != nil {
		return // a nested run ended this run
	}
	if err != nil {
		c.tool.Conn.WarnOfLogin(r.emit, err, false)
		c.answer = failedAnswer(&c.tool.Conn.Server, err)
		return
	}
	if c.tool.Conn.Local != nil {
		if reason := toolserver.TakeAttention(result); reason != "" {
			r.plan.Inv.Notify(r.emit, reason)
		}
	}
	if r.separate {
		result.Separate()
	}
	c.answer = r.rendered(c, result)
	c.answer.result = result
	c.answer.event.Change = r.changed(bounds.Change)
	r.annotate(c)
}

func (r *round) ask(ctx context.Context, c *call, server *mcp.Session, progress func(wire.Progress)) (*wire.Result, error) {
	switch {
	case c.tool.Conn.Agent:
		return r.plan.agentOf(c.tool.Conn).call(ctx, r, c, progress)
	case c.tool.Kept:
		return c.tool.Conn.Own.Call(ctx, c.tool.Name, c.args, progress)
	case r.tape().Replays() && toolbox.IsTaped(&c.tool.Conn.Server):
		return r.recorded(ctx, c)
	case c.task != nil:
		return r.resumeTask(ctx, c, server, progress)
	}
	result, err := r.request(ctx, c, server, progress)
	if unsent, ok := errors.AsType[*wire.NoReplyError](err); ok && !unsent.Sent && server.Lost() != nil { // it was lost just before
		if server, err = c.tool.Conn.Use(ctx); err == nil {
			result, err = r.request(ctx, c, server, progress)
		}
	}
	r.stop(r.box.Look(c.tool.Conn, r.emit))
	if err == nil {
		c.tool.Conn.Answered()
		err = c.tool.Lost(result)
	}
	return result, err
}

// request sends the request of a call to its server.
func (r *round) request(ctx context.Context, c *call, server *mcp.Session, progress func(wire.Progress)) (*wire.Result, error) {
	if c.tool.Reader {
		return server.ReadForModel(ctx, jsontext.Text(jsontext.Member(c.args, "uri")), r.asksHost(c), r.box.Held(c.tool.Conn))
	}
	begins := func(id string) error { return r.beginTask(c, id, server.Protocol()) }
	return server.CallTool(ctx, &mcp.ToolCall{Tool: c.tool.Sent(), Args: c.args, Meta: c.trace.Meta(), Progress: progress, Task: begins, Ask: r.asksHost(c)})
}

func (r *round) result(c *call) error {
	r.keepTaped(c)
	r.mu.Lock()
	switch c.answer.event.Status {
	case event.ResultDenied:
		r.tally.Denied++
	case event.ResultInvalid, event.ResultNotRun, event.ResultStaged:
	case event.ResultUnknown:
		r.tally.Unknown = true
		fallthrough
	default:
		r.tally.Ran = true
	}
	if c.nested != nil {
		r.tally.Add(*c.nested)
	}
	r.mu.Unlock()
	c.answer.event.ID = eventID(c)
	return r.emit(&c.answer.event)
}

// finish announces and answers every call for which that was not done: the run ends before it runs.
// After an error of one output it goes on for the others, and returns the first error.
func (r *round) finish() (failed error) {
	for _, c := range r.calls {
		if !c.announced {
			failed = cmp.Or(failed, r.announce(c))
		}
	}
	for _, c := range r.calls {
		if c.answer == nil {
			c.answer = ownAnswer(event.ResultNotRun, "not run: the run ended")
		}
		failed = cmp.Or(failed, r.result(c))
	}
	return failed
}

// tellChanges adds the changed files that the model knows to the last result of the round, after
// all calls have ended. The content of files is private.
func (r *round) tellChanges(ctx context.Context, last *call) {
	if !last.answer.keepsOpen {
		if text, _ := goroutine.AwaitResult(ctx, func() (string, error) { return r.known.Changes(ctx), nil }); text != "" {
			last.answer.append(text)
			last.labels |= approve.Private
			last.answer.event.Labels = last.labels.Words()
			r.flow.add(last.labels, last.origin)
			r.stop(r.session.AddTo(last.ID, "\n"+text, last.answer.event.Labels))
		}
	}
}
