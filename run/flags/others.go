package flags

import (
	"slices"
	"strings"
)

// flagsOfOthers are flags of similar programs, and the flag that does the same here.
var flagsOfOthers = []struct{ ours, others string }{
	{"auto-approve", "yes yolo dangerously-skip-permissions full-auto allow-all-tools"},
	{"output json", "json"},
	{"output ndjson", "ndjson jsonl stream-json"},
	{"output", "output-format format"},
	{"max-rounds", "max-turns max-steps"},
	{"allow", "allowedTools allowed-tools allow-tool"},
	{"deny", "disallowedTools disallowed-tools deny-tool"},
	{"system", "system-prompt append-system-prompt"},
	{"session FILE", "resume continue"},
}

// OfOthers is a hint for a flag of similar programs; "" for none.
func OfOthers(name string) string {
	switch {
	case name == "p", name == "print":
		return "no flag is needed: toolpipe 'PROMPT' prints the answer"
	case strings.HasSuffix(name, "api-key"), name == "key", name == "token", name == "password":
		return "a secret never goes on the command line: --key-env NAME or --key-file PATH"
	}
	for _, f := range flagsOfOthers {
		if slices.Contains(strings.Fields(f.others), name) {
			return "did you mean --" + f.ours + "?"
		}
	}
	return ""
}
