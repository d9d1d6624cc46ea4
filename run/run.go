// Package run is the program: it takes one invocation as plain data and the
// standard streams, lets a model and tool servers take turns, and says how it
// ended. Only run translates between stream, mcp and approve.
//
// A turn is one reply of the model, a round its calls and their answers.
//
// On every path each call is answered exactly once and in order, or the run ends;
// no tool runs without a verdict that allows it; every wait has a bound, and no
// process that was started outlives the run.
package run

import (
	"context"
	"time"

	"toolpipe/run/config"
	"toolpipe/run/face"
	"toolpipe/run/failure"
	"toolpipe/run/stdio"
	"toolpipe/stream/goroutine"
)

// Run does what cfg says. It returns when the end event was written and all that
// was started has ended. The error is nil or a *failure.Error, and was printed.
// ctx cancels the run; for a signal its cause should be *failure.Interrupted.
func Run(ctx context.Context, cfg *config.Config, s stdio.Streams) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &runner{connector: &connector{plan: &plan{cfg: cfg}, box: &toolbox{}}, began: time.Now()}
	r.conversation = &conversation{connector: r.connector, tally: &r.tally}
	r.outputs = newOutputs(ctx, cfg, s, r.conversation.asJSON)
	if r.text == nil || cfg.Log != "" {
		cfg.WatchSignals()
	} else if cfg.NamesServers() {
		goroutine.Start(cfg.WatchSignals) // it takes as long as all until the first child, which waits for it
	}
	err := cfg.Validate()
	if err == nil && cfg.Log != "" {
		err = r.openLog(ctx, cfg.Log)
	}
	if cfg.Timeout > 0 {
		defer goroutine.AfterFunc(cfg.Timeout, func() { cancel(&failure.Overtime{Limit: cfg.Timeout, Awaited: r.face.Awaited()}) }).Stop()
	}
	defer goroutine.AfterContext(ctx, r.face.Interrupted)()
	if err == nil {
		err = r.guarded(ctx)
	}
	if err = r.end(ctx, err); err != nil {
		face.PrintError(ctx, r.streams.Err, r.face.Color, err)
	}
	return err
}

// A runner is one run:
//
//	stdin ──► input ──► messages ─┐                        ┌─► text, ndjson,
//	                              ▼                        │   json, messages ──► stdout
//	 stream.Client ◄──── loop ── Emit(event) ──────────────┼─► log
//	                     │  ▲                              └─► face ──► stderr
//	                     ▼  │ one tool message per call, in order
//	                    round ──► approve.Gate ──► /dev/tty
//	                     │
//	                  toolbox ──► mcp.Session ──► child process | HTTP | in-process
type runner struct {
	*connector   // which has a plan, which has the outputs
	conversation *conversation
	began        time.Time
	tally        tally
}

// guarded does the work of the run and makes a panic its error, so that the run can
// still end in order.
func (r *runner) guarded(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = goroutine.NewPanic(p)
		}
	}()
	if r.cfg.Mode == config.Check {
		return (&checkup{connector: r.connector}).run(ctx)
	}
	if err := r.configure(ctx); err != nil {
		return err
	}
	switch r.cfg.Mode {
	case config.SignIn, config.SignOut, config.ListLogins:
		return (&logins{r.connector}).run(ctx)
	}
	if r.cfg.Session != "" {
		if done, err := r.conversation.openSession(ctx); done || err != nil {
			return err
		}
	}
	if err := r.resolve(ctx); err != nil {
		return err
	}
	if r.cfg.Mode == config.Answer {
		return r.conversation.run(ctx)
	}
	return (&inspection{r.connector, &r.tally}).run(ctx)
}
