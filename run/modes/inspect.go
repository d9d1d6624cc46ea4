// Package modes implements the modes without a conversation: they list, describe, call, explain and
// serve tools, check what a run would use, and sign in to servers.
package modes

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"toolpipe/mcp"
	"toolpipe/mcp/local"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/run/toolbox"
	"toolpipe/run/turn"
)

type mode struct {
	plan  *turn.Plan
	inv   *invocation.Invocation
	cfg   *config.Config
	box   *toolbox.Toolbox
	tally *turn.Tally

	socket *local.Listener // of --listen; nil without it
}

// Run performs the mode of the invocation, except Answer, Check and the logins. It counts calls in
// tally. The plan p must be resolved.
func Run(ctx context.Context, p *turn.Plan, tally *turn.Tally) error {
	m := &mode{plan: p, inv: p.Inv, cfg: p.Inv.Config, box: p.Box, tally: tally}
	if m.cfg.Listen != "" {
		if err := m.openSocket(ctx); err != nil {
			return err
		}
		defer m.socket.Close()
	}
	return m.run(ctx)
}

func (m *mode) run(ctx context.Context) error {
	if m.cfg.Lists("models") {
		return m.listModels(ctx)
	}
	data, err := m.box.Begin(ctx)
	if err != nil {
		return err
	}
	switch m.cfg.Mode {
	case config.ListTools:
		m.listTools()
		return nil
	case config.UpdateLock:
		return m.updateLock(ctx)
	case config.List:
		return m.list(ctx)
	case config.ReadResource:
		return m.readResource(ctx)
	case config.Serve:
		return m.serve(ctx)
	}
	t, err := m.findTool(m.cfg.Target) // of --describe-tool, --call or --explain
	if err != nil {
		return err
	}
	if m.cfg.Mode == config.DescribeTool {
		return m.inv.Emit(m.toolEvent(t))
	}
	args, err := m.callArguments(ctx, t, data.Data())
	if err != nil {
		return err
	}
	if m.cfg.Mode == config.Explain {
		return m.explain(ctx, t, args)
	}
	return m.callOnce(ctx, t, args)
}

func (m *mode) updateLock(ctx context.Context) error {
	skills, err := m.box.FindSkills(ctx)
	if err != nil {
		return err
	}
	items := m.box.Locked(nil)
	for i := range skills {
		items = append(items, skills[i].Locked())
	}
	lines, err := toolbox.WriteLock(ctx, m.cfg.ToolsLock, items, m.box.Revisions())
	if err != nil {
		return err
	}
	m.inv.Face.Notef("%s: locked tools: %d, skills: %d, instructions of servers: %d", m.cfg.ToolsLock, len(lines["tools"]), len(lines["skills"]), len(lines["servers"]))
	m.sayFindings(m.box.Review())
	return nil
}

func (m *mode) list(ctx context.Context) error {
	switch m.cfg.Target {
	case "servers":
		return m.listServers()
	case "resources":
		return m.listItems(ctx, mcp.Resources, mcp.Templates)
	case "skills":
		return m.listItems(ctx, mcp.Skills)
	}
	return m.listItems(ctx, mcp.Prompts)
}

const leftOutBy = "--servers, --tools, the profile or their files"

// findTool finds a tool by its name for the model, or by SERVER__TOOL.
func (m *mode) findTool(name string) (*toolbox.Tool, error) {
	if t := m.box.Tool(name); t != nil {
		return t, nil
	}
	for _, t := range m.box.All() {
		if t.Conn.Name+"__"+t.Name == name {
			return t, nil
		}
	}
	for i := range m.inv.Unused {
		if s := &m.inv.Unused[i]; strings.HasPrefix(name, s.Name+"__") {
			return nil, failure.Usage("no tool is named %q: server %q is left out by "+leftOutBy, name, s.Name)
		}
	}
	if len(m.box.Conns) == 0 {
		why := "no tool server is configured"
		if len(m.inv.Unused) > 0 {
			why = "no tool server is used: all are left out by " + leftOutBy
		}
		return nil, failure.UsageError([]string{"--mcp NAME=TARGET and --files DIR add some"}, "no tool is named %q: %s", name, why)
	}
	_, tool, _ := strings.Cut(name, "__")
	names := m.box.Names()
	near := cmp.Or(config.NearestPart(cmp.Or(tool, name), names), config.Nearest(name, names))
	return nil, failure.UsageError(config.DidYouMean("", near, "--list-tools shows the names"), "no tool is named %q", name)
}

func (m *mode) toolEvent(t *toolbox.Tool) *event.Tool {
	return &event.Tool{
		Name: t.ModelName, Server: t.Conn.Name, Tool: t.Name, Description: cmp.Or(t.Description, t.Title),
		Schema: t.InputSchema, OutputSchema: t.OutputSchema, Annotations: t.Annotations,
		Standing: m.box.Standing(t), Traits: traits(t),
	}
}

// listServers lists every server. Its error names the required servers that failed.
func (m *mode) listServers() error {
	var failed, hints []string
	for _, c := range m.box.Conns {
		e := &event.Server{Name: c.Name, Status: "ok", Tools: len(c.Listed)}
		switch { // in full: users want to see what would be started; values of variables may be secrets and are omitted
		case c.AtSocket():
			e.Transport, e.Target = "unix", c.Target()
		case c.URL != "":
			e.Transport, e.Target = "http", c.Target()
		case len(c.Command) > 0:
			e.Transport, e.Target = "stdio", c.Target()
		default:
			e.Transport, e.Target = "local", "built-in"
		}
		for _, t := range c.Listed {
			e.Tokens += toolbox.DefinitionSize(t.ForModel())
		}
		e.Tokens /= 4 // about four bytes per token
		if c.Session != nil {
			e.Protocol, e.Transport = c.Session.Protocol(), c.Session.Transport()
		}
		if c.Err != nil {
			f := c.Failure()
			e.Status, e.Message = "failed", f.Message
			for _, h := range f.Hints {
				hints = append(hints, c.Name+": "+h)
			}
			if !c.Optional {
				failed = append(failed, strconv.Quote(c.Name))
			}
		}
		m.inv.Emit(e)
	}
	if len(failed) > 0 {
		return &failure.Error{Status: failure.StatusServer, Message: "required servers failed: " + config.JoinWords(failed), Hints: hints}
	}
	for _, h := range hints {
		m.inv.Face.Say("hint: " + h)
	}
	return nil
}

// ListPresets lists the presets of the config. It needs no server and no model.
func ListPresets(p *turn.Plan) error {
	if err := p.Box.EmitStart(); err != nil {
		return err
	}
	for _, name := range p.Inv.Settings.PresetNames() {
		preset, _ := p.Inv.Settings.Preset(name)
		p.Inv.Emit(&event.Preset{Name: name, Args: preset.Words, Prompt: preset.Prompt, Text: preset.Command()})
	}
	return nil
}

func (m *mode) listModels(ctx context.Context) error {
	if err := m.box.EmitStart(); err != nil {
		return err
	}
	names, err := m.inv.Model.Client.Models(ctx)
	if err != nil {
		return err
	}
	for _, name := range names {
		m.inv.Emit(&event.Item{Kind: "model", Name: name})
	}
	if len(names) == 0 {
		m.inv.Face.Say("the endpoint lists no models")
	}
	return nil
}
