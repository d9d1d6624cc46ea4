package run

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"toolpipe/approve"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/run/toolbox"
	"toolpipe/run/turn"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

// withServerMessages adds the messages that servers give: --mcp-prompt adds messages at the
// beginning, --skill and --mcp-resource attach texts and images to the last user message.
func (v *conversation) withServerMessages(ctx context.Context, msgs []stream.Message) ([]stream.Message, error) {
	var attached []stream.Part
	var labels approve.Labels
	skills, err := v.plan.Box.FindSkills(ctx)
	if err != nil {
		return nil, err
	}
	for i := range skills {
		text, err := v.plan.Box.SkillText(ctx, &skills[i])
		if err != nil {
			return nil, err
		}
		attached = append(attached, stream.Part{Text: text})
		labels |= skills[i].Conn.Exposes
	}
	for _, f := range v.inv.Config.Resources {
		c, parts, err := v.resource(ctx, f)
		if err != nil {
			return nil, err
		}
		attached = append(attached, parts...)
		labels |= c.Exposes
	}
	if v.inv.Config.Prompt != "" {
		before, err := v.prompt(ctx, v.inv.Config.Prompt)
		if err != nil {
			return nil, err
		}
		msgs = append(before, msgs...)
	}
	msgs = input.Attach(msgs, attached)
	addLabels(msgs, labels)
	return msgs, nil
}

// resource reads one resource. A text gets its URI as a heading. Data that models do not read is
// described, if it is not all of the resource.
func (v *conversation) resource(ctx context.Context, value string) (*toolbox.Connection, []stream.Part, error) {
	c, session, uri, err := v.plan.Box.ServerOf(ctx, "--mcp-resource", "URI", value)
	if err != nil {
		return nil, nil, err
	}
	contents, err := session.ReadResource(ctx, uri)
	if err != nil {
		return nil, nil, toolbox.RequestError(c, err)
	}
	var parts []stream.Part
	usable := false
	for i := range contents {
		shown := contents[i].Show()
		usable = usable || shown.IsText || shown.Media != nil
		switch text := jsontext.Unquote(shown.Text); {
		case shown.Media != nil:
			parts = append(parts, turn.MediaPart(shown.Media))
		case shown.IsText:
			parts = append(parts, stream.Part{Text: cmp.Or(contents[i].URI, uri) + ":\n\n" + text})
		default:
			parts = append(parts, stream.Part{Text: text})
		}
	}
	switch {
	case len(parts) == 0:
		err = failure.Usage("--mcp-resource: %q is empty", uri)
	case !usable:
		err = failure.Usage("--mcp-resource: %q is neither text nor a picture nor a PDF: %s", uri, parts[0].Text)
	}
	return c, parts, err
}

// prompt gets NAME:PROMPT[,ARG=VALUE…] from a server.
func (v *conversation) prompt(ctx context.Context, value string) ([]stream.Message, error) {
	c, session, rest, err := v.plan.Box.ServerOf(ctx, "--mcp-prompt", "PROMPT", value)
	if err != nil {
		return nil, err
	}
	words := strings.Split(rest, ",")
	args := map[string]string{}
	for _, w := range words[1:] {
		name, value, ok := strings.Cut(w, "=")
		if !ok || name == "" {
			return nil, failure.Usage("--mcp-prompt: %q is not of the form ARG=VALUE", w)
		}
		args[name] = value
	}
	got, err := session.GetPrompt(ctx, c.FarName(words[0]), args)
	if err != nil {
		return nil, toolbox.RequestError(c, err)
	}
	var msgs []stream.Message
	for _, m := range got {
		msg := stream.Message{Role: stream.User, Parts: []stream.Part{{Text: m.Text}}}
		if m.Role == "assistant" { // no dialect has images in assistant messages
			msg.Role, m.Media = stream.Assistant, nil
		}
		for i := range m.Media {
			msg.Parts = append(msg.Parts, turn.MediaPart(&m.Media[i]))
		}
		msg.Labels = c.Exposes.Words()
		msgs = append(msgs, msg)
	}
	if len(msgs) == 0 {
		return nil, &failure.Error{Status: failure.StatusServer, Message: "server " + strconv.Quote(c.Name) + ": the prompt " + strconv.Quote(words[0]) + " has no messages"}
	}
	return msgs, nil
}

// labelInput labels the last message, which contains attached files or standard input. Standard
// input next to a prompt in the arguments is data, and anybody may have written it. The same is
// true next to a system message if egress rules can stop a call, unless a policy labels the input.
// Messages that are read from standard input carry their labels already.
func (v *conversation) labelInput(msgs []stream.Message, data []byte) {
	var labels approve.Labels
	reads := len(data) > 0 && v.inv.Config.Input != "messages"
	if reads || len(v.inv.Config.Files) > 0 {
		labels = v.inv.Gate.Input
	}
	gate := v.inv.Gate
	tasked := v.system.Given && gate.Egress <= approve.EgressAsk && !gate.InputSaid
	if reads && (tasked || strings.Join(v.inv.Config.Args, "") != "") {
		labels |= approve.Untrusted
	}
	addLabels(msgs, labels)
}

func addLabels(msgs []stream.Message, labels approve.Labels) {
	if n := len(msgs) - 1; n >= 0 && labels != 0 {
		own, _ := approve.ParseLabels(msgs[n].Labels, approve.Exposed)
		msgs[n].Labels = (own | labels&approve.Exposed).Words()
	}
}
