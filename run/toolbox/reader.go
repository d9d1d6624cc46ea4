package toolbox

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"toolpipe/mcp"
	"toolpipe/mcp/wire"
	"toolpipe/stream"
)

// ReaderTool is the tool that reads the resources of a server.
const ReaderTool = "read_resource"

// OfferReaders looks for links to resources in results, as the model sees them: so it also finds those
// of an earlier run. A server that gave one, or has an attached skill with several files, gets a tool
// that reads its resources, unless the server has a tool of that name. OfferReaders returns the new
// tools, for the next request.
func (b *Toolbox) OfferReaders(messages []stream.Message) (more []stream.Tool) {
	offer := func(c *Connection) {
		if t := b.reader(c); t != nil && b.Tool(t.ModelName) == nil {
			b.Offer(t)
			if t.Withheld = b.Denies(t); !t.Withheld && b.InRequest(t) {
				more = append(more, b.forModel(t))
			}
		}
	}
	for _, k := range b.skills {
		if len(k.Files) > 1 {
			offer(k.Conn)
		}
	}
	names := map[string]string{} // of calls, by id
	for i := range messages {
		m := &messages[i]
		for _, c := range m.Calls {
			names[c.ID] = c.Name
		}
		if m.Role != stream.ToolRole || !slices.ContainsFunc(m.Sent(), hasLink) {
			continue
		}
		if from := b.Tool(cmp.Or(names[m.CallID], m.Name)); from != nil {
			offer(from.Conn)
		}
	}
	return more
}

func hasLink(p stream.Part) bool {
	return strings.Contains(p.Text, wire.LinkPrefix) || bytes.Contains(p.JSON, []byte(wire.LinkPrefix))
}

// reader returns the tool that reads the resources of c. It is nil if c has no resources or has its
// own tool of that name, or if globs leave the tool out.
func (b *Toolbox) reader(c *Connection) *Tool {
	session := c.current()
	if session == nil || c.Local != nil || !session.HasResources() || !c.selects(ReaderTool) ||
		slices.ContainsFunc(session.Tools(), func(t wire.Tool) bool { return t.Name == c.FarName(ReaderTool) }) {
		return nil
	}
	t := &Tool{Conn: c, ModelName: mcp.OfferedName(c.Name, ReaderTool), added: added{Reader: true}, Tool: wire.Tool{
		Name: ReaderTool, Description: "Reads a resource of " + c.Name + ", such as one to which a result links.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"],"additionalProperties":false}`),
		Annotations: json.RawMessage(`{"readOnlyHint":true}`), ReadOnly: true,
	}}
	if !t.passes(b.inv.Config.Tools, b.inv.Config.ExcludeTools) || len(b.table.only) > 0 && !t.IsLike(b.table.only) {
		return nil
	}
	b.labelTool(t)
	t.Labels |= c.Exposes
	return t
}
