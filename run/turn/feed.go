package turn

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"sync"

	"toolpipe/approve"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// An Outcome is the result of a call without a model.
type Outcome struct {
	Tool    *toolbox.Tool // nil: unknown name
	Status  event.ResultStatus
	Result  *wire.Result   // the tool's result; nil for none
	Refusal *wire.RPCError // the server's JSON-RPC error; nil for none
	Denial  string         // why it was denied, for the user
	Labels  approve.Labels // of the result

	text []byte // a JSON string
}

func outcomeOf(c *call) Outcome {
	a := c.answer
	return Outcome{Tool: c.tool, Status: a.event.Status, Result: a.result, Refusal: a.refusal, Denial: c.denial, Labels: c.labels, text: a.parts[0].JSON}
}

// Text is the text that a model would get, without pictures.
func (o *Outcome) Text() string { return jsontext.Unquote(o.text) }

// Failure says for the user why the call did not end well.
func (o *Outcome) Failure() string {
	switch o.Status {
	case event.ResultError:
		return "the tool reported an error"
	case event.ResultDenied:
		if o.Denial != "" {
			return "denied: " + o.Denial
		}
	}
	return strings.TrimPrefix(o.Text(), Prefix)
}

// CallOnce makes one call as a model would, including approval.
func (p *Plan) CallOnce(ctx context.Context, t *toolbox.Tool, args []byte) (Outcome, CallTally, error) {
	k := p.newCaller(nil)
	k.nested = nil // the run ends with the call
	return k.once(ctx, stream.Call{ID: "call-1", Name: t.ModelName, Arguments: args})
}

// once decides and runs one call without a loop.
func (c *caller) once(ctx context.Context, asked stream.Call) (Outcome, CallTally, error) {
	c.separate = true
	r := c.newRound(0, []stream.Call{asked}, nil)
	err := r.decide(ctx)
	if err != nil {
		r.finish()
	} else {
		err = r.execute(ctx)
	}
	r.tally.Labels, _ = r.flow.before(nil)
	return outcomeOf(r.calls[0]), r.tally, err
}

// A Feed answers calls that come one by one, as from a host. They form one round without an end:
// each call is decided when it comes, in order, and then runs like the calls of a model's turn.
type Feed struct {
	round    *round
	decide   waiting // calls without a verdict
	schedule waiting // calls that may run
	stop     context.CancelCauseFunc
	leave    context.CancelFunc // ends everything that was kept for the client

	// Ends says what ends because of an unapproved call. It is set before the first call.
	Ends string
}

// waiting is a queue of calls. The client limits its length.
type waiting struct {
	more  chan struct{} // contains an element if there may be a call
	mu    sync.Mutex
	calls []*call
	over  bool // no further call comes
}

func newWaiting() waiting { return waiting{more: make(chan struct{}, 1)} }

// add adds a call. nil ends each.
func (w *waiting) add(c *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c == nil {
		w.over = true
	} else {
		w.calls = append(w.calls, c)
	}
	select {
	case w.more <- struct{}{}:
	default:
	}
}

// each yields the calls as they come, until the last one.
func (w *waiting) each(yield func(*call) bool) {
	for range w.more {
		w.mu.Lock()
		calls, over := w.calls, w.over
		w.calls = nil
		w.mu.Unlock()
		for i, c := range calls {
			calls[i] = nil // frees its result before the others have one
			if !yield(c) {
				return
			}
		}
		if over {
			return
		}
	}
}

// NewFeed starts to answer the calls of a host. It calls stop with an error that ends the feed: a
// defect or an unapproved call. connection is the number of the host's connection; 0: the only one.
func (p *Plan) NewFeed(connection int, stop context.CancelCauseFunc) *Feed {
	k, ends := p.newCaller(nil), "the server ends"
	if emit := k.emit; connection > 0 {
		ends = "the connection ends"
		k.emit = func(e event.Event) error { return emit(&event.OfConnection{Connection: connection, Event: e}) }
	}
	var leave context.CancelFunc
	k.client.ctx, leave = context.WithCancel(context.Background())
	f := k.newFeed(1, stop)
	f.leave, f.Ends = leave, ends
	return f
}

// newFeed starts to answer the calls that are added to the feed.
func (c *caller) newFeed(turn int, stop context.CancelCauseFunc) *Feed {
	f := &Feed{round: c.newRound(turn, nil, nil), stop: stop, decide: newWaiting(), schedule: newWaiting(), leave: func() {}}
	goroutine.StartMany(func() {
		for c := range f.decide.each {
			c.user.aside(func() { f.judge(c) })
		}
	})
	goroutine.StartMany(func() { f.round.schedule(f.schedule.each, f.answered) })
	return f
}

// Close ends the feed after all calls are answered, and returns its counts.
func (f *Feed) Close() CallTally {
	f.leave()
	f.decide.add(nil)
	f.schedule.add(nil)
	f.round.mu.Lock()
	defer f.round.mu.Unlock()
	if f.round.command == nil {
		f.round.tally.Unknown = false // each caller knows already
	}
	f.round.tally.Labels, _ = f.round.flow.before(nil)
	return f.round.tally
}

// Call accepts a call. The returned function waits for the answer. Call is called by one goroutine
// at a time, in the order of the calls.
func (f *Feed) Call(ctx context.Context, asked *toolserver.HostCall) func() Outcome {
	c := &call{
		Call: stream.Call{ID: "call-" + strconv.FormatInt(f.round.plan.hosted.Add(1), 10), Name: asked.Name, Arguments: asked.Args},
		ctx:  ctx, progress: asked.Progress, done: make(chan struct{}), settled: asked.Settled,
	}
	text := func(key string) string { return jsontext.Text(jsontext.Member(asked.Meta, key)) }
	c.trace = config.ParseTrace(text("traceparent"), text("tracestate"))
	if asked.Ask != nil {
		c.user.asks = make(chan struct{}, 1)
		c.user.ask = func(ctx context.Context, form wire.Form) (toolserver.Answer, error) {
			select {
			case c.user.asks <- struct{}{}:
			default:
			}
			return asked.Ask(ctx, form)
		}
	}
	return f.add(c)
}

// Add is Call without a host, with this id.
func (f *Feed) Add(ctx context.Context, id event.ID, name string, args []byte) func() Outcome {
	text, number := id.Number()
	return f.add(&call{Call: stream.Call{ID: text, Name: name, Arguments: args}, number: number, ctx: ctx, done: make(chan struct{})})
}

func (f *Feed) add(c *call) func() Outcome {
	f.decide.add(c)
	return func() Outcome {
		<-c.done
		return outcomeOf(c)
	}
}

type hostUser struct {
	ask  toolserver.Asker // nil: nobody can be asked
	asks chan struct{}    // gets an element, at most one, when the user is asked
}

// aside calls do for a call. It returns when do has returned or when do asks the user. The user may
// take minutes, or never answer if the host is gone, so other calls do not wait for this.
func (u *hostUser) aside(do func()) {
	if u.ask == nil {
		do()
		return
	}
	select {
	case <-u.asks: // left by another question
	default:
	}
	done := make(chan struct{})
	goroutine.Start(func() {
		defer close(done)
		do()
	})
	select {
	case <-done:
	case <-u.asks:
	}
}

// Bring adds the labels of data from a server that is not the result of a call to the conversation.
func (f *Feed) Bring(labels approve.Labels, from event.Source) { f.round.flow.add(labels, from) }

// Locked calls do while no verdict is being taken.
func (p *Plan) Locked(do func()) {
	p.verdict.Lock()
	defer p.verdict.Unlock()
	do()
}

// judge decides a call, and schedules it if it may run.
func (f *Feed) judge(c *call) {
	goesOn, err := f.round.judge(c.ctx, c)
	switch {
	case c.ctx.Err() != nil:
		err = nil // nobody waits for this call, so it does not end the run
		c.answer = notRun(c.ctx)
	case err != nil:
		c.answer = notRun(c.ctx)
	case !goesOn:
		stop := f.round.unapproved(nil, c, *c.verdict)
		c.answer = ownAnswer(event.ResultNotRun, "not run: "+stop.Message+"; it would run with "+ApprovalHint(c.tool.ModelName, *c.verdict)+"; "+f.Ends)
		err = stop
	}
	if c.answer == nil {
		f.schedule.add(c)
		return
	}
	f.round.flow.settle(c) // it may have been allowed before it was cancelled
	if err != nil {
		f.stop(err) // when the caller gets the answer, the feed has ended
	}
	f.answered(c)
}

// answered reports the answer of a call, and waits while the host leaves too much unread. A defect,
// or a second verdict that ends the run, ends the run.
func (f *Feed) answered(c *call) {
	err := f.round.result(c)
	close(c.done)
	f.round.mu.Lock()
	err = cmp.Or(f.round.stopped, err)
	f.round.mu.Unlock()
	if err != nil {
		f.stop(err)
	}
	if c.settled != nil {
		<-c.settled
	}
}
