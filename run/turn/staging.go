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
	"toolpipe/mcp/builtin/staged"
	"toolpipe/mcp/wire"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/stage"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

// staging is what a run stages: the calls that nobody has allowed, and the contents that
// files would have if these were made. Nested runs stage into the same. It is used
// concurrently.
type staging struct {
	file  *stage.File
	files staged.Files

	mu    sync.Mutex
	seen  map[string]string // the calls that are staged, by callKey: the file that each changes, "" for none
	last  map[string]string // the last call that changes a file
	count int               // calls that this run has staged
}

// openStaging opens the plan of --stage. It goes on with one that is there if the
// conversation does.
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

// BeginStaging begins the plan of a conversation, when the tools are known: so there is one
// also if nothing is staged. It takes up the calls that a run before this one has staged in
// the same conversation.
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
			continue // it was made meanwhile
		}
		if made.Err != nil || made.File != c.File || made.Before != c.Against {
			return failure.UsageError([]string{"begin another conversation and another plan"},
				"--stage: %s:%d: the change of %q that was staged before does not fit the file any more", p.Inv.Config.Stage, c.Line, c.File)
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

// contents are the staged contents; nil where nothing is staged.
func (s *staging) contents() *staged.Files {
	if s == nil {
		return nil
	}
	return &s.files
}

// unseen tells the model that what a tool starts did not see staged contents.
func (s *staging) unseen(t *toolbox.Tool) string {
	if s == nil || !t.Declares().Runs {
		return ""
	}
	return strings.TrimSuffix(s.files.UnseenText(), "\n")
}

// stages reports whether a call that has this verdict is staged. An agent's is not: it needs
// a model.
func (r *round) stages(c *call, v approve.Verdict) bool {
	return r.plan.staging != nil && v.Outcome == approve.Unapproved && !v.EndsRun && !c.tool.Conn.Agent
}

// stagedText is the answer to a call that is staged.
const stagedText = "staged: not run yet; it will run, exactly so, after somebody has reviewed it"

// stage writes c to the plan. A built-in tool that changes a file makes the change beside the
// disk first: what it cannot do is an error now.
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
	var change staged.Change
	if c.tool.Edits() {
		bounds.Stage = &change
		result, err := server.CallTool(confine.WithBounds(ctx, bounds), &mcp.ToolCall{Tool: c.tool.Name, Args: c.args, Progress: func(wire.Progress) {}})
		if err != nil || result.IsError || change.Path == "" {
			r.bring(c, result)
			switch {
			case err != nil:
				c.answer = failedAnswer(&c.tool.Conn.Server, err)
			case r.readVerdict(ctx, c) == approve.Allowed:
				c.answer = r.rendered(result)
			default: // the tool may tell what is in the file, which nobody has allowed
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

// callKey identifies a call of a tool with these arguments.
func callKey(tool string, args []byte) string { return tool + "\x00" + string(args) }

// add writes c to the plan, and before the first call the head.
func (s *staging) add(r *round, c *call, change *staged.Change) error {
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

// ServerOf says which server a connection is to.
func ServerOf(c *toolbox.Connection, hide func(string) string) stage.Server {
	return stage.Server{Name: c.Name, Target: hide(c.Target()), Dir: c.Dir}
}

// head says what this run is that stages calls.
func (p *Plan) head() stage.Head {
	definitions := sha256.New()
	for _, t := range p.Box.All() {
		definitions.Write([]byte(t.ModelName + "\x00" + t.Locked().Digest() + "\n"))
	}
	dir, _ := os.Getwd()
	return stage.Head{Version: p.Inv.Config.Version, Policies: p.Inv.Policy, Definitions: hex.EncodeToString(definitions.Sum(nil)), Dir: dir, Time: stage.Now()}
}

// A Simulated is what a call of a plan would do now.
type Simulated struct {
	staged.Change
	File   string            // that it changes, as a plan names it
	Err    error             // why it would not; nil if it would, or the call changes no file
	Places map[string]string // where its paths and the directory of its command lead, by their texts
	Led    map[string]string // the same, as a plan names them
}

// Simulate makes the changes of files of a plan beside the disk, one after the other: those of
// the calls that are open. Calls of tools that this run does not have are left out.
func (p *Plan) Simulate(ctx context.Context, calls []*stage.Call) []Simulated {
	dir, _ := os.Getwd()
	files, all := &staged.Files{}, make([]Simulated, len(calls))
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
		all[i].Change, all[i].Err = p.simulate(ctx, t, c.Arguments, files)
		all[i].File = stage.PathFrom(dir, all[i].Path)
	}
	return all
}

// placesOf is where the paths of a call lead, and the directory of a built-in tool's command.
func placesOf(t *toolbox.Tool, args []byte) map[string]string {
	call := t.Call(args)
	dir := t.Declares().Dir
	if dir == "" {
		return call.PlacesOf()
	}
	return call.PlacesOf(cmp.Or(jsontext.Text(jsontext.Member(args, dir)), "."))
}

func (p *Plan) simulate(ctx context.Context, t *toolbox.Tool, args []byte, files *staged.Files) (change staged.Change, err error) {
	server, err := t.Conn.Use(ctx)
	if err != nil {
		return change, err
	}
	withheld := p.Inv.Gate.Withheld(ctx, t.Call(args))
	bounds := confine.Bounds{Denied: withheld.Paths, Matches: withheld.Matches, Staged: files, Stage: &change}
	result, err := server.CallTool(confine.WithBounds(ctx, bounds), &mcp.ToolCall{Tool: t.Name, Args: args, Progress: func(wire.Progress) {}})
	if err == nil && result.IsError {
		m := result.Render(0)
		err = errors.New(strings.TrimSpace(jsontext.Unquote(m.JSON)))
	}
	return change, err
}

// ToolOf is the tool of a call of a plan; nil if this run does not have it.
func (p *Plan) ToolOf(c *stage.Call) *toolbox.Tool {
	for _, t := range p.Box.All() {
		if t.Conn.Name == c.Server.Name && t.Name == c.Tool {
			return t
		}
	}
	return nil
}

// A Reviewed is a call of a plan that somebody has reviewed.
type Reviewed struct {
	*stage.Call
	File   *stage.File       // the plan
	Places map[string]string // where its paths led when the plan was compared
	Misfit func() string     // says why it would not do what was reviewed any more; "" if it would
}

// ApplyCall makes one call of a plan. What a rule denies is denied all the same, and so is a
// call that is a misfit when it is its turn: the calls before it may have changed what it is
// about. The plan is told before the call is sent, and what it came to.
func (p *Plan) ApplyCall(ctx context.Context, t *toolbox.Tool, c *Reviewed) (Outcome, CallTally, error) {
	k := p.newCaller(nil)
	k.separate = true
	k.planned.reviewed = c
	if p.Inv.Config.MaxResultBytes == 0 {
		k.maxBytes = 0
	}
	labels, _ := approve.ParseLabels(c.Labels, approve.Exposed)
	k.flow.add(labels, event.Source{Name: "the plan"})
	r := k.newRound(0, []stream.Call{{ID: c.ID, Name: t.ModelName, Arguments: c.Arguments}}, nil)
	err := r.alone(ctx)
	o := outcomeOf(r.calls[0])
	switch {
	case !c.Sent, o.Status == event.ResultUnknown:
	case o.Result == nil && o.Refusal == nil:
		err = cmp.Or(err, c.File.NotSent(c.Call))
	default:
		err = cmp.Or(err, c.File.Done(c.Call, stage.Result{Status: string(o.Status), Time: stage.Now(), Text: o.Text()}))
	}
	return o, r.tally, err
}
