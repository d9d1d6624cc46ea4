package run

import (
	"slices"
	"strings"

	"toolpipe/mcp/toolserver"
	"toolpipe/stream"
)

// maxInstructions is how much of one server's instructions goes into the frame.
const maxInstructions = 4 << 10

// withSystem puts the system message first: the text of the flag if it is given,
// or the frame when tools are offered and there is no system message. The number
// tells how many messages at the front are never part of the output.
func withSystem(msgs []stream.Message, text string, given bool, frame func() string) ([]stream.Message, int) {
	own := len(msgs) > 0 && instructs(msgs[0])
	switch {
	case given && own: // the flag's wins, so that a later command of a chain can replace it
		msgs = msgs[1:]
	case own:
		return msgs, 0
	}
	hidden := 0
	if !given && !slices.ContainsFunc(msgs, instructs) {
		text, hidden = frame(), 1
	}
	if text == "" {
		return msgs, 0
	}
	return append([]stream.Message{{Role: stream.System, Parts: []stream.Part{{Text: text}}}}, msgs...), hidden
}

func instructs(m stream.Message) bool { return m.Role == stream.System || m.Role == stream.Developer }

// frame tells a model how to use tools in four lines, followed by the instructions
// of servers. It is "" when no tool is offered.
func (b *toolbox) frame(cmdLines bool) string {
	if !slices.ContainsFunc(b.all, func(t *tool) bool { return !t.withheld }) {
		return ""
	}
	lines := []string{
		"The tools you may use are in the `tools` field of this request.",
		"Call one by a tool call; its result comes in the next turn.",
		"Use them for structured operations.",
		"Do not guess what a tool can tell you.",
	}
	if cmdLines {
		lines[3] = "Prefer tools; for anything else write a line that begins with `CMD: ` and a shell command, and its output comes in the next turn."
	}
	for _, c := range b.conns {
		if text := c.instructionText(); text != "" {
			lines = append(lines, "", "Instructions of the tool server "+c.Name+":", text)
		}
	}
	return strings.Join(lines, "\n")
}

// instructionText is the server's instructions if the user lets them into the
// frame; by default that is so for a trusted server.
func (c *connection) instructionText() string {
	allowed := c.Trusted
	if c.Instructions != nil {
		allowed = *c.Instructions
	}
	switch {
	case !allowed:
		return ""
	case c.later != nil:
		return c.later.instructions
	case c.session == nil:
		return ""
	}
	return toolserver.Cut(c.session.Instructions(), maxInstructions, "\n[…]")
}
