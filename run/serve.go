package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strconv"
	"sync"
	"time"

	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
)

// serveGrace is what calls that run get when standard input ends.
const serveGrace = 5 * time.Second

// host is the client of --serve and its calls. They are one round without an end:
// each call is decided when it comes, in order, and then runs as the calls of a
// model's turn do.
type host struct {
	*connector
	round    *round
	decide   chan *call    // the calls that have come and have no verdict
	schedule chan *call    // the calls that may run
	over     chan struct{} // closed when the server has ended
	stop     context.CancelCauseFunc
	count    int      // numbers the calls
	lists    sync.Map // by their methods: the resources, templates and prompts as the host listed them last
}

// maxWaiting is more calls than the server takes at once, so that to hand one on
// never waits.
const maxWaiting = 2048

// serve is the mode --serve: a server on standard input and output until standard
// input ends.
func (in *inspection) serve(ctx context.Context) error {
	if in.streams.InTerminal {
		in.face.Say("--serve speaks MCP on standard input and output: a host starts it, see --help=serve")
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	h := &host{connector: in.connector, stop: stop, decide: make(chan *call, maxWaiting), schedule: make(chan *call, maxWaiting), over: make(chan struct{})}
	h.round = in.newCaller(nil).newRound(1, nil, nil)
	h.round.maxBytes = 0
	if a := in.gate.Approver; a != nil {
		a.Held = &h.round.mu
	}
	server := toolserver.New("toolpipe", in.cfg.Version)
	server.Front = &toolserver.Front{Call: h.call, Request: h.request}
	for _, t := range in.box.all {
		if !t.withheld {
			offered := t.Tool
			offered.Name = t.name
			server.Add(offered, nil)
		}
	}
	in.host.Store(server)
	goroutine.Start(func() {
		for c := range h.each(h.decide) {
			h.judge(c)
		}
	})
	goroutine.Start(func() { h.round.schedule(h.each(h.schedule), h.answered) })
	err := server.Serve(ctx, in.streams.In, in.streams.Out, serveGrace)
	close(h.over)
	h.round.mu.Lock()
	defer h.round.mu.Unlock()
	h.round.tally.unknown = false // the host was told of each call
	in.tally.add(h.round.tally)
	if e, ok := errors.AsType[*toolserver.WriteError](err); ok {
		return failure.Output("standard output", e.Cause)
	}
	if err != nil && ctx.Err() == nil {
		return failure.Usage("standard input: %s", failure.Cause(err))
	}
	return err
}

// each gives the calls that come until the server ends.
func (h *host) each(calls <-chan *call) iter.Seq[*call] {
	return func(yield func(*call) bool) {
		for {
			select {
			case c := <-calls:
				if !yield(c) {
					return
				}
			case <-h.over:
				return
			}
		}
	}
}

// passedOn is an error of a server as the host gets it: without secrets.
func (h *host) passedOn(e *wire.RPCError) *wire.RPCError {
	find := h.secrets.Message()
	return &wire.RPCError{Code: e.Code, Message: find.HideString(e.Message), Data: find.HideJSON(e.Data)}
}

// veiled is a result of a server as the host gets it: without secrets.
func (h *host) veiled(r *wire.Result) *wire.Result {
	find := h.secrets.Content()
	if find == nil {
		return r
	}
	v := *r
	v.Structured, v.Meta = find.HideJSON(r.Structured), find.HideJSON(r.Meta)
	v.Content = slices.Clone(r.Content)
	for i := range v.Content {
		b := &v.Content[i]
		b.Text, b.Raw = find.HideJSON(b.Text), find.HideJSON(b.Raw)
	}
	return &v
}

// call takes a call of the host. The answer is a function that waits for it.
func (h *host) call(ctx context.Context, name string, args json.RawMessage, progress func(wire.Progress)) func() (*wire.Result, error) {
	h.count++
	c := &call{
		Call: stream.Call{ID: "call-" + strconv.Itoa(h.count), Name: name, Arguments: args},
		ctx:  ctx, progress: progress, done: make(chan struct{}),
	}
	h.decide <- c
	return func() (*wire.Result, error) {
		<-c.done
		a := c.answer
		switch {
		case c.tool == nil && a.event.Status == event.ResultInvalid:
			return nil, &wire.RPCError{Code: wire.CodeInvalidParams, Message: "no tool is named " + strconv.Quote(name)}
		case a.refusal != nil:
			return nil, h.passedOn(a.refusal)
		case a.result != nil:
			return h.veiled(a.result), nil
		}
		result := toolserver.TextResult(a.text())
		result.IsError = true
		return result, nil
	}
}

// judge gives a call its verdict, and hands it on if it may run.
func (h *host) judge(c *call) {
	goesOn, err := h.round.judge(c.ctx, c)
	switch {
	case c.ctx.Err() != nil:
		err = nil // a call that nobody waits for does not end the server
		c.answer = notRun(c.ctx)
	case err != nil:
		c.answer = notRun(c.ctx)
	case !goesOn:
		stop := h.round.unapproved(nil, c, *c.verdict)
		c.answer = ownAnswer(event.ResultNotRun, "not run: "+stop.Message+"; it would run with "+approvalHint(c.tool.name, *c.verdict)+"; the server ends")
		err = stop
	}
	if c.answer == nil {
		h.schedule <- c
		return
	}
	h.round.flow.settle(c) // it may have been allowed before the host cancelled it
	h.answered(c)
	if err != nil {
		h.stop(err)
	}
}

// answered reports the answer of a call. A defect, and a verdict that was taken
// again and ends the run, end the server.
func (h *host) answered(c *call) {
	err := h.round.result(c)
	close(c.done)
	h.round.mu.Lock()
	defer h.round.mu.Unlock()
	if err = cmp.Or(h.round.stopped, err); err != nil {
		h.stop(err)
	}
}
