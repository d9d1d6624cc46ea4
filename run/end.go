package run

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream/goroutine"
)

// end writes the end event, closes everything that was opened and returns the error of the run.
// Servers end after the last byte is written, so the reader of the answer does not wait for them.
func (r *runner) end(ctx context.Context, err error) error {
	if p, ok := errors.AsType[*goroutine.Panic](context.Cause(ctx)); ok {
		err = p // the panic is the cause of any other error
	}
	if err == nil {
		err = r.inv.Flush()
	}
	if cerr := r.plan.CloseClient(); cerr != nil {
		unwritten := failure.Output("--record "+config.ShellQuote(r.inv.Config.Record), cerr)
		if err == nil {
			err = unwritten
		} else {
			r.inv.Warn("not_recorded", "", unwritten.Message)
		}
	}
	if _, panicked := errors.AsType[*goroutine.Panic](err); !panicked && !failure.IsCancelled(err) {
		r.plan.Box.Settle()
	}
	inner := r.plan.CloseDoors()
	r.tally.Denied += inner.Denied
	r.tally.Unknown = r.tally.Unknown || inner.Unknown
	if r.tally.Staged = r.plan.CloseStaging(); r.tally.Staged > 0 {
		r.inv.Face.Notef("staged calls: %d; toolpipe --apply %s --dry-run shows them", r.tally.Staged, config.ShellQuote(r.inv.Config.Stage))
	}
	if r.plan.Box.Sandboxed() { // their programs must not change anything after the last look
		if left := r.endPrograms(); left > 0 {
			r.inv.Warn("sandbox_partial", "", "programs that cannot be ended may still change files: "+strconv.Itoa(left))
		}
	}
	if changed := r.plan.Box.LookLast(r.inv.Emit); err == nil {
		err = changed
	}
	for _, c := range r.plan.Box.Conns {
		c.WarnOfLogin(r.inv.Emit, err, true)
	}
	r.conversation.warnOfLength()
	e := r.endEvent(err)
	e.InnerCalls = inner.ToolCalls
	e.Protected = r.plan.Box.Changed()
	r.plan.Box.EmitStart()
	if werr := r.inv.Emit(e); werr != nil {
		e = e.WithOutputError(werr)
	}
	if e.Status == failure.StatusInterrupted {
		r.inv.Face.Interrupted() // AfterContext may call it only after the end
	}
	if !r.plan.Box.Sandboxed() {
		r.endPrograms()
	}
	r.plan.CloseResults()
	r.inv.Close()
	r.conversation.session.Close()
	if e.Err == nil {
		return nil
	}
	return e.Err
}

// endPrograms ends all sessions, and all processes that were started. It returns how many
// processes it cannot end.
func (r *runner) endPrograms() int {
	r.inv.Face.Awaiting("waiting for the servers to end")
	r.plan.Box.Close()
	return r.inv.Config.Processes.Sweep(2 * time.Second)
}

// endEvent reports how the run ended. A call with an unknown outcome decides the status unless
// there is an answer.
func (r *runner) endEvent(err error) *event.End {
	e := &event.End{Status: failure.StatusOK, Origin: r.origin(), Time: time.Since(r.began)}
	t := &r.tally
	e.Text, e.Finish, e.Labels = t.Text, t.Finish, t.Labels.Words()
	e.Counts = event.Counts{Turns: t.Turns, Earlier: t.Earlier, ToolCalls: t.ToolCalls, Denied: t.Denied, Staged: t.Staged, Usage: t.Usage, Cost: t.Cost.Shown()}
	if err != nil {
		f, hide := *failure.Of(err), r.inv.Secrets.Message().HideString
		f.Message, f.Hints = hide(f.Message), slices.Clone(f.Hints)
		for i := range f.Hints {
			f.Hints[i] = hide(f.Hints[i])
		}
		if t.Unknown && (f.Status == failure.StatusModel || f.Status == failure.StatusServer || f.Status == failure.StatusUnapproved || f.Status == failure.StatusLimit) {
			f.Status = failure.StatusUnknown
			f.Message = "a call's outcome is unknown: " + f.Message
		}
		e.Status, e.Exit, e.Err = f.Status, f.Exit(), &f
	} else if t.Unknown {
		r.inv.Warn("outcome_unknown", "", "there is an answer, but the outcome of a call is unknown")
	}
	return e
}

// origin names the model that was asked last.
func (r *runner) origin() event.Origin {
	c, m := r.inv.Config, r.inv.Model
	if l := r.conversation.loop; l != nil {
		m = l.Model()
	}
	o := event.Origin{ID: c.ID, Preset: c.Preset.Name}
	if m != nil && c.Mode == config.Answer {
		o.Model, o.Profile = m.Endpoint.Model, m.Endpoint.Profile
	}
	return o
}
