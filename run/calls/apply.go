package calls

import (
	"cmp"
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

// An application is one --apply. The plan names nothing that is started or trusted: the flags
// and the config of this run give the servers.
type application struct {
	*turn.Plan
	tally  *turn.Tally
	file   *stage.File
	before stage.Count       // counts before this run
	made   []turn.Simulated  // simulated effect of each call, from the check
	said   map[string]string // problems that were shown, with the first call that has each
}

const applyFlag = "--apply"

// Apply makes the calls, or shows them with --dry-run. It counts calls in tally. The plan p must be
// resolved.
func Apply(ctx context.Context, p *turn.Plan, tally *turn.Tally) error {
	c := p.Inv.Config
	file, err := stage.Open(c, applyFlag, c.Target, false, false, p.Inv.Warn)
	if err != nil {
		return err
	}
	defer file.Close()
	r := &application{Plan: p, tally: tally, file: file, before: file.Count(), said: map[string]string{}}
	if c.ApplyDigest != "" && !strings.EqualFold(c.ApplyDigest, file.Reviewed()) {
		return r.otherDigest()
	}
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
	err = r.makeCalls(ctx)
	p.Inv.Face.Notef("%d calls: %s", len(file.Calls), event.Made(file.Count()).Text(event.Made(r.before)))
	return r.settled(err)
}

func (r *application) otherDigest() error {
	c, why := r.Inv.Config, "is not the plan that was reviewed"
	if strings.EqualFold(c.ApplyDigest, r.file.Digest) {
		why = "has results of earlier runs, which that digest does not cover"
	}
	return failure.UsageError([]string{"--apply " + config.ShellQuote(c.Target) + " --dry-run shows its calls"},
		"--apply-digest: %q %s: its digest is %s", c.Target, why, r.file.Reviewed())
}

// leaveServersOut starts only the servers in this process; they compute the contents of files.
func (r *application) leaveServersOut() {
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

// problem says why the call c, with the simulated effect made, does not fit this run; "" if it
// fits. For a server that is not started only its configuration is compared.
func (r *application) problem(c *stage.Call, made *turn.Simulated) string {
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
		return fmt.Sprintf("the definition of the tool %s changed after the call was staged", c.Name)
	case made.Err != nil:
		return "the change cannot be made: " + made.Err.Error()
	case made.File != c.File:
		return fmt.Sprintf("it would change %q, and was staged for %q", made.File, c.File)
	case made.Before != c.Against:
		return fmt.Sprintf("the content of %q changed after the call was staged", c.File)
	}
	for path, place := range made.Led {
		if was, known := c.Places[path]; known && was != place { // a reviewer may have changed the arguments
			return fmt.Sprintf("%q leads to %q, and led to %q when the call was staged", path, place, was)
		}
	}
	return ""
}

func otherServer(c *stage.Call, now stage.Server) string {
	return fmt.Sprintf("the server %q has changed: it is %q in %q, and the call was staged for %q in %q", c.Server.Name, now.Target, now.Dir, c.Server.Target, c.Server.Dir)
}

// misfit says why call number i would now do something else than was compared before the first
// call; "" if it would not.
func (r *application) misfit(ctx context.Context, i int) string {
	c := r.file.Calls[i]
	now := r.Simulate(ctx, []*stage.Call{c})[0]
	for path, place := range r.made[i].Led {
		if now.Led[path] != place {
			return fmt.Sprintf("%q leads to %q, and led to %q before the first call", path, now.Led[path], place)
		}
	}
	return r.problem(c, &now)
}

// check refuses the plan before the first call if an open call does not fit. A problem of several
// calls is reported once.
func (r *application) check() error {
	var problems []string
	way, said := "stage the calls again", map[string]bool{}
	for i, c := range r.file.Calls {
		if c.Result != nil || c.Sent {
			continue
		}
		problem := r.problem(c, &r.made[i])
		if problem == "" || said[problem] {
			continue
		}
		if said[problem] = true; r.ToolOf(c) == nil {
			way = "give this run the servers of the plan, by --files, --mcp and the like"
		}
		problems = append(problems, fmt.Sprintf("%s:%d: %s", r.Inv.Config.Target, c.Line, problem))
	}
	if len(problems) == 0 {
		return nil
	}
	return failure.UsageError(append(problems[1:], "nothing was made; "+way), "%s: %s", applyFlag, problems[0])
}

// makeCalls makes the open calls, in order, until one fails.
func (r *application) makeCalls(ctx context.Context) (first error) {
	for i, c := range r.file.Calls {
		if c.Result != nil {
			continue
		}
		var err error
		if c.Sent {
			err = r.lost(c)
		} else {
			o, counts, stopped := r.ApplyCall(ctx, r.ToolOf(c), &turn.Reviewed{Call: c, File: r.file, Places: r.made[i].Places, Misfit: func() string { return r.misfit(ctx, i) }})
			if r.tally.Add(counts); stopped != nil {
				return stopped
			}
			err = r.outcome(ctx, c, &o)
		}
		if first = cmp.Or(first, err); err != nil && (!r.Inv.Config.KeepGoing || ctx.Err() != nil) {
			break
		}
	}
	return first
}

func (r *application) lost(c *stage.Call) error {
	return &failure.Error{Status: failure.StatusUnknown, Message: fmt.Sprintf("%s: the outcome of the call %q of %s is unknown: it was sent, and no result came", applyFlag, c.ID, c.Name),
		Hints: []string{"check what the call did; --keep-going makes the calls after it"}}
}

// settled is the error of the plan: err of this run, or the error of a call that an earlier run
// made.
func (r *application) settled(err error) error {
	own := failure.StatusTool
	if err != nil {
		own = failure.Of(err).Status
	}
	var failed error
	for _, c := range r.file.Calls {
		switch {
		case own != failure.StatusTool: // the error of this run says more
		case c.Result == nil && c.Sent:
			return r.lost(c)
		case c.Result != nil && c.Result.Failed() && failed == nil:
			failed = &failure.Error{Status: failure.StatusTool, Message: fmt.Sprintf("%s: the call %q of %s has failed in an earlier run: %s", applyFlag, c.ID, c.Name, c.Result.Status),
				Hints: []string{"no call is made twice; stage the calls that failed again"}}
		}
	}
	return cmp.Or(err, failed)
}

// outcome is the error for a call that did not do what was reviewed.
func (r *application) outcome(ctx context.Context, c *stage.Call, o *turn.Outcome) error {
	text := o.Text()
	if o.Status == event.ResultOK || o.Status == event.ResultError {
		if r.tally.Text = append(r.tally.Text, text); !strings.HasSuffix(text, "\n") {
			r.tally.Text = append(r.tally.Text, "\n")
		}
	} else if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	switch o.Status {
	case event.ResultOK:
		return nil
	case event.ResultUnknown:
		return r.lost(c)
	}
	f := &failure.Error{Status: failure.StatusTool, Message: applyFlag + ": the call " + strconv.Quote(c.ID) + " of " + c.Name + ": " + o.Failure()}
	switch {
	case c.Result == nil && !c.Sent:
		f.Hints = []string{"it was not made: the next --apply compares the plan again"}
	case !r.Inv.Config.KeepGoing && r.file.Count().Open > 0:
		f.Hints = []string{"the calls after it are not made; the same command goes on with them, and --keep-going does so at once"}
	}
	return f
}

// show prints each call of the plan as a question on the terminal would show it. It fails where the
// real run would fail.
func (r *application) show(ctx context.Context) error {
	h := &r.file.Head
	p := &event.Plan{File: r.Inv.Config.Target, Digest: r.file.Digest, Version: h.Version, Dir: h.Dir, Time: h.Time, Calls: len(r.file.Calls), Made: event.Made(r.before)}
	if digest := r.file.Reviewed(); digest != p.Digest {
		p.Whole = digest
	}
	if err := r.Inv.Emit(p); err != nil {
		return err
	}
	for i := range r.file.Calls {
		if err := r.Inv.Emit(r.staged(ctx, i)); err != nil {
			return err
		}
	}
	return cmp.Or(r.check(), r.settled(nil))
}

// staged is call number i as an event. Its change to a file is computed here, because the plan
// contains only what its writer claims.
func (r *application) staged(ctx context.Context, i int) *event.Staged {
	c, made := r.file.Calls[i], r.made[i]
	e := &event.Staged{
		ID: c.ID, Server: c.Server.Name, Tool: c.Tool, Name: c.Name, Arguments: c.Arguments, Status: "open", Said: c.Text,
		StagedFor: event.StagedFor{Rule: c.Rule, Reason: c.Reason, Labels: c.Labels, Private: c.Private, Untrusted: c.Untrusted, File: made.File, Diff: made.Diff},
	}
	switch {
	case c.Result != nil && c.Result.Failed():
		e.Status = c.Result.Status
	case c.Result != nil:
		e.Status = "done"
	case c.Sent:
		e.Status = "unknown"
	default:
		e.Problem = r.problem(c, &made)
	}
	e.Shown = r.shown(ctx, e, c)
	return e
}

func (r *application) shown(ctx context.Context, e *event.Staged, c *stage.Call) string {
	const width = 100
	call := approve.Call{Name: e.Server + "__" + e.Tool, Arguments: e.Arguments} // not e.Name: show what is called
	if t := r.ToolOf(c); t != nil && e.Diff != "" {
		call.Change = func(context.Context) (string, []string) { return e.Diff, t.InDiff() }
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
		add("it may send private data out: ", e.Private)
		add("  and the conversation has text from an outsider: ", e.Untrusted)
	} else {
		add("labels of the conversation: ", strings.Join(e.Labels, ", "))
	}
	add("the model said before: ", lastLine(e.Said))
	if id, again := r.said[e.Problem]; again {
		add("PROBLEM: ", "the same as with "+id)
	} else if e.Problem != "" {
		r.said[e.Problem] = e.ID
		add("PROBLEM: ", e.Problem)
	}
	return text
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndexByte(text, '\n')+1:]
}
