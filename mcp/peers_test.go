package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/stream/text/jsontext"
)

// peer is a published server, pinned in testdata/peers of the repository, over
// one transport.
type peer struct {
	name     string
	command  string // words; NODE, NPM, BIN, DIR and PORT stand for what they say
	env      string // NAME=value, may be ""
	path     string // http: of the URL
	host     string // http: "" is 127.0.0.1
	port     string // http: "" is any
	protocol string // that Protocol must say
	tools    int    // at least
	tool     string
	args     string
	want     string // part of the result; "" only asks that the call is answered
}

var stdioPeers = []peer{
	{name: "server-everything", command: "NODE NPM/@modelcontextprotocol/server-everything/dist/index.js stdio", protocol: "2025-11-25", tools: 10, tool: "echo", args: `{"message":"hi"}`, want: "Echo: hi"},
	{name: "server-filesystem", command: "NODE NPM/@modelcontextprotocol/server-filesystem/dist/index.js DIR", protocol: "2025-11-25", tools: 10, tool: "list_allowed_directories", args: `{}`, want: "DIR"},
	{name: "server-memory", command: "NODE NPM/@modelcontextprotocol/server-memory/dist/index.js", env: "MEMORY_FILE_PATH=DIR/memory.json", protocol: "2025-11-25", tools: 9, tool: "read_graph", args: `{}`, want: "entities"},
	{name: "server-sequential-thinking", command: "NODE NPM/@modelcontextprotocol/server-sequential-thinking/dist/index.js", protocol: "2025-11-25", tools: 1, tool: "sequentialthinking", args: `{"thought":"x","nextThoughtNeeded":false,"thoughtNumber":1,"totalThoughts":1}`, want: "thoughtNumber"},
	{name: "playwright", command: "NODE NPM/@playwright/mcp/cli.js --headless --browser chromium --executable-path /nonexistent", protocol: "2025-11-25", tools: 15, tool: "browser_navigate", args: `{"url":"about:blank"}`},
	{name: "context7", command: "NODE NPM/@upstash/context7-mcp/dist/index.js", protocol: "2026-07-28", tools: 2},
	{name: "typescript-sdk-2", command: "NODE PEERS/server.mjs", protocol: "2026-07-28", tools: 1, tool: "add", args: `{"a":2,"b":3}`, want: "5"},
	{name: "typescript-sdk-2-modern", command: "NODE PEERS/server.mjs modern", protocol: "2026-07-28", tools: 1, tool: "add", args: `{"a":2,"b":3}`, want: "5"},
	{name: "gosdk-conformance", command: "BIN/gosdk-conformance", protocol: "2026-07-28", tools: 10, tool: "test_simple_text", args: `{}`, want: "simple text"},
	{name: "gosdk-everything", command: "BIN/gosdk-everything", protocol: "2026-07-28", tools: 1, tool: "greet", args: `{"name":"you"}`, want: "you"},
	{name: "gosdk-memory", command: "BIN/gosdk-memory -memory DIR/graph.json", protocol: "2026-07-28", tools: 5, tool: "read_graph", args: `{}`, want: "entities"},
	{name: "gosdk-hello", command: "BIN/gosdk-hello", protocol: "2026-07-28", tools: 1, tool: "greet", args: `{"name":"you"}`, want: "you"},
	{name: "mcpgo-everything", command: "BIN/mcpgo-everything", protocol: "2026-07-28", tools: 3, tool: "echo", args: `{"message":"hi"}`, want: "hi"},
}

var httpPeers = []peer{
	{name: "server-everything", command: "NODE NPM/@modelcontextprotocol/server-everything/dist/index.js streamableHttp", env: "PORT=PORT", path: "/mcp", protocol: "2025-11-25", tools: 10, tool: "echo", args: `{"message":"hi"}`, want: "Echo: hi"},
	{name: "server-everything-sse", command: "NODE NPM/@modelcontextprotocol/server-everything/dist/index.js sse", env: "PORT=PORT", path: "/sse", protocol: "2025-11-25", tools: 10, tool: "echo", args: `{"message":"hi"}`, want: "Echo: hi"},
	{name: "playwright", command: "NODE NPM/@playwright/mcp/cli.js --headless --port PORT --browser chromium --executable-path /nonexistent", path: "/mcp", host: "localhost", protocol: "2025-11-25", tools: 15, tool: "browser_navigate", args: `{"url":"about:blank"}`},
	{name: "context7", command: "NODE NPM/@upstash/context7-mcp/dist/index.js --transport http --port PORT", path: "/mcp", protocol: "2026-07-28", tools: 2},
	{name: "typescript-sdk-2", command: "NODE PEERS/server.mjs http PORT", path: "/", protocol: "2026-07-28", tools: 1, tool: "add", args: `{"a":2,"b":3}`, want: "5"},
	{name: "gosdk-conformance", command: "BIN/gosdk-conformance -http=127.0.0.1:PORT", path: "/", protocol: "2026-07-28", tools: 10, tool: "test_simple_text", args: `{}`, want: "simple text"},
	{name: "gosdk-conformance-stateful", command: "BIN/gosdk-conformance -http=127.0.0.1:PORT -stateless=false", path: "/", protocol: "2025-11-25", tools: 10, tool: "test_simple_text", args: `{}`, want: "simple text"},
	{name: "gosdk-everything", command: "BIN/gosdk-everything -http=127.0.0.1:PORT", path: "/", protocol: "2025-11-25", tools: 1, tool: "greet", args: `{"name":"you"}`, want: "you"},
	{name: "gosdk-memory", command: "BIN/gosdk-memory -http=127.0.0.1:PORT -memory DIR/graph.json", path: "/", protocol: "2025-11-25", tools: 5, tool: "read_graph", args: `{}`, want: "entities"},
	{name: "mcpgo-everything", command: "BIN/mcpgo-everything -t http", port: "8080", path: "/mcp", protocol: "2026-07-28", tools: 3, tool: "echo", args: `{"message":"hi"}`, want: "hi"},
}

// words fills in a peer's command, or skips the test when it is not installed.
func (p *peer) words(t *testing.T, dir, port string) (argv []string, env map[string]string) {
	t.Helper()
	peers, err := filepath.Abs("../testdata/peers")
	if err != nil {
		t.Fatal(err)
	}
	node, nodeErr := exec.LookPath("node")
	fill := strings.NewReplacer("NODE ", node+" ", "NPM", peers+"/node_modules", "PEERS", peers, "BIN", peers+"/bin", "DIR", dir)
	for _, w := range strings.Fields(fill.Replace(p.command)) {
		argv = append(argv, strings.ReplaceAll(w, "PORT", port))
	}
	if strings.HasPrefix(p.command, "NODE") && nodeErr != nil {
		t.Skip("no node in PATH")
	}
	for _, file := range argv[:min(2, len(argv))] {
		if _, err := os.Stat(file); err != nil && strings.HasPrefix(file, peers) {
			t.Skip("not installed: run testdata/peers/install")
		}
	}
	if strings.Contains(p.command, "NODE") {
		if _, err := os.Stat(peers + "/node_modules"); err != nil {
			t.Skip("not installed: run testdata/peers/install")
		}
	}
	if name, value, ok := strings.Cut(p.env, "="); ok {
		env = map[string]string{name: strings.ReplaceAll(fill.Replace(value), "PORT", port)}
	}
	return argv, env
}

func TestPeersOverStdio(t *testing.T) {
	for _, p := range stdioPeers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			argv, env := p.words(t, dir, "")
			s, _ := connect(t, Spec{Command: argv, Env: env, Environ: os.Environ(), Dir: dir})
			p.check(t, s, dir)
		})
	}
}

func TestPeersOverHTTP(t *testing.T) {
	for _, p := range httpPeers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			port := p.freePort(t)
			argv, env := p.words(t, dir, port)
			p.serve(t, argv, env, dir, port)
			host := p.host
			if host == "" {
				host = "127.0.0.1"
			}
			s, _ := connect(t, Spec{URL: "http://" + net.JoinHostPort(host, port) + p.path})
			p.check(t, s, dir)
		})
	}
}

// serve starts a peer that listens, and waits until it does.
func (p *peer) serve(t *testing.T, argv []string, env map[string]string, dir, port string) {
	t.Helper()
	var procs process.Processes
	out := &process.Output{Tail: process.MaxStderr}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = process.ChildEnv(os.Environ(), env, nil), dir, out, out
	proc, err := procs.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		proc.Kill()
		proc.Wait()
	})
	for give := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
		for _, host := range []string{"127.0.0.1", "::1"} {
			if c, err := net.Dial("tcp", net.JoinHostPort(host, port)); err == nil {
				c.Close()
				return
			}
		}
		select {
		case <-proc.Done():
			t.Fatalf("the peer ended: %s", out)
		default:
		}
		if time.Now().After(give) {
			t.Fatalf("the peer does not listen: %s", out)
		}
	}
}

// freePort is a port that nobody listens on. A peer that knows only its own
// is left out where somebody does.
func (p *peer) freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", cmp.Or(p.port, "0")))
	if err != nil {
		t.Skipf("port %s, the only one this server has, is taken: %v", p.port, err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

// check lists and makes one call.
func (p *peer) check(t *testing.T, s *Session, dir string) {
	t.Helper()
	if s.Protocol() != p.protocol {
		t.Errorf("speaks %s, want %s", s.Protocol(), p.protocol)
	}
	tools := s.Tools()
	if len(tools) < p.tools {
		t.Errorf("%d tools, want at least %d", len(tools), p.tools)
	}
	offered := map[string]bool{}
	for _, tool := range tools {
		name := OfferedName("peer", tool.Name)
		if offered[name] {
			t.Errorf("%q twice", name)
		}
		offered[name] = true
		if schema, _ := OfferedSchema(tool.InputSchema); !json.Valid(schema) {
			t.Errorf("%s: bad schema %s", name, schema)
		}
	}
	if p.tool == "" {
		return
	}
	r, err := s.Call(bounded(t), p.tool, json.RawMessage(p.args), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(jsontext.Unquote(r.Render().JSON))
	if want := strings.ReplaceAll(p.want, "DIR", dir); !strings.Contains(got, want) {
		t.Errorf("the call gave %q, want %q in it", got, want)
	}
}
