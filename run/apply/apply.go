// Package apply makes the calls of a plan that --stage wrote and somebody has reviewed:
// --apply. Nothing in the plan is started or trusted; the servers are those of the flags and
// the config of this run.
package apply

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/stage"
	"toolpipe/run/turn"
	"toolpipe/stream/text/escape"
)

// A run is one --apply.
type run struct {
	*turn.Plan
	tally *turn.Tally
	file  *stage.File
	made  []turn.Simulated // what each call would do when the plan was compared
}

const flag = "--apply"

// Run makes the calls, or with --dry-run shows them. It counts calls in tally. The plan of
// the run is resolved.
func Run(ctx context.Context, p *turn.Plan, tally *turn.Tally) error {
	c := p.Inv.Config
	file, err := stage.Open(c, flag, c.Target, false, false, p.Inv.Warn)
	if err != nil {
		return err
	}
	defer file.Close()
	if c.ApplyDigest != "" && !strings.EqualFold(c.ApplyDigest, file.Digest) {
		return failure.UsageError([]string{"--apply " + config.ShellQuote(c.Target) + " --dry-run shows what it holds"},
			"--apply-digest: %q is another plan than the one that was reviewed: its digest is %s", c.Target, file.Digest)
	}
	r := &run{Plan: p, tally: tally, file: file}
	if c.DryRun {
		r.leaveServersOut()
	}
	if _, err := p.Box.Begin(ctx); err != nil {
		return err
	}
	r.made = p.Simulate(ctx, file.Calls)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if c.DryRun {
		return r.show(ctx)
	}
	if err := r.check(); err != nil {
		return err
	}
	return r.makeCalls(ctx)
}

// leaveServersOut has no server started but those in this process, which show what files
// would hold.
func (r *run) leaveServersOut() {
	all := r.Inv.Servers
	r.Inv.Servers = nil
	for _, s := range all {
		if s.Local != nil && !s.Agent {
			r.Inv.Servers = append(r.Inv.Servers, s)
		} else {
			r.Inv.Unused = append(r.Inv.Unused, s)
		}
	}
}

// problem says why the call c, which would do made, does not fit what this run has; "" if it
// does. Of a server that is not started only what is configured is known.
func (r *run) problem(c *stage.Call, made *turn.Simulated) string {
	hide := r.Inv.Secrets.Message().HideString
	for k := range r.Inv.Unused {
		s := &r.Inv.Unused[k]
		now := stage.Server{Name: s.Name, Target: hide(s.Target()), Dir: s.Dir}
		if s.Name == c.Server.Name && r.Inv.Config.DryRun && now != c.Server {
			return otherServer(c, now)
		}
	}
	t := r.ToolOf(c)
	switch {
	case t == nil && r.Inv.Config.DryRun:
		return ""
	case t == nil:
		return fmt.Sprintf("this run has no tool %q of a server %q", c.Tool, c.Server.Name)
	}
	switch now := turn.ServerOf(t.Conn, hide); {
	case now != c.Server:
		return otherServer(c, now)
	case t.ModelName != c.Name:
		return fmt.Sprintf("the plan calls the tool %q of the server %q by the name %q, which is not its name", c.Tool, c.Server.Name, c.Name)
	case t.Locked().Digest() != c.Definition:
		return fmt.Sprintf("the tool %s is not defined any more as when the call was staged", c.Name)
	case made.Err != nil:
		return "the change cannot be made: " + made.Err.Error()
	case c.File != "" && made.File != c.File:
		return fmt.Sprintf("it would change %q, and was staged for %q", made.File, c.File)
	case c.File != "" && made.Before != c.Against:
		return fmt.Sprintf("%q has another content than the change was made against", c.File)
	}
	return ""
}

func otherServer(c *stage.Call, now stage.Server) string {
	return fmt.Sprintf("the server %q is another one: %q in %q, and the call was staged for %q in %q", c.Server.Name, now.Target, now.Dir, c.Server.Target, c.Server.Dir)
}

// misfit says why the call number i would not do any more what was compared before the first
// call; "" if it would.
func (r *run) misfit(ctx context.Context, i int) string {
	c := r.file.Calls[i]
	now := r.Simulate(ctx, []*stage.Call{c})[0]
	for path, place := range r.made[i].Places {
		if now.Places[path] != place {
			return fmt.Sprintf("%q leads to %q, and led to %q before the first call", path, now.Places[path], place)
		}
	}
	return r.problem(c, &now)
}

// check refuses the plan if an open call does not fit, before the first one is made.
func (r *run) check() error {
	var problems []string
	way := "stage the calls again"
	for i, c := range r.file.Calls {
		if c.Result != nil || c.Sent {
			continue
		}
		if problem := r.problem(c, &r.made[i]); problem != "" {
			if r.ToolOf(c) == nil {
				way = "give this run the servers of the plan, by --files, --mcp and the like"
			}
			problems = append(problems, fmt.Sprintf("%s:%d: %s", r.Inv.Config.Target, c.Line, problem))
		}
	}
	if len(problems) == 0 {
		return nil
	}
	return failure.UsageError(append(problems[1:], "nothing was made; "+way), "%s: %s", flag, problems[0])
}

// makeCalls makes the open calls, in order, until one fails.
func (r *run) makeCalls(ctx context.Context) error {
	var first error
	goesOn := func(err error) bool {
		if first == nil {
			first = err
		}
		return r.Inv.Config.KeepGoing && ctx.Err() == nil
	}
	for i, c := range r.file.Calls {
		switch {
		case c.Result != nil:
			continue
		case c.Sent:
			lost := &failure.Error{Status: failure.StatusUnknown, Message: fmt.Sprintf("%s: the outcome of the call %q of %s is unknown: a run was killed while it was under way", flag, c.ID, c.Name),
				Hints: []string{"look what it has done; --keep-going makes the calls behind it"}}
			if !goesOn(lost) {
				return lost
			}
			continue
		}
		o, counts, err := r.ApplyCall(ctx, r.ToolOf(c), &turn.Reviewed{Call: c, File: r.file, Places: r.made[i].Places, Misfit: func() string { return r.misfit(ctx, i) }})
		r.tally.Add(counts)
		if err != nil {
			return err
		}
		if err := r.outcome(ctx, c, &o); err != nil && !goesOn(err) {
			return err
		}
	}
	return first
}

// outcome is the error of a call that did not do what was reviewed.
func (r *run) outcome(ctx context.Context, c *stage.Call, o *turn.Outcome) error {
	text := o.Text()
	if o.Status == event.ResultOK || o.Status == event.ResultError {
		if r.tally.Text = append(r.tally.Text, text); !strings.HasSuffix(text, "\n") {
			r.tally.Text = append(r.tally.Text, "\n")
		}
	} else if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	f := &failure.Error{Status: failure.StatusTool, Message: flag + ": the call " + strconv.Quote(c.ID) + " of " + c.Name + ": "}
	switch o.Status {
	case event.ResultOK:
		return nil
	case event.ResultError:
		f.Message += "the tool reported an error"
	case event.ResultDenied:
		f.Message += "denied: " + o.Denial
	case event.ResultUnknown:
		f.Status = failure.StatusUnknown
		fallthrough
	default:
		f.Message += strings.TrimPrefix(text, turn.Prefix)
	}
	switch {
	case c.Result == nil && !c.Sent:
		f.Hints = []string{"it was not made: the next --apply compares the plan again"}
	case !r.Inv.Config.KeepGoing:
		f.Hints = []string{"the calls after it are not made; the same command goes on with them, and --keep-going does so at once"}
	}
	return f
}

// show writes the plan as a question on the terminal would show each call. Its error is that
// of the run that would make them.
func (r *run) show(ctx context.Context) error {
	h, open := &r.file.Head, 0
	for _, c := range r.file.Calls {
		if c.Result == nil && !c.Sent {
			open++
		}
	}
	p := &event.Plan{File: r.Inv.Config.Target, Digest: r.file.Digest, Version: h.Version, Dir: h.Dir, Time: h.Time, Calls: len(r.file.Calls), Open: open}
	if err := r.Inv.Emit(p); err != nil {
		return err
	}
	for i := range r.file.Calls {
		if err := r.Inv.Emit(r.staged(ctx, i)); err != nil {
			return err
		}
	}
	return r.check()
}

// staged is the call number i as an event.
func (r *run) staged(ctx context.Context, i int) *event.Staged {
	c, made := r.file.Calls[i], r.made[i]
	e := &event.Staged{
		ID: c.ID, Server: c.Server.Name, Tool: c.Tool, Name: c.Name, Arguments: c.Arguments, Status: "open", Said: c.Text,
		StagedFor: event.StagedFor{Rule: c.Rule, Reason: c.Reason, Labels: c.Labels, Private: c.Private, Untrusted: c.Untrusted, File: c.File, Diff: c.Diff},
	}
	switch {
	case c.Result != nil:
		e.Status = "done"
	case c.Sent:
		e.Status = "unknown"
	default:
		e.Problem = r.problem(c, &made)
		if made.Path != "" {
			e.Diff = made.Diff
		}
	}
	e.Shown = r.shown(ctx, e, c)
	return e
}

// shown is the call c for people.
func (r *run) shown(ctx context.Context, e *event.Staged, c *stage.Call) string {
	const width = 100
	call := approve.Call{Name: e.Server + "__" + e.Tool, Arguments: e.Arguments} // not e.Name: what is shown is what is called
	if t := r.ToolOf(c); t != nil && e.Diff != "" {
		call.Change = func(context.Context) (string, []string) { return e.Diff, t.TellsDiff() }
	} else if e.Diff != "" {
		call.Change = func(context.Context) (string, []string) { return e.Diff, nil }
	}
	text := "\n" + escape.Escape(e.ID) + " (" + e.Status + "): " + approve.Shown(ctx, call, width)
	add := func(name, value string) {
		if value != "" {
			text += name + escape.Escape(value) + "\n"
		}
	}
	add("server: ", c.Server.Target)
	rule := e.Rule
	if rule == "" {
		rule = "no rule allows it"
	}
	if e.Reason != "" {
		rule += ": " + e.Reason
	}
	add("staged because: ", rule)
	if e.Private != "" {
		add("it may send out what is private: ", e.Private)
		add("  and the conversation has what an outsider wrote: ", e.Untrusted)
	} else {
		add("labels of the conversation: ", strings.Join(e.Labels, ", "))
	}
	add("the model said before: ", lastLine(e.Said))
	add("PROBLEM: ", e.Problem)
	return text
}

// lastLine is the last line of a text that is not blank.
func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
