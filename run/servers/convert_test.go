package servers

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/testdata/processtest"
)

// TestHints runs each command that is shown, where what it needs is there, and compares what it writes.
func TestHints(t *testing.T) {
	processtest.FindPython()
	for _, x := range []struct{ file, text, format, needs, want string }{
		{"config.toml", "model = 'x'\n[mcp_servers.a]\ncommand = 'npx'\nargs = ['-y']\n[mcp_servers.a.env]\nK = 'v'\n", "TOML", "python3",
			`{"mcpServers":{"a":{"command":"npx","args":["-y"],"env":{"K":"v"}}}}`},
		{"it's.toml", "[[mcp_servers]]\nname = 'a'\ncommand = 'npx'\n", "TOML", "python3", `{"mcpServers":{"a":{"name":"a","command":"npx"}}}`},
		{"x.TOML", "[mcpServers.a]\ncommand = 'npx'\n", "TOML", "python3", `{"mcpServers":{"a":{"command":"npx"}}}`},
		{"goose.yaml", "extensions:\n  developer:\n    type: builtin\n  a:\n    cmd: npx\n    args: ['-y', x]\n    envs: {K: v}\n    enabled: true\n", "YAML", "yq",
			`{"mcpServers":{"a":{"command":"npx","args":["-y","x"],"env":{"K":"v"},"env_vars":null,"url":null,"headers":null,"enabled":true}}}`},
		{"-x.yml", "name: y\nmcpServers:\n\n  # one\n  - name: a b\n    command: npx\n", "YAML", "yq", `{"mcpServers":{"a b":{"name":"a b","command":"npx"}}}`},
		{"x.yaml", "mcp-servers:\n  a: {command: npx}\n", "YAML", "yq", `{"mcpServers":{"a":{"command":"npx"}}}`},
		{"my agent.agent.md", "---\r\nname: x\r\nmcp-servers:\r\n  a:\r\n    command: npx\r\n---\r\n# Title\r\nmcpServers: no\r\n---\r\n", "Markdown", "yq", `{"mcpServers":{"a":{"command":"npx"}}}`},
		{"sub.md", "---\nname: x\nmcpServers:\n  - other\n  - a:\n      command: npx\n---\ntext\n", "Markdown", "yq", `{"mcpServers":{"a":{"command":"npx"}}}`},
		{"plain.md", "# mcp-servers:\nmcp-servers:\n", "Markdown", "", ""},
		{"empty.yaml", "", "YAML", "", ""},
		{"x.json", "{", "", "", ""},
		{"-", "mcpServers:", "", "", ""},
	} {
		format, hints := formatHints(x.file, x.text)
		if format != x.format || (hints == nil) != (x.needs == "") {
			t.Errorf("%s: %s, %q", x.file, format, hints)
			continue
		}
		if hints == nil {
			continue
		}
		if x.needs == "python3" && exec.Command("python3", "-c", "import tomllib").Run() != nil || !isThere(x.needs) {
			t.Logf("%s: skipped, for want of %s", x.file, x.needs)
			continue
		}
		if got := converted(t, x.file, x.text, hints[len(hints)-1]); got != strings.ReplaceAll(x.want, " ", "") {
			t.Errorf("%s: %s, want %s", x.file, got, x.want)
		}
	}
}

// TestDescribed runs the commands for files that describe one server.
func TestDescribed(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{`{"manifest_version":"0.3","name":"a b","server":{"mcp_config":{"command":"node","args":["${__dirname}/i.js"]}}}`, `{"mcpServers":{"ab":{"command":"node","args":["DIR/i.js"]}}}`},
		{`{"name":"io.x/fs","packages":[{"registryType":"npm","identifier":"@me/fs"}]}`, `{"mcpServers":{"fs":{"command":"npx","args":["-y","@me/fs"]}}}`},
		{`{"server":{"name":"io.x/web","remotes":[{"type":"streamable-http","url":"https://x.test/mcp"}]},"_meta":{}}`, `{"mcpServers":{"web":{"url":"https://x.test/mcp"}}}`},
		{`{"name":"x"}`, ""},
	} {
		hints := describedHints("it's.json", func(key string) bool { return strings.Contains(x.text, `"`+key+`":`) })
		if (hints == nil) != (x.want == "") {
			t.Errorf("%s: %q", x.text, hints)
		}
		if hints == nil || !isThere("jq") {
			continue
		}
		if got := converted(t, "it's.json", x.text, hints[1]); got != x.want {
			t.Errorf("%s: %s, want %s", x.text, got, x.want)
		}
	}
	if describedHints("-", func(string) bool { return true }) != nil {
		t.Error("standard input has no file to convert")
	}
}

// converted is what the command makes of a file, without white space. The directory of the file is DIR in it.
func converted(t *testing.T, file, text, command string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	shell := exec.Command("sh", "-e")
	shell.Dir, shell.Stdin = dir, strings.NewReader(command)
	if out, err := shell.CombinedOutput(); err != nil {
		t.Errorf("%s: %s: %v: %s", file, command, err, out)
	}
	made, err := os.ReadFile(filepath.Join(dir, strings.TrimSuffix(file, filepath.Ext(file))+".servers.json"))
	if err != nil {
		t.Error(err)
	}
	return strings.ReplaceAll(strings.Join(strings.Fields(string(made)), ""), dir, "DIR")
}

// isThere reports whether a program is; of the two yq, kislyuk's.
func isThere(program string) bool {
	if program != "yq" {
		_, err := exec.LookPath(program)
		return err == nil
	}
	out, err := exec.Command("yq", "--help").CombinedOutput()
	return err == nil && strings.Contains(string(out), "jq") && !strings.Contains(string(out), "mikefarah")
}
