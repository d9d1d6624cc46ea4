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
// lines that begin with "CMD: ", outside fenced code blocks.
func (c *caller) commandLines(text []byte) []string {
	if !c.cmdLines {
		return nil
	}
	var lines []string
	fence := ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		mark := fenceOf(line)
		switch {
		case fence != "":
			if strings.HasPrefix(mark, fence) && strings.Trim(strings.TrimSpace(line), fence[:1]) == "" {
				fence = ""
			}
		case mark != "":
			fence = mark
		case strings.HasPrefix(line, "CMD: "):
			lines = append(lines, line[len("CMD: "):])
		}
	}
	return lines
}

// fenceOf is the run of backquotes or tildes that opens or closes a fenced code
// block as CommonMark has it, "" for any other line.
func fenceOf(line string) string {
	s := strings.TrimLeft(line, " ")
	if len(line)-len(s) > 3 || len(s) < 3 || s[0] != '`' && s[0] != '~' {
		return ""
	}
	n := len(s) - len(strings.TrimLeft(s, s[:1]))
	if n < 3 {
		return ""
	}
	return s[:n]
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
