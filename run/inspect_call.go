package run

import (
	"bytes"
	"context"
	"os"
	"strings"

	"toolpipe/approve"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream"
)

// callArguments are the arguments of --call and --explain: one JSON object, which
// is the prompt argument or for "-" standard input, or words, or {} without any.
func (r *inspection) callArguments(ctx context.Context, t *tool, data []byte) ([]byte, error) {
	c := r.cfg
	text := []byte("{}")
	switch {
	case len(c.Args) == 1 && c.Args[0] == "-":
		if data == nil {
			return nil, failure.Usage("%s -: standard input is not read", flagOfMode(c))
		}
		text = data
	case len(c.Args) == 1 && strings.HasPrefix(strings.TrimSpace(c.Args[0]), "{"):
		text = []byte(c.Args[0])
	case len(c.Args) > 1 && strings.HasPrefix(c.Args[0], "{"):
		return nil, failure.UsageError([]string{"quote the JSON: toolpipe --call NAME '{\"path\":\"a b\"}'"}, "%s: more than one argument", flagOfMode(c))
	case len(c.Args) > 0 && (len(c.Args) > 1 || strings.TrimSpace(c.Args[0]) != ""):
		var err error
		if text, err = wordsObject(ctx, flagOfMode(c), c.Args, t.InputSchema); err != nil {
			return nil, err
		}
	}
	if len(bytes.Trim(text, " \t\r\n")) == 0 {
		text = []byte("{}")
	}
	args, err := approve.Canonical(text)
	if err != nil {
		return nil, failure.UsageError([]string{flagOfMode(c) + ` NAME '{"path":"notes.txt"}'`}, "%s: the arguments are not one JSON object: %v", flagOfMode(c), err)
	}
	return args, nil
}

func flagOfMode(c *config.Config) string {
	if c.Mode == config.Explain {
		return "--explain"
	}
	return "--call"
}

func (r *inspection) explain(ctx context.Context, t *tool, args []byte) error {
	x, err := r.gate.Explain(ctx, t.call(args))
	if err != nil {
		return err
	}
	v := x.Verdict
	e := &event.Explanation{Name: t.name, Arguments: args, Approval: *approvalEvent("", v)}
	if x.Ask {
		e.Decision = "ask"
	}
	e.Approver = x.Approver
	asked := t.call(args)
	asked.Seen.Labels = approve.Exposed
	exposed, err := r.gate.Explain(ctx, asked)
	if err != nil {
		return err
	}
	if w := exposed.Verdict; w.Outcome != v.Outcome || exposed.Ask != x.Ask || w.Rule != v.Rule {
		if e.Exposed = *approvalEvent("", w); exposed.Ask {
			e.Exposed.Decision = "ask"
		}
	}
	for _, m := range x.Matched {
		e.Rules = append(e.Rules, event.ExplainedRule{Decision: m.Decision.String(), Rule: m.Origin, Reason: m.Reason})
	}
	if err := r.Emit(e); err != nil {
		return err
	}
	if v.Outcome != approve.Allowed {
		err := &failure.Error{Status: failure.StatusUnapproved, Message: "this call would not run"}
		if x.Ask {
			err.Message = "this call would need an approval"
		}
		if v.Outcome == approve.Unapproved {
			err.Hints = []string{approvalHint(t.name, v)}
		}
		return err
	}
	return nil
}

// callOnce makes one call as a model would, with its approval. The result is the
// text of the end event; it is whole, for no model has to read it.
func (r *inspection) callOnce(ctx context.Context, t *tool, args []byte) error {
	k := newCaller(r.cfg, r.box, r.gate, r.outputs)
	if r.cfg.MaxResultBytes == 0 {
		k.maxBytes = 0
	}
	round := k.newRound(0, []stream.Call{{ID: "call-1", Name: t.name, Arguments: args}}, nil)
	err := round.decide(ctx)
	if err != nil {
		round.finish()
	} else {
		err = round.execute(ctx)
	}
	r.tally.add(round.tally)
	if err != nil {
		return err
	}
	made := round.calls[0]
	text := made.answer.text()
	status := made.answer.event.Status
	if ctx.Err() != nil && status != event.ResultOK && status != event.ResultError {
		return context.Cause(ctx)
	}
	switch status {
	case event.ResultOK:
		r.tally.text = []byte(text)
		return nil
	case event.ResultError:
		r.tally.text = []byte(text)
		return &failure.Error{Status: failure.StatusTool, Message: t.name + ": the tool reported an error", Hints: r.stdinHint()}
	case event.ResultDenied:
		return &failure.Error{Status: failure.StatusTool, Message: "tool call denied: " + made.denial}
	case event.ResultNotRun:
		return &failure.Error{Status: failure.StatusTool, Message: strings.TrimPrefix(text, prefix)}
	case event.ResultUnknown:
		return &failure.Error{Status: failure.StatusUnknown, Message: strings.TrimPrefix(text, prefix)}
	}
	if l := t.conn.later; l != nil && l.failed != nil {
		return l.failed
	}
	return &failure.Error{Status: failure.StatusTool, Message: strings.TrimPrefix(text, prefix), Hints: r.stdinHint()}
}

// stdinHint is for a call that failed without arguments while standard input is a
// pipe or a file, which --call reads only with the argument -.
func (r *inspection) stdinHint() []string {
	in, ok := r.streams.In.(interface{ Stat() (os.FileInfo, error) })
	if !ok || len(r.cfg.Args) > 0 {
		return nil
	}
	if info, err := in.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 && !r.streams.InFile {
		return nil
	}
	return []string{"the call had no arguments; - reads them from standard input: --call " + config.ShellQuote(r.cfg.Target) + " -"}
}
