package turn

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"sync"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/wire"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/stage"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

// staging is the staged calls of a run, which nobody has allowed, and the contents that files would
// have after them. Nested runs share it. It is used concurrently.
type staging struct {
	file  *stage.File
	files confine.StagedFiles

	mu    sync.Mutex
	seen  map[string]string // staged calls by callKey, with the file that each changes; "" for none
	last  map[string]string // by file: the last call that changes it
	count int               // calls staged by this run
}

// openStaging opens the plan of --stage. It continues an existing plan if the run continues a
// conversation.
func (p *Plan) openStaging() error {
	c := p.Inv.Config
	if c.Stage == "" {
		return nil
	}
	file, err := stage.Open(c, "--stage", c.Stage, true, c.Session != "", p.Inv.Warn)
	if err != nil {
		return err
	}
	p.staging = &staging{file: file, seen: map[string]string{}, last: map[string]string{}}
	return nil
}

// BeginStaging begins the plan of a conversation after the tools are known, even if nothing is staged.
// It loads the calls that an earlier run staged in the same conversation.
func (p *Plan) BeginStaging(ctx context.Context) error {
	if p.staging == nil {
		return nil
	}
	if err := p.staging.file.Begin(p.head()); err != nil {
		return err
	}
	calls := p.staging.file.Calls
	for i, made := range p.Simulate(ctx, calls) {
		c := calls[i]
		if c.Result != nil || c.Sent {
			continue // it has been made since
		}
		if made.Err != nil || made.File != c.File || made.Before != c.Against {
			return failure.UsageError([]string{"begin another conversation and another plan"},
				"--stage: %s:%d: the change of %q that was staged before no longer fits the file", p.Inv.Config.Stage, c.Line, c.File)
		}
		key := callKey(c.Name, c.Arguments)
		p.staging.seen[key], p.staging.last[made.Path] = made.Path, key
	}
	return nil
}

// CloseStaging closes the plan. It returns how many calls were staged.
func (p *Plan) CloseStaging() int {
	if p.staging == nil {
		return 0
	}
	p.staging.file.Close()
	return p.staging.count
}

// unseen is a note for the model that a program started by a tool did not see staged contents.
func (s *staging) unseen(t *toolbox.Tool) string {
	if s == nil || !t.Declares().Runs {
		return ""
	}
	return strings.TrimSuffix(s.files.UnseenText(), "\n")
}

// stages reports whether a call with this verdict is staged. A call of an agent is not: it needs a
// model. Nor is the reading of a resource, which only this conversation needs: it is denied.
func (r *round) stages(c *call, v approve.Verdict) bool {
	return r.plan.staging != nil && v.Outcome == approve.Unapproved && !v.EndsRun && !c.tool.Conn.Agent && !c.tool.Reader
}

const stagedText = "staged: not run yet; it will run unchanged after a review"

// stage writes c to the plan. A built-in tool that changes a file first makes the change in memory:
// a change that is impossible is an error now.
func (r *round) stage(ctx context.Context, c *call, bounds confine.Bounds, server *mcp.Session) {
	s := r.plan.staging
	s.mu.Lock()
	defer s.mu.Unlock()
	key := callKey(c.tool.ModelName, c.args)
	path, again := s.seen[key]
	if again && (path == "" || s.last[path] == key) {
		c.answer = ownAnswer(event.ResultStaged, stagedText)
		return
	}
	var change confine.StagedChange
	if c.tool.Edits() {
		bounds.Stage = &change
		result, err := server.CallTool(confine.WithBounds(ctx, bounds), &mcp.ToolCall{Tool: c.tool.Name, Args: c.args, Progress: func(wire.Progress) {}})
		if err != nil || result.IsError || change.Path == "" {
			r.bring(c, result)
			switch {
			case err != nil:
				c.answer = failedAnswer(&c.tool.Conn.Server, err)
			case r.readVerdict(ctx, c) == approve.Allowed:
				c.answer = r.rendered(c, result)
			default: // the tool's error may reveal the content of the file, which nobody has allowed
				c.answer = ownAnswer(event.ResultError, "the change cannot be made: the file is not as the arguments say, or may not be written")
			}
			return
		}
	}
	if err := s.add(r, c, &change); err != nil {
		r.stop(err)
		c.answer = notRun(ctx)
		return
	}
	s.seen[key], s.last[change.Path] = change.Path, key
	s.count++
	c.answer = ownAnswer(event.ResultStaged, stagedText)
}

func callKey(tool string, args []byte) string { return tool + "\x00" + string(args) }

// add writes c to the plan, after the heading if c is the first call.
func (s *staging) add(r *round, c *call, change *confine.StagedChange) error {
	v, head := r.plan.Inv, r.plan.head()
	if err := s.file.Begin(head); err != nil {
		return err
	}
	asked := r.asked(c, c.tool)
	hide := v.Secrets.Message().HideString
	const longest = 4 << 10
	said := r.planned.said[max(0, len(r.planned.said)-longest):]
	return s.file.Add(&stage.Call{
		ID: c.ID, Server: ServerOf(c.tool.Conn, hide), Tool: c.tool.Name, Name: c.tool.ModelName, Arguments: c.args, Definition: c.tool.Locked().Digest(),
		Why: stage.Why{
			By: c.verdict.By, Rule: c.verdict.Rule, Reason: c.verdict.Reason,
			Labels: asked.Seen.Labels.Words(), Private: asked.Seen.Private, Untrusted: asked.Seen.Untrusted,
		},
		Edit: stage.Edit{File: stage.PathFrom(head.Dir, change.Path), Against: change.Before, Diff: change.Diff, Places: stage.PlacesFrom(head.Dir, placesOf(c.tool, c.args))},
		Text: hide(strings.ToValidUTF8(said, "")),
	})
}

// ServerOf identifies the server of a connection.
func ServerOf(c *toolbox.Connection, hide func(string) string) stage.Server {
	return stage.Server{Name: c.Name, Target: hide(c.Target()), Dir: c.Dir}
}

func (p *Plan) head() stage.Head {
	definitions := sha256.New()
	for _, t := range p.Box.All() {
		if t.Reader { // a run that applies the plan does not have it
			continue
		}
		definitions.Write([]byte(t.ModelName + "\x00" + t.Locked().Digest() + "\n"))
	}
	dir, _ := os.Getwd()
	return stage.Head{Version: p.Inv.Config.Version, Policies: p.Inv.Policy, Definitions: hex.EncodeToString(definitions.Sum(nil)), Dir: dir, Time: stage.Now()}
}

// A Simulated is the effect that a call of a plan would have now.
type Simulated struct {
	confine.StagedChange
	File   string            // the changed file, as named in a plan
	Err    error             // why the change is impossible; nil if it is possible, or the call changes no file
	Places map[string]string // targets of its paths and of its command's directory, by their texts
	Led    map[string]string // the same, as named in a plan
}

// Simulate makes the file changes of a plan's open calls in memory, one after the other. It skips
// calls of tools that this run does not have.
func (p *Plan) Simulate(ctx context.Context, calls []*stage.Call) []Simulated {
	dir, _ := os.Getwd()
	files, all := &confine.StagedFiles{}, make([]Simulated, len(calls))
	if p.staging != nil {
		files = &p.staging.files
	}
	for i, c := range calls {
		t := p.ToolOf(c)
		if c.Result != nil || c.Sent || t == nil {
			continue
		}
		all[i].Places = placesOf(t, c.Arguments)
		all[i].Led = stage.PlacesFrom(dir, all[i].Places)
		if !t.Edits() {
			continue
		}
		all[i].StagedChange, all[i].Err = p.simulate(ctx, t, c.Arguments, files)
		all[i].File = stage.PathFrom(dir, all[i].Path)
	}
	return all
}

// placesOf are the targets of a call's paths, and of the directory of a built-in tool's command.
func placesOf(t *toolbox.Tool, args []byte) map[string]string {
	call := t.Call(args)
	dir := t.Declares().Dir
	if dir == "" {
		return call.PlacesOf()
	}
	return call.PlacesOf(cmp.Or(jsontext.Text(jsontext.Member(args, dir)), "."))
}

func (p *Plan) simulate(ctx context.Context, t *toolbox.Tool, args []byte, files *confine.StagedFiles) (change confine.StagedChange, err error) {
	server, err := t.Conn.Use(ctx)
	if err != nil {
		return change, err
	}
	withheld := p.Inv.Gate.Withheld(ctx, t.Call(args))
	bounds := confine.Bounds{Denied: withheld.Paths, Matches: withheld.Matches, Staged: files, Stage: &change}
	result, err := server.CallTool(confine.WithBounds(ctx, bounds), &mcp.ToolCall{Tool: t.Name, Args: args, Progress: func(wire.Progress) {}})
	if err == nil && result.IsError {
		m := result.Render()
		err = errors.New(strings.TrimSpace(jsontext.Unquote(m.JSON)))
	}
	return change, err
}

// ToolOf is the tool of a planned call; nil if this run does not have it.
func (p *Plan) ToolOf(c *stage.Call) *toolbox.Tool {
	for _, t := range p.Box.All() {
		if t.Conn.Name == c.Server.Name && t.Name == c.Tool {
			return t
		}
	}
	return nil
}

// A Reviewed is a planned call that somebody has reviewed.
type Reviewed struct {
	*stage.Call
	File   *stage.File       // the plan
	Places map[string]string // targets of its paths when the plan was checked
	Misfit func() string     // says why the call would not do what was reviewed; "" if it would
}

// ApplyCall makes one call of a plan. It is denied if a rule denies it, or if it no longer fits after
// the earlier calls. The plan records the call before it is sent, and its result.
func (p *Plan) ApplyCall(ctx context.Context, t *toolbox.Tool, c *Reviewed) (Outcome, CallTally, error) {
	k := p.newCaller(nil)
	k.planned.reviewed = c
	labels, _ := approve.ParseLabels(c.Labels, approve.Exposed)
	k.flow.add(labels, event.Source{Name: "the plan"})
	o, counts, err := k.once(ctx, stream.Call{ID: c.ID, Name: t.ModelName, Arguments: c.Arguments})
	switch {
	case !c.Sent, o.Status == event.ResultUnknown:
	case o.Result == nil && o.Refusal == nil:
		err = cmp.Or(err, c.File.NotSent(c.Call))
	default:
		err = cmp.Or(err, c.File.Done(c.Call, stage.Result{Status: string(o.Status), Time: stage.Now(), Text: o.Text()}))
	}
	return o, counts, err
}
