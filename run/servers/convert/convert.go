// Package convert shows the commands that make JSON of the config files of hosts that write TOML, YAML or the head of
// a Markdown file.
package convert

import (
	"path/filepath"
	"strings"

	"toolpipe/run/config"
)

// Hints are what a user can type to make JSON of a file, with its servers where toolpipe looks for them, and the format that
// the file has by its name; "" for none that is known. A plain Debian has python3, which reads TOML and none of the others;
// its package yq is kislyuk's, which reads YAML, writes JSON, and takes other flags than mikefarah's.
func Hints(file, text string) (format string, hints []string) {
	ext := filepath.Ext(file)
	out := strings.TrimSuffix(filepath.Base(file), ext) + ".servers.json"
	from, to := " <"+config.ShellQuote(file), " >"+config.ShellQuote(out)
	reads := "--mcp-config " + config.ShellQuote(out) + " reads what this writes"
	program := ""
	switch strings.ToLower(ext) {
	case ".toml":
		return "TOML", []string{reads + ":", "python3 -c " + config.ShellQuote(tomlProgram(text)) + from + to}
	case ".yaml", ".yml":
		format = "YAML"
		if jq := yamlProgram(text); jq != "" {
			program = "yq " + config.ShellQuote(jq) + from + to
		}
	case ".md", ".mdc":
		format = "Markdown"
		head, isHead := strings.CutPrefix(text, "---")
		head, _, _ = strings.Cut(head, "\n---")
		if jq := yamlProgram(head); isHead && jq != "" {
			program = "sed '1d;/^---/,$d'" + from + " | yq " + config.ShellQuote(jq) + to
		}
	}
	if program != "" {
		hints = []string{reads + "; it needs yq (apt install yq):", program}
	}
	return format, hints
}

// tomlProgram is the Python program that takes the servers out of a TOML text. codex has them in mcp_servers.
func tomlProgram(text string) string {
	read := "tomllib.load(sys.stdin.buffer)"
	switch {
	case strings.Contains(text, "[[mcp_servers]]"):
		read = `{"mcpServers": {s["name"]: s for s in ` + read + `["mcp_servers"]}}`
	case strings.Contains(text, "mcp_servers"):
		read = `{"mcpServers": ` + read + `["mcp_servers"]}`
	}
	return "import json,sys,tomllib; print(json.dumps(" + read + "))"
}

// yamlProgram is the jq program that takes the servers out of a YAML text; "" where it seems to have none.
func yamlProgram(text string) string {
	list := false // of servers, and not a map
	key := ""
	for line := range strings.Lines(text) {
		word := strings.TrimSpace(line)
		if key != "" && word != "" && word[0] != '#' {
			list = word[0] == '-'
			break
		}
		for _, known := range []string{"mcpServers", "mcp-servers", "mcp_servers", "extensions"} {
			if strings.HasPrefix(line, known+":") {
				key = known
			}
		}
	}
	switch {
	case key == "":
		return ""
	case key == "extensions": // of goose
		return `{mcpServers: (.extensions | with_entries(select(.value | .cmd // .command // .uri // .url) | .value |= ` +
			`{command: (.cmd // .command), args, env: (.envs // .env), env_vars: .env_keys, url: (.uri // .url), headers, enabled}))}`
	case list: // of Continue, which has the names in it; of sub-agents, which have names of others too
		return `{mcpServers: (."` + key + `" | map(objects | if .name then {(.name): .} else . end) | add)}`
	}
	return `{mcpServers: ."` + key + `"}`
}
