package run

import (
	"bytes"
	"context"
	"strings"

	"toolpipe/approve"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream"
)

// callArguments are the arguments of --call and --explain: one JSON object, which
// is the prompt argument or for "-" standard input, or words, or {} without any.
func (in *inspection) callArguments(ctx context.Context, t *tool, data []byte) ([]byte, error) {
	words, flag := in.cfg.Args, "--call"
	if in.cfg.Mode == config.Explain {
		flag = "--explain"
	}
	given := strings.TrimSpace(strings.Join(words, " "))
	text, isObject := []byte(given), strings.HasPrefix(given, "{")
	switch {
	case given == "-" && data == nil:
		return nil, failure.Usage("%s -: standard input is not read", flag)
	case given == "-":
		text = data
	case isObject && len(words) > 1:
		return nil, failure.UsageError([]string{"quote the JSON: toolpipe --call NAME '{\"path\":\"a b\"}'"}, "%s: more than one argument", flag)
	case given != "" && !isObject:
		var err error
		if text, err = t.wordsObject(ctx, flag, words); err != nil {
			return nil, err
		}
	}
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	args, err := approve.Canonical(text)
	if err != nil {
		return nil, failure.UsageError([]string{flag + ` NAME '{"path":"notes.txt"}'`}, "%s: the arguments are not one JSON object: %v", flag, err)
	}
	return args, nil
}

func (in *inspection) explain(ctx context.Context, t *tool, args []byte) error {
	x, err := in.gate.Explain(ctx, t.call(args))
	if err != nil {
		return err
	}
	v := x.Verdict
	shown := func(x approve.Explanation) event.Approval {
		e := *approvalEvent("", x.Verdict)
		if x.Ask {
			e.Decision = "ask"
		}
		return e
	}
	e := &event.Explanation{Name: t.name, Arguments: args, Approval: shown(x), Approver: x.Approver}
	asked := t.call(args)
	asked.Seen.Labels = approve.Exposed
	exposed, err := in.gate.Explain(ctx, asked)
	if err != nil {
		return err
	}
	if other := shown(exposed); other.Decision != e.Decision || other.Rule != e.Rule {
		e.Exposed = other
	}
	for _, m := range x.Matched {
		e.Rules = append(e.Rules, event.ExplainedRule{Decision: m.Decision.String(), Rule: m.Origin, Reason: m.Reason})
	}
	in.Emit(e)
	if v.Outcome == approve.Allowed {
		return nil
	}
	f := &failure.Error{Status: failure.StatusUnapproved, Message: "this call would not run"}
	if x.Ask {
		f.Message = "this call would need an approval"
	}
	if v.Outcome == approve.Unapproved {
		f.Hints = []string{approvalHint(t.name, v)}
	}
	return f
}

// callOnce makes one call as a model would, with its approval. The result is the
// text of the end event; it is whole, for no model has to read it.
func (in *inspection) callOnce(ctx context.Context, t *tool, args []byte) error {
	k := in.newCaller(nil)
	if in.cfg.MaxResultBytes == 0 {
		k.maxBytes = 0
	}
	round := k.newRound(0, []stream.Call{{ID: "call-1", Name: t.name, Arguments: args}}, nil)
	err := round.decide(ctx)
	if err != nil {
		round.finish()
	} else {
		err = round.execute(ctx)
	}
	in.tally.add(round.tally)
	if err != nil {
		return err
	}
	made := round.calls[0]
	text, status := made.answer.text(), made.answer.event.Status
	answered := status == event.ResultOK || status == event.ResultError
	if answered {
		in.tally.text = []byte(text)
	} else if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f := &failure.Error{Status: failure.StatusTool, Message: strings.TrimPrefix(text, prefix)}
	switch status {
	case event.ResultOK:
		return nil
	case event.ResultError:
		f.Message, f.Hints = t.name+": the tool reported an error", in.stdinHint()
	case event.ResultDenied:
		f.Message = "tool call denied: " + made.denial
	case event.ResultUnknown:
		f.Status = failure.StatusUnknown
	case event.ResultFailed, event.ResultInvalid:
		if l := t.conn.later; l != nil && l.failed != nil {
			return l.failed
		}
		f.Hints = in.stdinHint()
	}
	return f
}

// stdinHint is for a call that failed without arguments while standard input is a
// pipe or a file, which --call reads only with the argument -.
func (in *inspection) stdinHint() []string {
	if len(in.cfg.Args) > 0 || !in.streams.InPipe && !in.streams.InFile {
		return nil
	}
	return []string{"the call had no arguments; - reads them from standard input: --call " + config.ShellQuote(in.cfg.Target) + " -"}
}
