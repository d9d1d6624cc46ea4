package run

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream"
)

// inspect does what needs no model: lists, one tool's definition, one call,
// an explanation.
func (r *runner) inspect(ctx context.Context, data []byte) error {
	if err := r.start(); err != nil {
		return err
	}
	if len(r.servers) == 0 && r.cfg.Target == "" {
		r.face.Say("no tool server is configured; " + addServers)
	}
	switch r.cfg.Mode {
	case config.ListTools:
		for _, t := range r.box.all {
			if err := r.out.Emit(r.toolEvent(t)); err != nil {
				return err
			}
		}
		return nil
	case config.DescribeTool:
		t, err := r.findTool(r.cfg.Target)
		if err != nil {
			return err
		}
		return r.out.Emit(r.toolEvent(t))
	case config.UpdateLock:
		return r.writeLock()
	case config.ListServers:
		return r.listServers()
	case config.ListResources:
		return r.listResources(ctx)
	case config.ListPrompts:
		return r.listPrompts(ctx)
	}
	t, err := r.findTool(r.cfg.Target)
	if err != nil {
		return err
	}
	args, err := r.callArguments(data)
	if err != nil {
		return err
	}
	if r.cfg.Mode == config.Explain {
		return r.explain(ctx, t, args)
	}
	return r.callOnce(ctx, t, args)
}

const addServers = "--mcp NAME=TARGET and --files DIR add some"

// findTool is the tool of that name, as the model knows it or as SERVER__TOOL.
func (r *runner) findTool(name string) (*tool, error) {
	if t := r.box.byName[name]; t != nil {
		return t, nil
	}
	for _, t := range r.box.all {
		if t.conn.Name+"__"+t.Name == name {
			return t, nil
		}
	}
	if len(r.servers) == 0 {
		return nil, failure.UsageError([]string{addServers}, "no tool is named %q: no tool server is configured", name)
	}
	hints := []string{"--list-tools shows the names"}
	if near := r.nearestTool(name); near != "" {
		hints = append([]string{"did you mean " + near + "?"}, hints...)
	}
	return nil, failure.UsageError(hints, "no tool is named %q", name)
}

// nearestTool is a tool whose name holds what was asked for, or is one that it
// may be a slip of.
func (r *runner) nearestTool(name string) string {
	_, short, ok := strings.Cut(name, "__")
	if !ok {
		short = name
	}
	for _, t := range r.box.all {
		if t.Name == short || short != "" && strings.Contains(t.name, short) {
			return t.name
		}
	}
	names := make([]string, len(r.box.all))
	for i, t := range r.box.all {
		names[i] = t.name
	}
	return config.Nearest(name, names)
}

func (r *runner) toolEvent(t *tool) *event.Tool {
	v := r.gate.Static(t.call(nil))
	e := &event.Tool{
		Name: t.name, Server: t.conn.Name, Tool: t.Name, Description: t.Description,
		Schema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: t.Annotations,
		Verdict: verdictWord(v.Outcome), Rule: v.Rule,
	}
	return e
}

// verdictWord is allow, ask or deny: before a call nobody has been asked yet.
func verdictWord(o approve.Outcome) string {
	if o == approve.Unapproved {
		return "ask"
	}
	return o.String()
}

// listServers shows every server, and ends with the failure of the first that
// is required.
func (r *runner) listServers() error {
	var failed []string
	for _, c := range r.box.conns {
		e := &event.Server{Name: c.Name, Target: c.target(), Status: "ok", Tools: len(c.tools), Transport: c.transport()}
		if c.session != nil {
			e.Protocol, e.Transport = c.session.Protocol(), c.session.Transport()
		}
		if c.err != nil {
			e.Status, e.Message = "failed", c.failed().Message
			if !c.Optional {
				failed = append(failed, strconv.Quote(c.Name))
			}
		}
		if err := r.out.Emit(e); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return &failure.Error{Status: failure.StatusServer, Message: "required servers failed: " + config.JoinWords(failed)}
	}
	return nil
}

// target is how the server is reached, in full: a person who lists servers
// wants to see what would be started, but no value of a variable, which may be
// a secret.
func (c *connection) target() string {
	switch {
	case c.Shown != "":
		return c.Shown
	case c.URL != "":
		return c.URL
	case len(c.Command) > 0:
		return config.QuoteWords(c.Command)
	}
	return "built-in"
}

func (c *connection) transport() string {
	switch {
	case c.URL != "":
		return "http"
	case len(c.Command) > 0:
		return "stdio"
	}
	return "local"
}

// callArguments are those of --call and --explain: the one prompt argument,
// "-" for standard input, none for {}.
func (r *runner) callArguments(data []byte) ([]byte, error) {
	c := r.cfg
	text := []byte("{}")
	switch {
	case len(c.Args) > 1:
		return nil, failure.UsageError([]string{"quote the JSON: toolpipe --call NAME '{\"path\":\"a b\"}'"}, "%s: more than one argument", flagOfMode(c))
	case len(c.Args) == 1 && c.Args[0] == "-":
		if data == nil {
			return nil, failure.Usage("%s -: standard input is not read", flagOfMode(c))
		}
		text = data
	case len(c.Args) == 1:
		text = []byte(c.Args[0])
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

func (r *runner) explain(ctx context.Context, t *tool, args []byte) error {
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
	for _, m := range x.Matched {
		e.Rules = append(e.Rules, event.ExplainedRule{Decision: m.Decision.String(), Rule: m.Origin, Reason: m.Reason})
	}
	if err := r.out.Emit(e); err != nil {
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

// callOnce makes one call as a model would, approvals included, and prints
// its result.
func (r *runner) callOnce(ctx context.Context, t *tool, args []byte) error {
	round := r.newCaller().newRound(0, []stream.Call{{ID: "call-1", Name: t.name, Arguments: args}}, nil)
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
	p := round.calls[0]
	text := p.answer.text()
	switch p.answer.event.Status {
	case event.ResultOK:
		r.tally.text = []byte(text)
		return nil
	case event.ResultError:
		r.tally.text = []byte(text)
		return &failure.Error{Status: failure.StatusTool, Message: t.name + ": the tool reported an error", Hints: r.unreadHint()}
	case event.ResultDenied:
		return &failure.Error{Status: failure.StatusTool, Message: "tool call denied: " + p.denial}
	case event.ResultNotRun:
		return &failure.Error{Status: failure.StatusTool, Message: strings.TrimPrefix(text, prefix)}
	case event.ResultUnknown:
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return &failure.Error{Status: failure.StatusUnknown, Message: strings.TrimPrefix(text, prefix)}
	}
	return &failure.Error{Status: failure.StatusTool, Message: strings.TrimPrefix(text, prefix), Hints: r.unreadHint()}
}

// unreadHint is for a call that failed without arguments while something may
// have been piped in, which --call reads only when it is asked to.
func (r *runner) unreadHint() []string {
	in, ok := r.streams.In.(interface{ Stat() (os.FileInfo, error) })
	if !ok || len(r.cfg.Args) > 0 {
		return nil
	}
	if info, err := in.Stat(); err != nil || info.Mode()&os.ModeNamedPipe == 0 && !r.streams.InFile {
		return nil
	}
	return []string{"the call had no arguments; - reads them from standard input: --call " + config.ShellQuote(r.cfg.Target) + " -"}
}
