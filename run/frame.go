package run

import (
	"slices"
	"strings"
	"unicode/utf8"

	"toolpipe/stream"
)

// maxInstructions is how much of one server's instructions goes into the frame.
const maxInstructions = 4 << 10

// withSystem puts the system message first: the user's, or when tools are
// offered and there is none, the frame. It returns how many messages at the
// front are not part of the conversation's output.
func (r *runner) withSystem(msgs []stream.Message, text string, given bool) ([]stream.Message, int) {
	own := len(msgs) > 0 && instructs(msgs[0])
	switch {
	case given && own: // the flag's wins, so that a later command of a chain can replace it
		msgs = msgs[1:]
	case own:
		return msgs, 0
	}
	if given {
		if text == "" {
			return msgs, 0
		}
		return append([]stream.Message{{Role: stream.System, Parts: []stream.Part{{Text: text}}}}, msgs...), 0
	}
	if len(r.request.Tools) == 0 || slices.ContainsFunc(msgs, instructs) {
		return msgs, 0
	}
	return append([]stream.Message{{Role: stream.System, Parts: []stream.Part{{Text: r.frame()}}}}, msgs...), 1
}

func instructs(m stream.Message) bool { return m.Role == stream.System || m.Role == stream.Developer }

// frame tells a model how to use tools, in four lines, and what servers say
// about themselves if they may.
func (r *runner) frame() string {
	lines := []string{
		"The tools you may use are in the `tools` field of this request.",
		"Call one by a tool call; its result comes in the next turn.",
		"Use them for structured operations.",
		"Do not guess what a tool can tell you.",
	}
	if r.cfg.CmdLines {
		lines[3] = "Prefer tools; for anything else write a line that begins with `CMD: ` and a shell command, and its output comes in the next turn."
	}
	for _, c := range r.box.conns {
		if text := c.instructionText(); text != "" {
			lines = append(lines, "", "Instructions of the tool server "+c.Name+":", text)
		}
	}
	return strings.Join(lines, "\n")
}

// instructionText is what the server says of itself, if the user lets it:
// by default only a trusted server may.
func (c *connection) instructionText() string {
	may := c.Trusted
	if c.Instructions != nil {
		may = *c.Instructions
	}
	if !may || c.session == nil || c.err != nil {
		return ""
	}
	text := c.session.Instructions()
	if len(text) > maxInstructions {
		cut := maxInstructions
		for !utf8.RuneStart(text[cut]) {
			cut--
		}
		text = text[:cut] + "\n[…]"
	}
	return text
}
