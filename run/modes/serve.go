package modes

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/turn"
)

// serveGrace is what calls that run get when standard input ends.
const serveGrace = 5 * time.Second

// A host is the client of --serve.
type host struct {
	*mode
	feed  *turn.Feed
	lists sync.Map // by their methods: the resources, templates and prompts as the host listed them last

	server    *toolserver.Server
	relisting sync.Mutex // held while the tools of a server are listed again
}

// offered are the tools as the host gets them.
func (h *host) offered() (all []wire.Tool) {
	for _, t := range h.box.All() {
		if !t.Withheld {
			offered := t.Tool
			offered.Name = t.ModelName
			all = append(all, offered)
		}
	}
	return all
}

// serve is the mode --serve: a server on standard input and output until standard
// input ends.
func (m *mode) serve(ctx context.Context) error {
	v := m.inv
	if v.Streams.InTerminal {
		v.Face.Say("--serve speaks MCP on standard input and output: a host starts it, see --help=serve")
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	h := &host{mode: m, feed: m.plan.NewFeed(stop)}
	server := toolserver.New("toolpipe", v.Config.Version)
	h.server, server.Instructions = server, m.instructions()
	server.Front = &toolserver.Front{
		Call: h.call, Request: h.request, Subscribe: h.subscribe, Notified: h.notified, Started: h.resubscribe,
		ToolsChange: h.follows(), Completes: h.completes(),
	}
	for _, t := range h.offered() {
		server.Add(t, nil)
	}
	v.Host.Store(server)
	err := server.Serve(ctx, v.Streams.In, v.Streams.Out, serveGrace)
	m.tally.Add(h.feed.Close())
	if e, ok := errors.AsType[*toolserver.WriteError](err); ok {
		return failure.Output("standard output", e.Cause)
	}
	if err != nil && ctx.Err() == nil {
		return failure.Usage("standard input: %s", failure.Cause(err))
	}
	return err
}

// call takes a call of the host. The answer is a function that waits for it.
func (h *host) call(ctx context.Context, c *toolserver.HostCall) func() (*wire.Result, error) {
	wait := h.feed.Call(ctx, c)
	return func() (*wire.Result, error) {
		o := wait()
		switch {
		case o.Tool == nil && o.Status == event.ResultInvalid:
			return nil, &wire.RPCError{Code: wire.CodeInvalidParams, Message: "no tool is named " + strconv.Quote(c.Name)}
		case o.Refusal != nil:
			return nil, h.passedOn(o.Refusal)
		case o.Result != nil:
			return h.veiled(o.Result), nil
		}
		result := toolserver.TextResult(o.Text())
		result.IsError = o.Status != event.ResultStaged
		return result, nil
	}
}

// passedOn is an error of a server as the host gets it: without secrets.
func (h *host) passedOn(e *wire.RPCError) *wire.RPCError {
	find := h.inv.Secrets.Message()
	return &wire.RPCError{Code: e.Code, Message: find.HideString(e.Message), Data: find.HideJSON(e.Data)}
}

// veiled is a result of a server as the host gets it: without secrets.
func (h *host) veiled(r *wire.Result) *wire.Result {
	find := h.inv.Secrets.Content()
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
