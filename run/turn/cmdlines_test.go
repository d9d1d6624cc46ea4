package turn

import (
	"slices"
	"testing"
	"toolpipe/run/event"
)

// TestCommandLines holds which lines of a reply are commands. A line of code in
// backquotes opens no block.
func TestCommandLines(t *testing.T) {
	for text, want := range map[string][]string{
		"CMD: a\r\n CMD: b\nCMD:c\nCMD: d":        {"a", "d"},
		"```sh\nCMD: a\n```\nCMD: b":              {"b"},
		"~~~\nCMD: a\n```\nCMD: b\n~~~~ \nCMD: c": {"c"},
		"``` a ```\nCMD: b":                       {"b"},
		"1. x\n    ```\nCMD: a\n    ```\nCMD: b":  {"b"},
		"```\nCMD: a":                             nil,
		"CMD: \nCMD:  \t\r\n":                     nil,
	} {
		if got := (&caller{lines: lineCalls{enabled: true}}).commandLines(event.Pieces{text}); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
