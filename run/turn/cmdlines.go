package turn

import (
	"strconv"
	"strings"

	"toolpipe/run/event"
	"toolpipe/stream"
)

// commandTool is the name of the tool that runs command lines, for models that
// cannot call tools.
const commandTool = "shell__run_command"

// commandLines are the commands in the text of a whole reply under --cmd-lines: the
// lines that begin with "CMD: " and have more than blanks behind it, outside fenced
// code blocks.
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

// lineCalls are the calls of command lines.
type lineCalls struct {
	enabled bool // --cmd-lines
	count   int  // numbers them
}

// call is a command line as a call of the shell tool.
func (l *lineCalls) call(line string) *call {
	l.count++
	args := append(event.AppendString([]byte(`{"script":`), line), '}')
	return &call{
		Call: stream.Call{ID: "cmd-" + strconv.Itoa(l.count), Name: commandTool, Arguments: args},
		line: line,
	}
}
