package turn

import (
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp/builtin/shell"
	"toolpipe/run/event"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

// A System is the system message from flags.
type System struct {
	Text  string
	Given bool // it may be empty
}

// WithSystem puts the system message first: the one from flags, or else the frame if tools are
// offered and there is no system message. The number is how many messages at the front are never
// part of the output. msgs must not be used afterwards: its memory, which may be large, is reused.
func (p *Plan) WithSystem(msgs []stream.Message, own System, box *toolbox.Toolbox, cmdLines bool) ([]stream.Message, int) {
	has := len(msgs) > 0 && Instructs(msgs[0])
	switch {
	case own.Given && has: // the flag has precedence, so that a later command of a chain can replace it
		msgs = msgs[1:]
	case has:
		return msgs, 0
	}
	text, hidden := own.Text, 0
	if !own.Given && !slices.ContainsFunc(msgs, Instructs) {
		text, hidden = frame(box, cmdLines, p.staging != nil), 1
	}
	if text == "" {
		return msgs, 0
	}
	return slices.Insert(msgs, 0, stream.Message{Role: stream.System, Parts: []stream.Part{{Text: text}}}), hidden
}

// Instructs reports whether m is a system message.
func Instructs(m stream.Message) bool { return m.Role == stream.System || m.Role == stream.Developer }

// frame is a system message of four lines about the use of tools, followed by the instructions of
// servers. It is "" if no tool is offered.
func frame(box *toolbox.Toolbox, cmdLines, stages bool) string {
	if !slices.ContainsFunc(box.All(), func(t *toolbox.Tool) bool { return !t.Withheld }) {
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
	if stages {
		lines = append(lines, "A call that is answered with `[toolpipe] staged` has not run yet: it runs unchanged after a review. Do not repeat it; continue with work that does not need its result.")
	}
	for _, c := range box.Conns {
		if text := c.InstructionText(); text != "" {
			lines = append(lines, "", "Instructions of the tool server "+c.Name+":", text)
		}
	}
	return strings.Join(lines, "\n")
}

// TextOf is the text of all parts of a message.
func TextOf(m *stream.Message) (text string) {
	for _, p := range m.Parts {
		text += p.Text + jsontext.Text(p.JSON)
	}
	return text
}

// commandLines are the commands in the text of a complete reply under --cmd-lines: lines outside
// fenced code blocks that begin with "CMD: ", followed by more than blanks.
func (c *caller) commandLines(text event.Pieces) []string {
	if !c.lines.enabled {
		return nil
	}
	var lines []string
	fence := ""
	for line := range strings.Lines(text.String()) {
		line = strings.TrimRight(line, "\r\n")
		command, isCommand := strings.CutPrefix(line, "CMD: ")
		mark, info := event.Fence(strings.TrimLeft(line, " "))
		switch {
		case fence == "" && mark != "":
			fence = mark
		case fence == "" && isCommand && strings.TrimSpace(command) != "":
			lines = append(lines, command)
		case fence != "" && strings.HasPrefix(mark, fence) && info == "":
			fence = ""
		}
	}
	return lines
}

type lineCalls struct {
	enabled bool // --cmd-lines
	count   int  // of calls so far, for their ids
}

func (l *lineCalls) call(line string) *call {
	l.count++
	return &call{Call: lineCall("cmd-"+strconv.Itoa(l.count), line), line: line}
}

func lineCall(id, line string) stream.Call {
	args := append(event.AppendString([]byte(`{"script":`), line), '}')
	return stream.Call{ID: id, Name: shell.CommandTool, Arguments: args}
}
