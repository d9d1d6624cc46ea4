package run

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/mcp"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/stream"
	"toolpipe/stream/jsontext"
)

// withServerMessages adds what servers give for the beginning of the conversation:
// the messages of --prompt before it, the resources of --resource attached to its
// last user message.
func (b *toolbox) withServerMessages(ctx context.Context, msgs []stream.Message, prompt string, resources []string) ([]stream.Message, error) {
	var attached []stream.Part
	var labels approve.Labels
	for _, f := range resources {
		c, parts, err := b.resource(ctx, f)
		if err != nil {
			return nil, err
		}
		attached = append(attached, parts...)
		labels |= c.exposes
	}
	if prompt != "" {
		before, err := b.prompt(ctx, prompt)
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
func (b *toolbox) ofServer(ctx context.Context, flag, of, value string) (c *connection, session *mcp.Session, rest string, err error) {
	name, rest, ok := strings.Cut(value, ":")
	if !ok || name == "" || rest == "" {
		return nil, nil, "", failure.Usage("%s: %q is not of the form NAME:%s", flag, value, of)
	}
	for _, c := range b.conns {
		if c.Name != name && c.Spelling != name {
			continue
		}
		session, err := c.use(ctx)
		if f, ok := errors.AsType[*failure.Error](err); ok {
			return nil, nil, "", f
		}
		if err != nil {
			return nil, nil, "", context.Cause(ctx)
		}
		if session == nil || c.err != nil {
			return nil, nil, "", &failure.Error{Status: failure.StatusServer, Message: flag + ": server " + strconv.Quote(name) + " did not start"}
		}
		return c, session, rest, nil
	}
	return nil, nil, "", failure.UsageError(config.KnownServers(b.servers()), "%s: no server is named %q", flag, name)
}

// serverError is the error of a request to a server that is no tool call.
func serverError(c *connection, err error) error {
	if err == nil || failure.IsCancelled(err) {
		return err
	}
	return &failure.Error{Status: failure.StatusServer, Message: withHint(err.Error(), &c.Server, err), Cause: err}
}

// imageTypes are the pictures that the models of all APIs take.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// resource reads one resource: a text headed by its URI, an image as it is.
func (b *toolbox) resource(ctx context.Context, value string) (*connection, []stream.Part, error) {
	c, session, uri, err := b.ofServer(ctx, "--resource", "URI", value)
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
		case slices.Contains(imageTypes, p.MIME):
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
func (b *toolbox) prompt(ctx context.Context, value string) ([]stream.Message, error) {
	c, session, rest, err := b.ofServer(ctx, "--prompt", "PROMPT", value)
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
func (r *runner) readResource(ctx context.Context) error {
	c, session, uri, err := r.box.ofServer(ctx, "--read", "URI", r.cfg.Target)
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
		r.Emit(&event.Contents{Server: c.Name, URI: p.URI, MIME: p.MIME, Text: p.Text, Blob: p.Blob})
	}
	return nil
}

// listResources shows the resources of all servers, and the templates of some.
func (r *runner) listResources(ctx context.Context) error {
	return r.listItems(func(c *connection) (items []*event.Item, err error) {
		list, err := c.session.ListResources(ctx)
		for _, x := range list {
			items = append(items, &event.Item{
				Kind: "resource", Server: c.Name, URI: x.URI, Name: cmp.Or(x.Title, x.Name), Description: x.Description, MIME: x.MIME, Template: x.Template,
			})
		}
		return items, err
	})
}

// listPrompts shows the prompts of all servers.
func (r *runner) listPrompts(ctx context.Context) error {
	return r.listItems(func(c *connection) (items []*event.Item, err error) {
		list, err := c.session.ListPrompts(ctx)
		for _, x := range list {
			args := []event.PromptArgument{}
			for _, a := range x.Arguments {
				args = append(args, event.PromptArgument(a))
			}
			items = append(items, &event.Item{Kind: "prompt", Server: c.Name, Name: x.Name, Description: x.Description, Arguments: args})
		}
		return items, err
	})
}

// listItems asks every server in turn, and emits its items. A server that cannot
// answer is a warning, and the others are asked all the same.
func (r *runner) listItems(ask func(*connection) ([]*event.Item, error)) error {
	for _, c := range r.box.conns {
		if c.session == nil || c.err != nil {
			continue
		}
		items, err := ask(c)
		if failure.IsCancelled(err) {
			return err
		}
		if err != nil {
			r.warn("server_failed", c.Name, withHint(err.Error(), &c.Server, err))
		}
		for _, item := range items {
			r.Emit(item)
		}
	}
	return nil
}
