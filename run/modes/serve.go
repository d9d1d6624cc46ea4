package modes

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"toolpipe/mcp/local"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/toolbox"
	"toolpipe/run/turn"
)

// serveGrace is how long running calls may go on after standard input ends.
const serveGrace = 5 * time.Second

// A host is the clients of --serve: a single client, or the clients of --listen.
type host struct {
	*mode
	feeds sync.Map // by client number: each answers the calls of one client
	lists sync.Map // by method: resources, templates and prompts as a client last listed them

	server    *toolserver.Server
	relisting sync.Mutex // held while the tools of a server are listed again
}

// feed answers the calls of the client with this number; nil if the client is gone.
func (h *host) feed(client int) *turn.Feed {
	feed, _ := h.feeds.Load(client)
	f, _ := feed.(*turn.Feed)
	return f
}

func (h *host) offered() []wire.Tool { return h.box.Listing(h.box.Direct(), h.socket != nil) }

func (m *mode) serve(ctx context.Context) error {
	v := m.inv
	h := &host{mode: m, server: toolserver.New("toolpipe", v.Config.Version)}
	h.server.Instructions = m.instructions()
	h.server.Front = &toolserver.Front{
		Call: h.call, Request: h.request, Subscribe: h.subscribe,
		ToolsChange: slices.ContainsFunc(h.box.Conns, h.box.Follows), Completes: h.completes(),
	}
	if m.socket != nil {
		h.server.Meta = toolbox.AppendFarServers(nil, h.box.FarServers())
	}
	h.server.Replace(h.offered())
	v.Host.Store(&invocation.Host{Announced: h.announced, Restarting: h.restarting, Log: h.server.Log})
	if m.socket != nil {
		v.Face.Notef("listening on %s", m.cfg.Listen)
		ctx, stop := context.WithCancelCause(ctx)
		defer stop(nil)
		err := m.socket.Serve(ctx, m.cfg.Idle, func(ctx context.Context, n int, c io.ReadWriter) { h.connection(ctx, n, c, stop) })
		if err != nil && ctx.Err() == nil {
			return failure.Usage("--listen %s: %s", m.cfg.Listen, failure.Cause(err))
		}
		return err
	}
	if v.Streams.InTerminal {
		v.Face.Say("--serve speaks MCP on standard input and output: a host starts it, see --help=serve")
	}
	err := h.client(ctx, 0, v.Streams.In, v.Streams.Out)
	if e, ok := errors.AsType[*toolserver.WriteError](err); ok {
		return failure.Output("standard output", e.Cause)
	}
	if e, ok := errors.AsType[*readError](err); ok {
		return failure.Usage("standard input: %s", failure.Cause(e.error))
	}
	return err
}

// openSocket creates the socket of --listen before any server starts. Early clients wait until they
// are accepted.
func (m *mode) openSocket(ctx context.Context) (err error) {
	path, _ := local.Path(m.cfg.Listen)
	if m.socket, err = local.Inherited(path, m.cfg.Getenv); err == nil && m.socket == nil {
		m.socket, err = local.Listen(ctx, path)
	}
	return listenError(m.cfg.Listen, err)
}

func listenError(address string, err error) error {
	switch {
	case err == nil, failure.IsCancelled(err):
		return err
	case errors.Is(err, local.ErrTaken):
		return failure.UsageError([]string{"-t NAME=" + config.ShellQuote(address) + " uses the server there"}, "--listen %s: %v", address, err)
	}
	return failure.UsageError([]string{"choose a directory that only you can write to, such as $XDG_RUNTIME_DIR"}, "--listen %s: %s", address, failure.Cause(err))
}

// connection serves client number n. An error ends only this client, except a defect or a failing
// log, which stop gets.
func (h *host) connection(ctx context.Context, n int, c io.ReadWriter, stop context.CancelCauseFunc) {
	name := "connection " + strconv.Itoa(n)
	h.inv.Face.VerboseLine(name + " begins")
	err := h.client(ctx, n, c, c)
	h.inv.Face.VerboseLine(name + " ends")
	_, writing := errors.AsType[*toolserver.WriteError](err)
	_, reading := errors.AsType[*readError](err)
	switch {
	case err == nil, writing, reading, ctx.Err() != nil:
	case failure.Of(err).Status == failure.StatusUnapproved:
		h.inv.Emit(&event.OfConnection{Connection: n, Event: &event.Warning{Code: "connection_ended", Message: name + " is ended: " + failure.Of(err).Message}})
	default:
		stop(err)
	}
}

type readError struct{ error }

// client serves one client until it sends no more. The error says why it ended earlier.
func (h *host) client(ctx context.Context, connection int, in io.Reader, out io.Writer) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	feed := h.plan.NewFeed(connection, stop)
	h.feeds.Store(connection, feed)
	defer h.feeds.Delete(connection)
	err := h.server.Serve(ctx, connection, in, out, serveGrace)
	if err != nil && ctx.Err() == nil {
		if _, writing := errors.AsType[*toolserver.WriteError](err); !writing {
			err = &readError{err}
		}
	}
	counts := feed.Close()
	h.plan.Locked(func() { h.tally.Add(counts) })
	return err
}

func (h *host) call(ctx context.Context, c *toolserver.HostCall) func() (*wire.Result, error) {
	wait := h.feed(c.Client).Call(ctx, c)
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
		if h.socket != nil && o.Status == event.ResultUnknown {
			result.Meta = toolbox.OutcomeMeta(o.Status)
		}
		return result, nil
	}
}

// passedOn is a server's error for the host, without secrets.
func (h *host) passedOn(e *wire.RPCError) *wire.RPCError {
	find := h.inv.Secrets.Message()
	return &wire.RPCError{Code: e.Code, Message: find.HideString(e.Message), Data: find.HideJSON(e.Data)}
}

// veiled is a server's result for the host, without secrets.
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
