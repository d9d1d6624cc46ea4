package mcp

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// localServers are the servers that local has connected to, by session.
var localServers sync.Map

func serverOf(s *Session) *Server {
	server, _ := localServers.Load(s)
	return server.(*Server)
}

// local is a session with a server in this process.
func local(t testing.TB, s *Server) *Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	session, err := Connect(ctx, Spec{Name: "local", Local: s.Pipe}, Hooks{}, &Processes{})
	if err != nil {
		t.Fatal(err)
	}
	localServers.Store(session, s)
	t.Cleanup(func() { session.Close() })
	return session
}

// fileServer offers a fresh directory with some files.
func fileServer(t testing.TB, files map[string]string, change ...func(*FilesSpec)) (dir string, s *Session) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		put(t, filepath.Join(dir, name), content)
	}
	spec := FilesSpec{Name: "files", Root: dir, Environ: os.Environ(), Processes: &Processes{}, Version: "1"}
	for _, f := range change {
		f(&spec)
	}
	server, err := Files(spec)
	if err != nil {
		t.Fatal(err)
	}
	return dir, local(t, server)
}

func put(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// do calls a tool with arguments name, value, name, value ….
func do(t testing.TB, s *Session, tool string, args ...any) (answer string, failed bool) {
	t.Helper()
	m := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		m[args[i].(string)] = args[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	r := doRaw(t, s, tool, raw)
	var all []string
	for _, b := range r.Content {
		var text string
		if err := json.Unmarshal(b.Text, &text); err != nil {
			t.Fatalf("%s: %v", b.Text, err)
		}
		all = append(all, text)
	}
	return strings.Join(all, "\n"), r.IsError
}

func doRaw(t testing.TB, s *Session, tool string, raw []byte) *Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	r, err := s.Call(ctx, tool, raw, nil)
	if err != nil {
		t.Fatalf("%s %s: %v", tool, raw, err)
	}
	return r
}

// works is do for what must not fail.
func works(t testing.TB, s *Session, tool string, args ...any) string {
	t.Helper()
	answer, failed := do(t, s, tool, args...)
	if failed {
		t.Fatalf("%s %v: %s", tool, args, answer)
	}
	return answer
}

// fails is do for what must be refused with a word in it.
func fails(t testing.TB, s *Session, word, tool string, args ...any) {
	t.Helper()
	answer, failed := do(t, s, tool, args...)
	if !failed {
		t.Errorf("%s %v answered %.200q, want an error with %q", tool, args, answer, word)
	} else if !strings.Contains(answer, word) {
		t.Errorf("%s %v: error %q has no %q", tool, args, answer, word)
	}
}

func TestFilesTools(t *testing.T) {
	dir, s := fileServer(t, map[string]string{
		"a.txt": "one\ntwo\nthree\n", "src/main.go": "package main\n\nfunc main() {}\n", "src/lib/x_test.go": "package lib\n// two\n", "doc.md": "# Title\ntext\n## Part\n",
		"bin": "a\x00b", ".env": "SECRET=two", ".git/config": "two",
	})
	for _, c := range []struct {
		tool string
		args []any
		want string
	}{
		{"read_file", []any{"path", "a.txt"}, "one\ntwo\nthree\n"},
		{"read_file", []any{"path", "a.txt", "offset", 4, "length", 3}, "two"},
		{"read_file", []any{"path", filepath.Join(dir, "src/main.go")}, "package main\n\nfunc main() {}\n"},
		{"get_file_slice", []any{"path", "a.txt", "start_line", 2, "end_line", 3}, "two\nthree\n"},
		{"get_file_slice", []any{"path", "a.txt", "start_line", 3}, "three\n"},
		{"list_directory", nil, "file                14  a.txt\nfile                 3  bin\nfile                21  doc.md\ndirectory            -  src/\n"},
		{"get_tree", nil, "./\n  a.txt\n  bin\n  doc.md\n  src/\n    lib/\n      x_test.go\n    main.go\n"},
		{"get_tree", []any{"path", "src", "max_depth", 1}, "src/\n  lib/\n  main.go\n"},
		{"search_files", []any{"pattern", "*.go"}, "src/main.go\nsrc/lib/x_test.go\n"},
		{"search_files", []any{"pattern", "**/{lib,main.go}"}, "src/lib/\nsrc/main.go\n"},
		{"search_files", []any{"pattern", "lib/*", "path", "src"}, "src/lib/x_test.go\n"},
		{"search_files", []any{"pattern", "src/*.go", "path", "src"}, "src/main.go\n"},
		{"search_files", []any{"pattern", "src/"}, "src/\n"},
		{"search_files", []any{"pattern", "**/"}, "src/\nsrc/lib/\n"},
		{"search_files", []any{"pattern", "**/{main.go,lib/}"}, "src/lib/\nsrc/main.go\n"},
		{"search_files", []any{"pattern", "a.txt/"}, "no file matches \"a.txt/\" below \".\"\n"},
		{"grep_files", []any{"pattern", "two", "include", "src/**/*.go", "path", "src"}, "src/lib/x_test.go:2:// two\n"},
		{"search_files", []any{"pattern", "nothing*"}, "no file matches \"nothing*\" below \".\"\n"},
		{"grep_files", []any{"pattern", "two"}, "a.txt:2:two\nsrc/lib/x_test.go:2:// two\n"},
		{"grep_files", []any{"pattern", "^t.o$", "context", 1}, "a.txt-1-one\na.txt:2:two\na.txt-3-three\n"},
		{"grep_files", []any{"pattern", "TWO", "ignore_case", true, "include", "*.go"}, "src/lib/x_test.go:2:// two\n"},
		{"get_file_summary", []any{"path", "doc.md"}, "path: doc.md\nsize: 21 bytes\nkind: Markdown\nlines: 3\ntop level:\n     1  # Title\n     3  ## Part\n"},
		{"get_file_summary", []any{"path", "bin"}, "path: bin\nsize: 3 bytes\nkind: binary, application/octet-stream\n"},
	} {
		if got := works(t, s, c.tool, c.args...); got != c.want {
			t.Errorf("%s %v:\n%s\nwant\n%s", c.tool, c.args, got, c.want)
		}
	}
	works(t, s, "write_file", "path", "new/deep/n.txt", "content", "x\ny\n")
	works(t, s, "edit_file", "path", "new/deep/n.txt", "old_string", "x", "new_string", "z")
	works(t, s, "set_file_slice", "path", "new/deep/n.txt", "start_line", 2, "end_line", 2, "new_content", "w")
	if got := get(t, filepath.Join(dir, "new/deep/n.txt")); got != "z\nw\n" {
		t.Errorf("after the edits: %q", got)
	}
	for _, c := range [][2]string{{"", "created n: 0 bytes, 0 lines\n"}, {"x", "replaced n: 1 byte, 1 line\n"}, {"x\ny\n", "replaced n: 4 bytes, 2 lines\n"}} {
		if got := works(t, s, "write_file", "path", "n", "content", c[0]); got != c[1] {
			t.Errorf("%q written: %q", c[0], got)
		}
	}
	if got := works(t, s, "set_file_slice", "path", "n", "start_line", 2, "end_line", 2, "new_content", ""); got != "edited n: it had 2 lines and has 1\n" {
		t.Errorf("a line less: %q", got)
	}
	if got := works(t, s, "set_file_slice", "path", "n", "start_line", 2, "end_line", 1, "new_content", "y"); got != "edited n: it had 1 line and has 2\n" {
		t.Errorf("a line more: %q", got)
	}
}

func TestFilesErrors(t *testing.T) {
	dir, s := fileServer(t, map[string]string{"src/main.go": "a\nb\na\n", "empty": "", "bin": "\x00", "q": ""})
	fails(t, s, `did you mean "src/main.go"?`, "read_file", "path", "src/mian.go")
	fails(t, s, dir, "read_file", "path", "nothing/like/it")
	fails(t, s, `did you mean "path"?`, "read_file", "pth", "x")
	fails(t, s, `needs the argument "path"`, "read_file")
	fails(t, s, "whole number", "get_file_slice", "path", "src/main.go", "start_line", "two")
	fails(t, s, "has 3 lines", "get_file_slice", "path", "src/main.go", "start_line", 4)
	fails(t, s, "has 3 lines", "get_file_slice", "path", "src/main.go", "start_line", 2, "end_line", 4)
	fails(t, s, "count from 1", "get_file_slice", "path", "src/main.go", "start_line", 0)
	fails(t, s, "is a directory", "read_file", "path", "src")
	fails(t, s, "not a directory", "list_directory", "path", "empty")
	fails(t, s, "binary", "read_file", "path", "bin")
	fails(t, s, "binary", "get_file_slice", "path", "bin")
	fails(t, s, "past the end", "read_file", "path", "empty", "offset", 1)
	fails(t, s, "2 times", "edit_file", "path", "src/main.go", "old_string", "a", "new_string", "b")
	fails(t, s, "not in the file", "edit_file", "path", "src/main.go", "old_string", "c", "new_string", "b")
	fails(t, s, "line 2", "edit_file", "path", "src/main.go", "old_string", "  b\n", "new_string", "b")
	fails(t, s, "has 3 lines", "set_file_slice", "path", "src/main.go", "start_line", 3, "end_line", 9, "new_content", "")
	fails(t, s, `expression: missing closing ): "("`, "grep_files", "pattern", "(")
	fails(t, s, dir+"\"", "read_file", "path", "x")
	if answer, _ := do(t, s, "read_file", "path", "x"); strings.Contains(answer, "did you mean") {
		t.Errorf("a name of one letter that has nothing of it: %s", answer)
	}
	fails(t, s, "pattern", "search_files", "pattern", "[")
	fails(t, s, "is a directory", "write_file", "path", "src", "content", "")
	if works(t, s, "read_file", "path", "empty") != "" {
		t.Error("an empty file is not empty")
	}
}

// A write that is refused or fails leaves nothing behind, and speaks of the
// path that was asked for.
func TestWriteRefused(t *testing.T) {
	dir, s := fileServer(t, map[string]string{"there/f": "", ".github/workflows/x.yml": "old\n"})
	if err := os.Symlink(".github", filepath.Join(dir, "way")); err != nil {
		t.Skip(err)
	}
	for _, path := range []string{"x/y/.git/config", "m/n/.env", "there/new/.vscode/tasks.json", "way/workflows/deep/x.yml", "way/actions/a/action.yml", "l/" + strings.Repeat("n", 300), "l/" + strings.Repeat("n", 300) + "/x", "there/f/g/h"} {
		fails(t, s, path, "write_file", "path", path, "content", "x")
	}
	if got := works(t, s, "search_files", "pattern", "**"); got != ".github/\nthere/\nway\n.github/workflows/\n.github/workflows/x.yml\nthere/f\n" {
		t.Errorf("left behind: %s", got)
	}
	works(t, s, "write_file", "path", "./x//y/z", "content", "x")
}

// Every refusal says where the caller may look instead, and no more than is true.
func TestRefusals(t *testing.T) {
	dir, s := fileServer(t, map[string]string{".env": "", "AGENTS.md": "text\n"})
	root := "the allowed root is \"" + dir + "\""
	fails(t, s, "neither read nor write it; "+root, "read_file", "path", ".env")
	fails(t, s, "file tools do not write it; "+root, "edit_file", "path", "AGENTS.md", "old_string", "text", "new_string", "x")
	fails(t, s, "file tools do not write it; "+root, "write_file", "path", "AGENTS.md", "content", "x")
	works(t, s, "read_file", "path", "AGENTS.md")
}

// A link is shown, but not that it leads to what is hidden.
func TestHiddenTarget(t *testing.T) {
	dir, s := fileServer(t, map[string]string{".env": "", "a": ""})
	for name, target := range map[string]string{"hidden": "sub/../.env", "open": "a"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	const want = "file                 0  a\nlink                 -  hidden\nlink                 -  open -> a\n"
	if got := works(t, s, "list_directory"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
