package toolbox

import (
	"slices"
	"strings"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/run/builtin"
	"toolpipe/run/servers"
	"toolpipe/stream"
)

// Results says where the tools of KeptTools find results.
type Results = builtin.Results

// KeptTools are the tools that read the results that a model does not have whole, as far as globs
// select them and rules do not deny them. They are offered later, by OfferKept. They reveal only what
// the model could have got already, so they are allowed unless a rule says otherwise.
func (b *Toolbox) KeptTools(r Results) []*Tool {
	const origin = "results"
	if gate := b.inv.Gate; !slices.ContainsFunc(gate.Rules, func(rule approve.Rule) bool { return rule.By == "default" && rule.Origin == origin }) {
		rules, _ := approve.Patterns(builtin.ResultsName+"__*", approve.Allow, "default", origin)
		gate.Rules = append(gate.Rules, rules...)
	}
	for _, c := range b.kept(r) {
		return slices.DeleteFunc(c.Listed, func(t *Tool) bool {
			return !t.passes(b.inv.Config.Tools, b.inv.Config.ExcludeTools) || len(b.table.only) > 0 && !t.IsLike(b.table.only) || b.Denies(t)
		})
	}
	return nil
}

// kept is the connection with the tools of KeptTools, whatever globs and rules say. There is none if
// another server has its name.
func (b *Toolbox) kept(r Results) []*Connection {
	if b.inv == nil || servers.Find(b.inv.Servers, builtin.ResultsName) != nil {
		return nil
	}
	c := NewConnection(builtin.ResultsServer(r, b.inv.Config.Version))
	for _, t := range c.Own.Builtins() {
		tool := &Tool{Tool: t.Tool(), Conn: c, ModelName: mcp.OfferedName(c.Name, t.Name), added: added{Kept: true}}
		b.labelTool(tool)
		c.Listed = append(c.Listed, tool)
	}
	return []*Connection{c}
}

// OfferKept adds tools of KeptTools to the callable tools, and to the offered ones.
func (b *Toolbox) OfferKept(tools []*Tool, offered []stream.Tool) []stream.Tool {
	for _, t := range tools {
		if b.Tool(t.ModelName) == nil {
			b.Offer(t)
		}
		if !slices.ContainsFunc(offered, func(o stream.Tool) bool { return o.Name == t.ModelName }) {
			offered = append(offered, b.forModel(t))
		}
	}
	return offered
}

// CallOf is a call of the tool with this name for the model. A tool that the run does not have may
// have had every effect, and may be a built-in tool, so Gate.Withheld is about its files too.
func (b *Toolbox) CallOf(name string, args []byte) approve.Call {
	if t := b.Tool(name); t != nil {
		return t.Call(args)
	}
	server, tool, _ := strings.Cut(name, "__")
	return approve.Call{Server: server, Tool: tool, Name: name, Arguments: args, Traits: approve.Traits{Assumed: approve.Exposed | approve.AllEffects, BuiltIn: true}}
}
