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

// An inspection is a mode without a turn of a model: it lists, describes, calls,
// explains or serves.
type inspection struct {
	*connector
	tally *tally
}

func (in *inspection) run(ctx context.Context) error {
	if in.cfg.Mode == config.ListModels {
		return in.listModels(ctx)
	}
	data, err := in.connectAndRead(ctx)
	if err != nil {
		return err
	}
	if err := in.useServers(); err != nil {
		return err
	}
	if err := in.emitStart(); err != nil {
		return err
	}
	if len(in.box.conns) == 0 && in.cfg.Target == "" {
		in.face.Say(in.noServers() + "; " + addServers)
	}
	switch in.cfg.Mode {
	case config.ListTools:
		in.listTools()
		return nil
	case config.UpdateLock:
		path := in.cfg.ToolsLock
		lines, err := writeLock(ctx, path, in.box.locks(nil))
		if err == nil {
			in.face.Notef("%s: locked tools: %d, instructions of servers: %d", path, len(lines["tools"]), len(lines["servers"]))
			in.sayFindings(in.box.review())
		}
		return err
	case config.ListServers:
		return in.listServers()
	case config.ListResources:
		return in.listItems(ctx, mcp.Resources, mcp.Templates)
	case config.ListPrompts:
		return in.listItems(ctx, mcp.Prompts)
	case config.ReadResource:
		return in.readResource(ctx)
	case config.Serve:
		return in.serve(ctx)
	}
	t, err := in.findTool(in.cfg.Target) // of --describe-tool, --call or --explain
	if err != nil {
		return err
	}
	if in.cfg.Mode == config.DescribeTool {
		return in.Emit(in.toolEvent(t))
	}
	args, err := in.callArguments(ctx, t, data)
	if err != nil {
		return err
	}
	if in.cfg.Mode == config.Explain {
		return in.explain(ctx, t, args)
	}
	return in.callOnce(ctx, t, args)
}

func (p *plan) noServers() string {
	if len(p.unused) > 0 {
		return "no tool server is used: all are left out by " + leftOutBy
	}
	return "no tool server is configured"
}

const leftOutBy = "--servers, --tools, the profile or their files"

const addServers = "--mcp NAME=TARGET and --files DIR add some"

// findTool finds a tool by the name that the model knows, or by SERVER__TOOL.
func (in *inspection) findTool(name string) (*tool, error) {
	if t := in.box.byName[name]; t != nil {
		return t, nil
	}
	for _, t := range in.box.all {
		if t.conn.Name+"__"+t.Name == name {
			return t, nil
		}
	}
	for i := range in.unused {
		if s := &in.unused[i]; strings.HasPrefix(name, s.Name+"__") {
			return nil, failure.Usage("no tool is named %q: server %q is left out by "+leftOutBy, name, s.Name)
		}
	}
	if len(in.box.conns) == 0 {
		return nil, failure.UsageError([]string{addServers}, "no tool is named %q: %s", name, in.noServers())
	}
	_, tool, _ := strings.Cut(name, "__")
	names := slices.Sorted(maps.Keys(in.box.byName))
	near := cmp.Or(config.NearestPart(cmp.Or(tool, name), names), config.Nearest(name, names))
	return nil, failure.UsageError(config.DidYouMean("", near, "--list-tools shows the names"), "no tool is named %q", name)
}

func (in *inspection) toolEvent(t *tool) *event.Tool {
	v := in.gate.Static(t.call(nil))
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
func (in *inspection) listServers() error {
	var failed, hints []string
	for _, c := range in.box.conns {
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
		in.Emit(e)
	}
	if len(failed) > 0 {
		return &failure.Error{Status: failure.StatusServer, Message: "required servers failed: " + config.JoinWords(failed), Hints: hints}
	}
	for _, h := range hints {
		in.face.Say("hint: " + h)
	}
	return nil
}
