// Package servertest helps tests of the built-in tool servers: it connects to a server in
// this process, calls its tools, and makes files and repositories. Only tests import it.
package servertest

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/text/jsontext"
)

// Local connects to a server in this process, until the end of the test.
func Local(t testing.TB, s *toolserver.Server) *mcp.Session {
	t.Helper()
	session, err := mcp.Connect(t.Context(), mcp.Spec{Name: "local", Local: s.Pipe}, mcp.Hooks{}, &process.Processes{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

// Put writes a file, and makes its directory.
func Put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Get reads a file.
func Get(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Git makes a directory a repository with one commit of all its files, and returns a function
// that runs git in it.
func Git(t testing.TB, dir string) func(args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	git := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "init.defaultBranch=main", "-c", "commit.gpgsign=false", "-c", "core.fsync=none", "-c", "gc.auto=0"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(cmd.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	git("init", "-q")
	git("add", "-A", "-f")
	git("commit", "-q", "-m", "first")
	return git
}

// Do calls a tool. The arguments are names, each followed by its value.
func Do(t testing.TB, s *mcp.Session, tool string, args ...any) (answer string, failed bool) {
	t.Helper()
	m := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		m[args[i].(string)] = args[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Call(t.Context(), tool, raw, nil)
	if err != nil {
		t.Fatalf("%s %s: %v", tool, raw, err)
	}
	var all []string
	for _, b := range r.Content {
		all = append(all, jsontext.Text(b.Text))
	}
	return strings.Join(all, "\n"), r.IsError
}

// Works calls a tool and ends the test if the call fails.
func Works(t testing.TB, s *mcp.Session, tool string, args ...any) string {
	t.Helper()
	answer, failed := Do(t, s, tool, args...)
	if failed {
		t.Fatalf("%s %v: %s", tool, args, answer)
	}
	return answer
}

// Fails calls a tool that must fail with an error that contains the word.
func Fails(t testing.TB, s *mcp.Session, word, tool string, args ...any) {
	t.Helper()
	answer, failed := Do(t, s, tool, args...)
	if !failed {
		t.Errorf("%s %v answered %.200q, want an error with %q", tool, args, answer, word)
	} else if !strings.Contains(answer, word) {
		t.Errorf("%s %v: error %q has no %q", tool, args, answer, word)
	}
}

// Needs skips a test unless programs are installed.
func Needs(t testing.TB, programs ...string) {
	t.Helper()
	for _, program := range programs {
		if program == "" {
			continue
		}
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
}
