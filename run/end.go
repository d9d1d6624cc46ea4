package run

import (
	"context"
	"errors"
	"slices"
	"time"

	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream/goroutine"
)

// end writes the end event, closes everything that was opened and returns the
// error of the run. Servers are ended after the last byte was written, so that the
// reader of the answer need not wait for them.
func (r *runner) end(ctx context.Context, err error) error {
	if p, ok := errors.AsType[*goroutine.Panic](context.Cause(ctx)); ok {
		err = p // the panic is the cause of any other error
	}
	if err == nil {
		err = r.Flush()
	}
	if r.client != nil {
		if cerr := r.client.Close(); cerr != nil {
			unwritten := failure.Output("--record "+config.ShellQuote(r.cfg.Record), cerr)
			if err == nil {
				err = unwritten
			} else {
				r.warn("not_recorded", "", unwritten.Message)
			}
		}
	}
	if _, panicked := errors.AsType[*goroutine.Panic](err); !panicked && !failure.IsCancelled(err) {
		r.box.settle()
	}
	for _, c := range r.box.conns {
		c.warnOfLogin(r.Emit, err, true)
	}
	e := r.endEvent(err)
	r.emitStart()
	if werr := r.Emit(e); werr != nil {
		e = e.WithOutputError(werr)
	}
	if e.Status == failure.StatusInterrupted {
		r.face.Interrupted() // the call that the signal makes may come after the end
	}
	r.face.Awaiting("waiting for the servers to end")
	r.box.close()
	r.face.Close()
	if r.log != nil {
		r.log.Close()
	}
	r.conversation.session.Close()
	r.cfg.Processes.Sweep(2 * time.Second)
	if e.Err == nil {
		return nil
	}
	return e.Err
}

// endEvent tells how the run ended. A call whose outcome is unknown decides the
// status unless there is an answer.
func (r *runner) endEvent(err error) *event.End {
	e := &event.End{Status: failure.StatusOK, Time: time.Since(r.began)}
	t := &r.tally
	e.Text, e.Finish, e.Turns, e.ToolCalls, e.Denied, e.Usage = t.text, t.finish, t.turns, t.toolCalls, t.denied, t.usage
	if err != nil {
		f, hide := *failure.Of(err), r.secrets.Message().HideString
		f.Message, f.Hints = hide(f.Message), slices.Clone(f.Hints)
		for i := range f.Hints {
			f.Hints[i] = hide(f.Hints[i])
		}
		if t.unknown && (f.Status == failure.StatusModel || f.Status == failure.StatusServer || f.Status == failure.StatusUnapproved || f.Status == failure.StatusLimit) {
			f.Status = failure.StatusUnknown
			f.Message = "a call's outcome is unknown: " + f.Message
		}
		e.Status, e.Exit, e.Err = f.Status, f.Exit(), &f
	} else if t.unknown {
		r.warn("outcome_unknown", "", "there is an answer, but the outcome of a call is unknown")
	} else if r.cfg.Mode == config.Answer && t.turns > 0 && !t.hasText {
		r.face.Say("the model's answer is empty")
	}
	return e
}
