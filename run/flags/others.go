package flags

import (
	"slices"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/failure"
)

// OfOthers is a hint for a flag of similar programs: how to do the same here. "" is no hint.
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
	case "image", "images", "attach", "attachment":
		flag = "file PATH"
	case "template", "pattern", "role":
		flag = "preset NAME"
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

// Moved is the error for a flag of an earlier version, with its replacement. It is nil for any
// other name.
func Moved(name string) error {
	if what, ok := strings.CutPrefix(name, "list-"); ok && slices.Contains(config.Choices("list"), what) {
		return failure.UsageError([]string{seeAll}, "--%s: this flag is --list %s now", name, what)
	}
	for _, f := range []struct{ old, now, hint string }{
		{"resource", "--mcp-resource", seeAll},
		{"prompt", "--mcp-prompt", "the prompt for the model needs no flag: toolpipe 'PROMPT'"},
		{"mcp-protocol", `"protocol" of a server in the config`, `"mcpServers": {"NAME": {"command": "…", "protocol": "legacy"}}`},
		{"login-scope", `"scopes" of a server in the config`, `"mcpServers": {"NAME": {"url": "…", "oauth": {"scopes": ["…"]}}}`},
		{"think-tags", `"think_tags" of a profile in the config`, `"models": {"NAME": {"base_url": "…", "think_tags": true}}`},
	} {
		if f.old == name {
			return failure.UsageError([]string{f.hint}, "--%s: this flag is %s now", name, f.now)
		}
	}
	return nil
}

const seeAll = "toolpipe --help=all shows every flag"
