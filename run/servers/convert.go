package servers

import (
	"path/filepath"
	"strings"

	"toolpipe/run/config"
)

// formatHints are commands that convert a file to JSON that toolpipe reads. format is the file's format
// by its name; "" for an unknown one. A plain Debian has python3, which reads TOML but not the others.
// Its package yq is kislyuk's, which has other flags than mikefarah's.
func formatHints(file, text string) (format string, hints []string) {
	from, to, reads := paths(file)
	program := ""
	switch strings.ToLower(filepath.Ext(file)) {
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

// paths returns the redirections of a command that converts file, and words about its output.
func paths(file string) (from, to, reads string) {
	out := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file)) + ".servers.json"
	return " <" + config.ShellQuote(file), " >" + config.ShellQuote(out), "--mcp-config " + config.ShellQuote(out) + " reads what this writes"
}

// describedHints are hints for a JSON file that describes one server, detected by its keys: the
// server.json of the MCP registry or the manifest.json of a bundle; nil for any other file, and for
// standard input.
func describedHints(file string, has func(key string) bool) []string {
	program := ""
	switch {
	case file == "-":
	case has("manifest_version") || has("dxt_version"):
		dir := config.ShellQuote(filepath.Dir(file))
		program = `jq --arg dir "$(cd ` + dir + ` && pwd)" '{mcpServers: {(.name): .server.mcp_config}} | walk(strings |= gsub("\\$\\{__dirname\\}"; $dir))'`
	case has("packages") || has("remotes") || has("server"):
		program = `jq '(.server // .) | {mcpServers: {(.name | sub(".*/"; "")): (if .remotes then {url: .remotes[0].url} else .packages[0] | ` +
			`{npm: ["npx", "-y"], pypi: ["uvx"], oci: ["docker", "run", "-i", "--rm"]}[.registryType] + [.identifier] | {command: .[0], args: .[1:]} end)}}'`
	}
	if program == "" {
		return nil
	}
	from, to, reads := paths(file)
	return []string{"it describes one server; " + reads + ", to which you add what the server needs:", program + from + to}
}

// tomlProgram is the Python program that extracts the servers from a TOML text. codex stores them
// in mcp_servers.
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

// yamlProgram is the jq program that extracts the servers from a YAML text; "" if it seems to have
// none.
func yamlProgram(text string) string {
	list := false // servers are a list, not a map
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
	case key == "extensions": // goose
		return `{mcpServers: (.extensions | with_entries(select(.value | .cmd // .command // .uri // .url) | .value |= ` +
			`{command: (.cmd // .command), args, env: (.envs // .env), env_vars: .env_keys, url: (.uri // .url), headers, enabled}))}`
	case list: // Continue has names in the list; sub-agents also refer to servers by name
		return `{mcpServers: (."` + key + `" | map(objects | if .name then {(.name): .} else . end) | add)}`
	}
	return `{mcpServers: ."` + key + `"}`
}
