package run

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

// withServerMessages adds what servers give for the beginning of the conversation:
// the messages of --prompt before it, the resources of --resource attached to its
// last user message.
func (v *conversation) withServerMessages(ctx context.Context, msgs []stream.Message) ([]stream.Message, error) {
	var attached []stream.Part
	var labels approve.Labels
	for _, f := range v.cfg.Resources {
		c, parts, err := v.resource(ctx, f)
		if err != nil {
			return nil, err
		}
		attached = append(attached, parts...)
		labels |= c.exposes
	}
	if v.cfg.Prompt != "" {
		before, err := v.prompt(ctx, v.cfg.Prompt)
		if err != nil {
			return nil, err
		}
		msgs = append(before, msgs...)
	}
	msgs = input.Attach(msgs, attached)
	addLabels(msgs, labels)
	return msgs, nil
}

// ofServer finds the server that the value of a flag names. The value has the form
// NAME:REST; of says what the rest is.
func (k *connector) ofServer(ctx context.Context, flag, of, value string) (c *connection, session *mcp.Session, rest string, err error) {
	name, rest, ok := strings.Cut(value, ":")
	if !ok || name == "" || rest == "" {
		return nil, nil, "", failure.Usage("%s: %q is not of the form NAME:%s", flag, value, of)
	}
	for _, c := range k.box.conns {
		if c.Name != name && c.Spelling != name {
			continue
		}
		session, err := c.use(ctx)
		if err != nil {
			return nil, nil, "", err
		}
		if session == nil {
			return nil, nil, "", &failure.Error{Status: failure.StatusServer, Message: flag + ": server " + strconv.Quote(name) + " did not start"}
		}
		return c, session, rest, nil
	}
	return nil, nil, "", failure.UsageError(config.KnownServers(k.servers), "%s: no server is named %q", flag, name)
}

// serverError is the error of a request to a server that is no tool call.
func serverError(c *connection, err error) error {
	if err == nil || failure.IsCancelled(err) {
		return err
	}
	return &failure.Error{Status: failure.StatusServer, Message: withHint(err.Error(), &c.Server, err), Cause: err}
}

// resource reads one resource: a text headed by its URI, an image as it is.
func (v *conversation) resource(ctx context.Context, value string) (*connection, []stream.Part, error) {
	c, session, uri, err := v.ofServer(ctx, "--resource", "URI", value)
	if err != nil {
		return nil, nil, err
	}
	contents, err := session.ReadResource(ctx, uri)
	if err != nil {
		return nil, nil, serverError(c, err)
	}
	var parts []stream.Part
	for _, p := range contents {
		switch {
		case p.Text != nil:
			parts = append(parts, stream.Part{Text: cmp.Or(p.URI, uri) + ":\n\n" + jsontext.Unquote(p.Text)})
		case input.IsPicture(p.MIME):
			parts = append(parts, stream.Part{Image: &stream.Image{MIME: p.MIME, Data: string(p.Blob)}})
		default:
			return nil, nil, failure.Usage("--resource: %q is %s, neither text nor an image", uri, cmp.Or(p.MIME, "binary data"))
		}
	}
	if len(parts) == 0 {
		return nil, nil, failure.Usage("--resource: %q is empty", uri)
	}
	return c, parts, nil
}

// prompt gets NAME:PROMPT[,ARG=VALUE…] from a server.
func (v *conversation) prompt(ctx context.Context, value string) ([]stream.Message, error) {
	c, session, rest, err := v.ofServer(ctx, "--prompt", "PROMPT", value)
	if err != nil {
		return nil, err
	}
	words := strings.Split(rest, ",")
	args := map[string]string{}
	for _, w := range words[1:] {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, failure.Usage("--prompt: %q is not of the form ARG=VALUE", w)
		}
		args[name] = value
	}
	got, err := session.GetPrompt(ctx, words[0], args)
	if err != nil {
		return nil, serverError(c, err)
	}
	var msgs []stream.Message
	for _, m := range got {
		msg := stream.Message{Role: stream.User, Parts: []stream.Part{{Text: m.Text}}}
		if m.Role == "assistant" {
			msg.Role = stream.Assistant
		}
		msg.Labels = c.exposes.Words()
		msgs = append(msgs, msg)
	}
	if len(msgs) == 0 {
		return nil, &failure.Error{Status: failure.StatusServer, Message: "server " + strconv.Quote(c.Name) + ": the prompt " + strconv.Quote(words[0]) + " has no messages"}
	}
	return msgs, nil
}

// readResource emits the parts of one resource.
func (in *inspection) readResource(ctx context.Context) error {
	c, session, uri, err := in.ofServer(ctx, "--read", "URI", in.cfg.Target)
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
		return serverError(c, err)
	}
	for _, p := range parts {
		in.Emit(&event.Contents{Server: c.Name, URI: p.URI, MIME: p.MIME, Text: p.Text, Blob: p.Blob})
	}
	return nil
}

// listItems shows the items of these lists of all servers, one server after the other.
func (in *inspection) listItems(ctx context.Context, lists ...mcp.List) error {
	for _, c := range in.box.conns {
		for _, l := range lists {
			if !in.items(ctx, c, l, func(item []byte) { in.Emit(itemEvent(c.Name, l, item)) }) {
				break
			}
		}
	}
	return context.Cause(ctx)
}

// items visits the items of a list of a server. That the server cannot answer is a
// warning, and the others are asked all the same.
func (k *connector) items(ctx context.Context, c *connection, l mcp.List, visit func(item []byte)) bool {
	session, _ := c.use(ctx)
	if session == nil {
		return false // it failed, which the user was told
	}
	err := session.Items(ctx, l, visit)
	if err != nil && !failure.IsCancelled(err) {
		k.warn("server_failed", c.Name, withHint(err.Error(), &c.Server, err))
	}
	return err == nil
}

// itemEvent shows an item of a server's list of resources, templates or prompts.
func itemEvent(server string, l mcp.List, item []byte) *event.Item {
	text := func(key string) string { return jsontext.Text(jsontext.Member(item, key)) }
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
