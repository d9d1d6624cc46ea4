package turn

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/local"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/toolbox"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// A command is a call with a program that can call tools of the run (--shell-tools). The calls of
// its programs are decided like those of the model, one by one. The results belong to the
// conversation of the call: its labels count for them, and theirs for it, from the moment when they
// come. Its programs are clients of a tool server at a door.
type command struct {
	round *round // of the call
	call  *call
	end   context.CancelCauseFunc // ends the call

	caller caller // of the calls of its programs

	once      sync.Once
	*programs // for the first program

	made   atomic.Int64  // calls, including denied and staged ones
	closed chan struct{} // closed with the door

	outcome
}

// outcome is what the calls of the programs mean for the call of the command.
type outcome struct {
	mu      sync.Mutex
	labels  approve.Labels // of the results
	stopped error          // ends the run
}

// programs answers the calls of the programs.
type programs struct {
	feed   *Feed
	server *toolserver.Server
	tools  []*toolbox.Tool // that they can call
}

// maxInnerCalls is the default of --max-inner-calls.
const maxInnerCalls = 1000

// endOfCommand is more than the end of a command takes.
const endOfCommand = 5 * time.Second

// doors are the open doors of a run, and the counts of all calls through them.
type doors struct {
	mu     sync.Mutex
	ctx    context.Context // nil: there was none
	close  context.CancelFunc
	open   sync.WaitGroup
	counts CallTally
}

// commandOf is the command of a call that may start programs, and the context of the call. The
// bounds of the call get what its programs can use. Without --shell-tools, and for any other call,
// the command is nil.
func (r *round) commandOf(ctx context.Context, c *call, bounds *confine.Bounds) (*command, context.Context) {
	if !c.tool.Declares().Runs {
		return nil, ctx
	}
	if bounds.Results = r.results.directory(ctx); !r.plan.Inv.Config.OpensDoors() {
		return nil, ctx
	}
	d := &command{round: r, call: c, caller: *r.caller, closed: make(chan struct{})} // the next round changes that one
	k := &d.caller
	k.command, k.emit = d, func(e event.Event) error { return r.emit(event.Inside(eventID(c), e)) }
	k.memory = memory{nested: r.nested}
	k.lines, k.planned = lineCalls{}, planned{said: r.planned.said}
	k.separate, k.maxBytes, k.echoes = true, 0, nil
	ctx, d.end = context.WithCancelCause(ctx)
	bounds.Door = d.host().Start
	return d, ctx
}

// host is the host of the program that the call starts.
func (d *command) host() *local.Door {
	return &local.Door{Open: d.round.plan.doors.begin, Serve: d.serve, Closed: func() {
		var counts CallTally
		if d.programs != nil {
			counts = d.feed.Close()
		}
		d.round.plan.doors.end(counts)
		close(d.closed)
	}}
}

// begin counts one more open door. The context ends with the run.
func (a *doors) begin() context.Context {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ctx == nil {
		a.ctx, a.close = context.WithCancel(context.Background())
	}
	a.open.Add(1)
	return a.ctx
}

func (a *doors) end(counts CallTally) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.counts.Add(counts)
	a.open.Done()
}

// CloseDoors ends the calls of programs, and counts them.
func (p *Plan) CloseDoors() CallTally {
	p.doors.mu.Lock()
	if p.doors.ctx != nil {
		p.doors.close()
	}
	p.doors.mu.Unlock()
	p.doors.open.Wait()
	p.doors.mu.Lock()
	defer p.doors.mu.Unlock()
	return p.doors.counts
}

func (d *command) serve(ctx context.Context, client int, r io.Reader, w io.Writer) {
	d.once.Do(d.open)
	_ = d.server.Serve(ctx, client, r, w, 0) // an error is about this client
}

func (d *command) open() {
	r := d.round
	d.programs = &programs{d.caller.newFeed(r.turn, d.stop), toolserver.New("toolpipe", r.plan.Inv.Config.Version), r.box.ForCommands()}
	d.feed.Ends = "the run ends"
	d.server.Meta = toolbox.AppendFarServers(nil, r.box.FarServers())
	r.plan.Locked(func() { d.server.Replace(r.box.Listing(d.tools, true)) })
	d.server.Front = &toolserver.Front{
		Call:      d.answer,
		Only:      func(params []byte) string { return jsontext.Text(jsontext.Member(params, "_meta", local.OnlyKey)) },
		Request:   func(context.Context, *toolserver.HostRequest) ([]byte, error) { return nil, errNoTool },
		Subscribe: func(context.Context, string, bool) error { return errNoTool },
	}
}

var errNoTool = &wire.RPCError{Code: wire.CodeMethodNotFound, Message: "a program in a command can only list and call tools"}

// answer takes a call of a program.
func (d *command) answer(ctx context.Context, asked *toolserver.HostCall) func() (*wire.Result, error) {
	most := maxInnerCalls
	if n := d.round.plan.Inv.Config.MaxInnerCalls; n > 0 {
		most = n
	}
	if d.made.Add(1) > int64(most) {
		return func() (*wire.Result, error) {
			return refusal(event.ResultDenied, Prefix+"tool call denied: the command has made "+strconv.Itoa(most)+" calls; --max-inner-calls allows more"), nil
		}
	}
	own := *asked
	own.Meta, own.Ask, own.Settled = nil, nil, nil // a program neither asks nor holds up another one
	wait := d.feed.Call(ctx, &own)
	return func() (*wire.Result, error) {
		o := wait()
		d.mu.Lock()
		d.labels |= o.Labels
		stopped := d.stopped
		d.mu.Unlock()
		if stopped != nil {
			<-ctx.Done() // the program must not go on before it is ended
			return nil, stopped
		}
		switch {
		case o.Result != nil:
			return o.Result, nil
		case o.Status == event.ResultStaged:
			return toolserver.TextResult(o.Text()), nil
		}
		return refusal(o.Status, o.Text()), nil
	}
}

// refusal is the answer to a call that has no result.
func refusal(status event.ResultStatus, text string) *wire.Result {
	r := toolserver.TextResult(text)
	r.IsError, r.Meta = true, toolbox.OutcomeMeta(status)
	return r
}

// stop ends the command because of an error that ends the run: nobody could approve a call.
func (d *command) stop(err error) {
	d.mu.Lock()
	d.stopped = err
	d.mu.Unlock()
	select {
	case <-d.call.done: // its program runs in the background
		d.round.plan.Stop(err)
	default:
		d.round.stop(err)
		d.end(err)
	}
}

// ended gives the call c the labels of the results that its programs got. It reports whether the
// command was ended because of one of their calls, and answers c then.
func (d *command) ended(c *call) bool {
	if d == nil {
		return false
	}
	defer d.end(nil)
	d.mu.Lock()
	stopped := d.stopped
	c.labels |= d.labels
	d.mu.Unlock()
	if stopped == nil {
		return false
	}
	goroutine.Await(d.closed, endOfCommand) // until then its programs wait for an answer
	d.round.bring(c, nil)
	c.answer = ownAnswer(event.ResultFailed, "the command was ended: "+failure.Of(stopped).Message)
	return true
}

// find finds the tool that a call names, if the caller may use it; nil otherwise. elsewhere says
// where the tool can be called.
func (r *round) find(name string) (t *toolbox.Tool, elsewhere string) {
	if r.command != nil {
		for _, t := range r.command.tools {
			if t.ModelName == name {
				return t, ""
			}
		}
		return nil, ""
	}
	if t = r.box.Tool(name); t == nil || r.box.InRequest(t) {
		return t, ""
	}
	return nil, fmt.Sprintf("; call it in a command: toolpipe --call %s key=value", name)
}
