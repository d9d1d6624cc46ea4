// Package run is the program. It takes one invocation as plain data and the standard streams, runs
// its mode and reports how it ended. Only run and the packages below it translate between stream,
// mcp and approve.
//
// Every wait has a limit, and no process that was started outlives the run.
package run

import (
	"context"
	"time"

	"toolpipe/run/calls"
	"toolpipe/run/config"
	"toolpipe/run/face"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/modes"
	"toolpipe/run/report"
	"toolpipe/run/stdio"
	"toolpipe/run/turn"
	"toolpipe/stream/goroutine"
)

// Run does what cfg asks for. It returns after the end event is written and everything that was
// started has ended. The error is nil or a *failure.Error, and is already printed. ctx cancels the
// run; its cause after a signal should be *failure.Interrupted.
func Run(ctx context.Context, cfg *config.Config, s stdio.Streams) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &runner{began: time.Now()}
	r.conversation = &conversation{tally: &r.tally}
	r.inv = &invocation.Invocation{Outputs: invocation.NewOutputs(ctx, cfg, s, r.conversation.asJSON), Config: cfg}
	r.plan = turn.NewPlan(r.inv)
	r.plan.Stop = cancel
	r.conversation.plan, r.conversation.inv = r.plan, r.inv
	if r.inv.Text == nil || cfg.Log != "" {
		cfg.WatchSignals()
	} else if cfg.NamesServers() {
		goroutine.Start(cfg.WatchSignals) // takes as long as everything else before the first child, which waits for it
	}
	err := cfg.Validate()
	if err == nil && cfg.Log != "" {
		err = r.inv.OpenLog(ctx, cfg.Log)
	}
	if cfg.Timeout > 0 {
		defer goroutine.AfterFunc(cfg.Timeout, func() { cancel(&failure.Overtime{Limit: cfg.Timeout, Awaited: r.inv.Face.Awaited()}) }).Stop()
	}
	defer goroutine.AfterContext(ctx, r.inv.Face.Interrupted)()
	if err == nil {
		err = r.guarded(ctx)
	}
	if err = r.end(ctx, cfg.Preset.Hint(err)); err != nil {
		face.PrintError(ctx, r.inv.Streams.Err, r.inv.Face.Color, err)
	}
	return err
}

// A runner is one run:
//
//	stdin ──► input ──► messages ─┐                        ┌─► text, ndjson,
//	                              ▼                        │   json, messages ──► stdout
//	 stream.Client ◄── turn.Loop ── Emit(event) ───────────┼─► log
//	                     │  ▲                              └─► face ──► stderr
//	                     ▼  │ one tool message per call, in order
//	                    round ──► approve.Gate ──► /dev/tty
//	                     │
//	                  toolbox ──► mcp.Session ──► child process | HTTP | in-process
type runner struct {
	inv          *invocation.Invocation
	plan         *turn.Plan
	conversation *conversation
	began        time.Time
	tally        turn.Tally
}

// guarded does the work of the run. It returns a panic as an error, so that the run can still end
// in order.
func (r *runner) guarded(ctx context.Context) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = goroutine.NewPanic(p)
		}
	}()
	c := r.inv.Config
	if _, err := r.inv.Streams.Out.Write(nil); err != nil && c.Listen == "" { // an answer that cannot be written must cost nothing
		return failure.Output("standard output", err)
	}
	if c.Mode == config.Check {
		return modes.Check(ctx, r.plan)
	}
	if c.Mode == config.Report {
		return report.Run(ctx, r.inv)
	}
	if err := r.inv.Configure(ctx); err != nil {
		return err
	}
	if c.Mode == config.SignIn || c.Mode == config.SignOut || c.Lists("logins") {
		return modes.Logins(ctx, r.plan)
	}
	if c.Lists("presets") {
		return modes.ListPresets(r.plan)
	}
	if c.Session != "" {
		if done, err := r.conversation.openSession(ctx); done || err != nil {
			return err
		}
	}
	if err := r.plan.Resolve(ctx); err != nil {
		return err
	}
	if c.Mode == config.Answer {
		return r.conversation.run(ctx)
	}
	switch c.Mode {
	case config.Apply:
		return calls.Apply(ctx, r.plan, &r.tally)
	case config.CallMany:
		return calls.Run(ctx, r.plan, &r.tally)
	}
	return modes.Run(ctx, r.plan, &r.tally)
}
