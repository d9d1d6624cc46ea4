package flags

import "strings"

// OfOthers is a hint for a flag that other programs of this kind have: what does the same
// here. "" is none.
func OfOthers(name string) string {
	flag := ""
	switch name {
	case "p", "print":
		return "no flag is needed: toolpipe 'PROMPT' prints the answer"
	case "yes", "yolo", "dangerously-skip-permissions", "full-auto", "allow-all-tools":
		flag = "auto-approve"
	case "json", "ndjson":
		flag = "output " + name
	case "jsonl", "stream-json":
		flag = "output ndjson"
	case "output-format", "format":
		flag = "output"
	case "max-turns", "max-steps":
		flag = "max-rounds"
	case "allowedTools", "allowed-tools", "allow-tool":
		flag = "allow"
	case "disallowedTools", "disallowed-tools", "deny-tool":
		flag = "deny"
	case "system-prompt", "append-system-prompt":
		flag = "system"
	case "resume", "continue":
		flag = "session FILE"
	default:
		if strings.HasSuffix(name, "api-key") || name == "key" || name == "token" || name == "password" {
			return "a secret never goes on the command line: --key-env NAME or --key-file PATH"
		}
		return ""
	}
	return "did you mean --" + flag + "?"
}
