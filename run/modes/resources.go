package modes

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"toolpipe/mcp"
	"toolpipe/run/event"
	"toolpipe/run/toolbox"
	"toolpipe/stream/text/jsontext"
)

func (m *mode) readResource(ctx context.Context) error {
	if m.cfg.Door() != "" {
		return m.readThroughDoor(ctx)
	}
	c, session, uri, err := m.box.ServerOf(ctx, "--read", "URI", m.cfg.Target)
	if err != nil {
		return err
	}
	parts, err := session.ReadResource(ctx, uri)
	if err == nil && len(parts) == 0 {
		err = fmt.Errorf("server %q: the resource %q has no contents", c.Name, uri)
	}
	for _, p := range parts {
		if _, wrong := base64.StdEncoding.DecodeString(string(p.Blob)); wrong != nil && err == nil {
			err = fmt.Errorf("server %q: the resource %q is not base64: %v", c.Name, uri, wrong)
		}
	}
	if err != nil {
		return toolbox.RequestError(c, err)
	}
	for _, p := range parts {
		m.inv.Emit(&event.Contents{Server: c.Name, URI: p.URI, MIME: p.MIME, Text: p.Text, Blob: p.Blob})
	}
	return nil
}

// readThroughDoor reads a resource by a call of the tool for that, which the run of this command
// decides about.
func (m *mode) readThroughDoor(ctx context.Context) error {
	server, uri, _ := strings.Cut(m.cfg.Target, ":")
	t, err := m.findTool(mcp.OfferedName(server, toolbox.ReaderTool))
	if err != nil {
		return err
	}
	o, err := m.makeCall(ctx, t, append(jsontext.AppendQuoted([]byte(`{"uri":`), uri), '}'))
	if err != nil || o.Result == nil {
		return err
	}
	for block := range jsontext.Elements(o.Result.Raw) {
		p := mcp.ContentsOf(jsontext.Member(block, "resource"))
		m.inv.Emit(&event.Contents{Server: server, URI: p.URI, MIME: p.MIME, Text: p.Text, Blob: p.Blob})
	}
	return nil
}

// listItems lists these lists of all servers, one server after the other.
func (m *mode) listItems(ctx context.Context, lists ...mcp.List) error {
	for _, c := range m.box.Conns {
		for _, l := range lists {
			if !m.box.Items(ctx, c, l, func(item []byte) { m.inv.Emit(itemEvent(c.Name, l, item)) }) {
				break
			}
		}
	}
	return context.Cause(ctx)
}

func itemEvent(server string, l mcp.List, item []byte) *event.Item {
	text := func(key string) string { return jsontext.Text(jsontext.Member(item, key)) }
	if l == mcp.Skills {
		of := func(key string) string { return jsontext.Text(jsontext.Member(item, "frontmatter", key)) }
		return &event.Item{Kind: "skill", Server: server, URI: text("uri"), Name: of("name"), Description: of("description")}
	}
	if l != mcp.Prompts {
		return &event.Item{
			Kind: "resource", Server: server, URI: text(l.Identity), Name: cmp.Or(text("title"), text("name")), Description: text("description"),
			MIME: text("mimeType"), Template: l == mcp.Templates,
		}
	}
	args := []event.PromptArgument{}
	for a := range jsontext.Elements(jsontext.Member(item, "arguments")) {
		args = append(args, event.PromptArgument{
			Name: jsontext.Text(jsontext.Member(a, "name")), Description: jsontext.Text(jsontext.Member(a, "description")), Required: jsontext.IsTrue(jsontext.Member(a, "required")),
		})
	}
	return &event.Item{Kind: "prompt", Server: server, Name: text("name"), Description: text("description"), Arguments: args}
}
