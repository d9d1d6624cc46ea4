// Package manual contains the manual: one page for each topic, in files of plain text that are
// embedded in the program. A page is printed unchanged, or as roff for man. The files have this
// form:
//
//	topic: title of the page           the first line
//	HEADING                            a line that is not indented
//	  A paragraph.                     indented by two
//	  term  meaning of the term        rows of a table, indented by two, with two
//	        and more of it             or more blanks after the term
//
//	      an example                   indented by six, after an empty line
package manual

import (
	"embed"
	"strings"

	"toolpipe/mcp/builtin/protected"
)

//go:embed *.txt
var files embed.FS

// Topics are the names of the pages, in the order of the complete manual.
func Topics() []string {
	return []string{"input", "session", "models", "servers", "serve", "login", "approvals", "stage", "report", "policy", "egress", "events", "exit", "config", "presets", "files", "code", "processes", "shell-tools", "sandbox", "secrets", "notes", "security", "recipes"}
}

// Page is the page on a topic; "" if there is none. The page on secrets ends with the list of them.
func Page(topic string) string {
	text, err := files.ReadFile(topic + ".txt")
	if err != nil {
		return ""
	}
	if topic == "secrets" {
		text = append(text, protected.Text()...)
	}
	return string(text)
}

func Title(topic string) string {
	first, _, _ := strings.Cut(Page(topic), "\n")
	return strings.TrimPrefix(first, topic+": ")
}
