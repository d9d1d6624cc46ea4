package turn

import (
	"cmp"
	"context"
	"iter"
	"strconv"

	"toolpipe/approve"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/event"
	"toolpipe/run/toolbox"
	"toolpipe/run/trace"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// An Outcome is what a call without a model came to.
type Outcome struct {
	Tool    *toolbox.Tool // nil: there is none of that name
	Status  event.ResultStatus
	Result  *wire.Result   // as the tool gave it; nil if it gave none
	Refusal *wire.RPCError // the JSON-RPC error that the server answered instead; nil for none
	Denial  string         // why it was denied, for the user

	text []byte // a JSON string
}

func outcomeOf(c *call) Outcome {
	a := c.answer
	return Outcome{Tool: c.tool, Status: a.event.Status, Result: a.result, Refusal: a.refusal, Denial: c.denial, text: a.parts[0].JSON}
}

// Text is what a model would get, without pictures.
func (o *Outcome) Text() string { return jsontext.Unquote(o.text) }

// CallOnce makes one call as a model would, with its approval. The result is whole unless
// --max-result-bytes is given, for no model has to read it.
func (p *Plan) CallOnce(ctx context.Context, t *toolbox.Tool, args []byte) (Outcome, CallTally, error) {
	k := p.newCaller(nil)
	k.separate = true
	if p.Inv.Config.MaxResultBytes == 0 {
		k.maxBytes = 0
	}
	r := k.newRound(0, []stream.Call{{ID: "call-1", Name: t.ModelName, Arguments: args}}, nil)
	err := r.alone(ctx)
	return outcomeOf(r.calls[0]), r.tally, err
}

// alone decides and runs the calls of a round that no loop has asked for.
func (r *round) alone(ctx context.Context) error {
	err := r.decide(ctx)
	if err != nil {
		r.finish()
	} else {
		err = r.execute(ctx)
	}
	r.tally.Labels, _ = r.flow.before(nil)
	return err
}

// A Feed answers calls that come one by one, as those of a host do. They are one round
// without an end: each call is decided when it comes, in order, and then runs as the
// calls of a model's turn do.
type Feed struct {
	round    *round
	decide   chan *call    // the calls that have come and have no verdict
	schedule chan *call    // the calls that may run
	over     chan struct{} // closed by Close
	stop     context.CancelCauseFunc
	count    int // numbers the calls
}

// maxWaiting is more calls than may wait at once, so that to hand one on never waits.
const maxWaiting = 2048

// NewFeed begins to answer calls. stop is called with what ends the run: a defect, and a
// call that is unapproved where that ends it.
func (p *Plan) NewFeed(stop context.CancelCauseFunc) *Feed {
	f := &Feed{stop: stop, decide: make(chan *call, maxWaiting), schedule: make(chan *call, maxWaiting), over: make(chan struct{})}
	f.round = p.newCaller(nil).newRound(1, nil, nil)
	f.round.maxBytes = 0
	goroutine.Start(func() {
		for c := range f.each(f.decide) {
			c.user.aside(func() { f.judge(c) })
		}
	})
	goroutine.Start(func() { f.round.schedule(f.each(f.schedule), f.answered) })
	return f
}

// Close ends the feed, whose calls have all been answered, and returns what was counted.
func (f *Feed) Close() CallTally {
	close(f.over)
	f.round.mu.Lock()
	defer f.round.mu.Unlock()
	f.round.tally.Unknown = false // who asked was told of each call
	f.round.tally.Labels, _ = f.round.flow.before(nil)
	return f.round.tally
}

// Call takes a call. The answer is a function that waits for it. Call itself is called
// from one goroutine at a time, in the order of the calls.
func (f *Feed) Call(ctx context.Context, asked *toolserver.HostCall) func() Outcome {
	f.count++
	c := &call{
		Call: stream.Call{ID: "call-" + strconv.Itoa(f.count), Name: asked.Name, Arguments: asked.Args},
		ctx:  ctx, progress: asked.Progress, done: make(chan struct{}),
	}
	text := func(key string) string { return jsontext.Text(jsontext.Member(asked.Meta, key)) }
	c.trace = trace.Parse(text("traceparent"), text("tracestate"))
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
	f.decide <- c
	return func() Outcome {
		<-c.done
		return outcomeOf(c)
	}
}

// hostUser is the user of the host whose call it is.
type hostUser struct {
	ask  toolserver.Asker // asks him; nil: nobody can
	asks chan struct{}    // takes an element when he is asked, one at most
}

// aside does something for a call. It returns when that is done, or the user is asked
// meanwhile, who may take minutes or, at a host that does not come back, give no answer:
// other calls do not wait for that.
func (u *hostUser) aside(do func()) {
	if u.ask == nil {
		do()
		return
	}
	select {
	case <-u.asks: // what is left of another question
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

// Bring puts into the conversation the labels of what came from a server otherwise than
// as the result of a call.
func (f *Feed) Bring(labels approve.Labels, from event.Source) { f.round.flow.add(labels, from) }

// Locked does something while no verdict is being taken.
func (f *Feed) Locked(do func()) {
	f.round.lock()
	defer f.round.unlock()
	do()
}

// each gives the calls that come until the feed is closed.
func (f *Feed) each(calls <-chan *call) iter.Seq[*call] {
	return func(yield func(*call) bool) {
		for {
			select {
			case c := <-calls:
				if !yield(c) {
					return
				}
			case <-f.over:
				return
			}
		}
	}
}

// judge gives a call its verdict, and hands it on if it may run.
func (f *Feed) judge(c *call) {
	goesOn, err := f.round.judge(c.ctx, c)
	switch {
	case c.ctx.Err() != nil:
		err = nil // a call that nobody waits for does not end the run
		c.answer = notRun(c.ctx)
	case err != nil:
		c.answer = notRun(c.ctx)
	case !goesOn:
		stop := f.round.unapproved(nil, c, *c.verdict)
		c.answer = ownAnswer(event.ResultNotRun, "not run: "+stop.Message+"; it would run with "+ApprovalHint(c.tool.ModelName, *c.verdict)+"; the server ends")
		err = stop
	}
	if c.answer == nil {
		f.schedule <- c
		return
	}
	f.round.flow.settle(c) // it may have been allowed before it was cancelled
	f.answered(c)
	if err != nil {
		f.stop(err)
	}
}

// answered reports the answer of a call. A defect, and a verdict that was taken
// again and ends the run, end the run.
func (f *Feed) answered(c *call) {
	err := f.round.result(c)
	close(c.done)
	f.round.mu.Lock()
	defer f.round.mu.Unlock()
	if err = cmp.Or(f.round.stopped, err); err != nil {
		f.stop(err)
	}
}
