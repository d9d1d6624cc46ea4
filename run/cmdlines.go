package run

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
func (c *caller) commandLines(text []byte) []string {
	if !c.cmdLines {
		return nil
	}
	var lines []string
	fence := ""
	for line := range strings.Lines(string(text)) {
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

// lineCall is a command line as a call of the shell tool.
func (c *caller) lineCall(line string) *call {
	c.lineCount++
	args := append(event.AppendString([]byte(`{"script":`), line), '}')
	return &call{
		Call: stream.Call{ID: "cmd-" + strconv.Itoa(c.lineCount), Name: commandTool, Arguments: args},
		line: line,
	}
}
