package run

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
)

// inspect does what a mode without a model says: it lists, describes, calls, explains
// or serves. data is standard input if the mode reads it.
func (r *runner) inspect(ctx context.Context, data []byte) error {
	if len(r.box.conns) == 0 && r.cfg.Target == "" {
		r.face.Say(r.noServers() + "; " + addServers)
	}
	switch r.cfg.Mode {
	case config.ListTools:
		r.listTools()
		return nil
	case config.UpdateLock:
		path := r.cfg.ToolsLock
		lines, err := writeLock(ctx, path, r.box.locks(nil))
		if err == nil {
			r.face.Notef("%s: locked tools: %d, instructions of servers: %d", path, len(lines["tools"]), len(lines["servers"]))
			r.sayFindings(r.box.review())
		}
		return err
	case config.ListServers:
		return r.listServers()
	case config.ListResources:
		return r.listItems(ctx, mcp.Resources, mcp.Templates)
	case config.ListPrompts:
		return r.listItems(ctx, mcp.Prompts)
	case config.ReadResource:
		return r.readResource(ctx)
	case config.Serve:
		return r.serve(ctx)
	}
	t, err := r.findTool(r.cfg.Target) // of --describe-tool, --call or --explain
	if err != nil {
		return err
	}
	if r.cfg.Mode == config.DescribeTool {
		return r.Emit(r.toolEvent(t))
	}
	args, err := r.callArguments(ctx, t, data)
	if err != nil {
		return err
	}
	if r.cfg.Mode == config.Explain {
		return r.explain(ctx, t, args)
	}
	return r.callOnce(ctx, t, args)
}

func (r *runner) noServers() string {
	if len(r.unused) > 0 {
		return "no tool server is used: all are left out by " + leftOutBy
	}
	return "no tool server is configured"
}

const leftOutBy = "--servers, --tools, the profile or their files"

const addServers = "--mcp NAME=TARGET and --files DIR add some"

// findTool finds a tool by the name that the model knows, or by SERVER__TOOL.
func (r *runner) findTool(name string) (*tool, error) {
	if t := r.box.byName[name]; t != nil {
		return t, nil
	}
	for _, t := range r.box.all {
		if t.conn.Name+"__"+t.Name == name {
			return t, nil
		}
	}
	for i := range r.unused {
		if s := &r.unused[i]; strings.HasPrefix(name, s.Name+"__") {
			return nil, failure.Usage("no tool is named %q: server %q is left out by "+leftOutBy, name, s.Name)
		}
	}
	if len(r.box.conns) == 0 {
		return nil, failure.UsageError([]string{addServers}, "no tool is named %q: %s", name, r.noServers())
	}
	_, tool, _ := strings.Cut(name, "__")
	names := slices.Sorted(maps.Keys(r.box.byName))
	near := cmp.Or(config.NearestPart(cmp.Or(tool, name), names), config.Nearest(name, names))
	return nil, failure.UsageError(config.DidYouMean("", near, "--list-tools shows the names"), "no tool is named %q", name)
}

func (r *runner) toolEvent(t *tool) *event.Tool {
	v := r.gate.Static(t.call(nil))
	return &event.Tool{
		Name: t.name, Server: t.conn.Name, Tool: t.Name, Description: cmp.Or(t.Description, t.Title),
		Schema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: t.Annotations,
		Verdict: verdictWord(v.Outcome), Rule: v.Rule, Labels: t.labels.Words(),
	}
}

// verdictWord is allow, ask or deny: a call that nobody has approved yet is asked
// about.
func verdictWord(o approve.Outcome) string {
	if o == approve.Unapproved {
		return "ask"
	}
	return o.String()
}

// listServers shows every server. Its error names the required servers that failed.
func (r *runner) listServers() error {
	var failed, hints []string
	for _, c := range r.box.conns {
		e := &event.Server{Name: c.Name, Status: "ok", Tools: len(c.tools)}
		switch { // in full, for a user wants to see what would be started; values of variables, which may be secrets, stay out
		case c.URL != "":
			e.Transport, e.Target = "http", cmp.Or(c.Shown, c.URL)
		case len(c.Command) > 0:
			e.Transport, e.Target = "stdio", cmp.Or(c.Shown, config.QuoteWords(c.Command))
		default:
			e.Transport, e.Target = "local", "built-in"
		}
		for _, t := range c.tools {
			e.Tokens += definitionSize(t.offered())
		}
		e.Tokens /= 4 // about four bytes are one
		if c.session != nil {
			e.Protocol, e.Transport = c.session.Protocol(), c.session.Transport()
		}
		if c.err != nil {
			f := c.failure()
			e.Status, e.Message = "failed", f.Message
			for _, h := range f.Hints {
				hints = append(hints, c.Name+": "+h)
			}
			if !c.Optional {
				failed = append(failed, strconv.Quote(c.Name))
			}
		}
		r.Emit(e)
	}
	if len(failed) > 0 {
		return &failure.Error{Status: failure.StatusServer, Message: "required servers failed: " + config.JoinWords(failed), Hints: hints}
	}
	for _, h := range hints {
		r.face.Say("hint: " + h)
	}
	return nil
}
