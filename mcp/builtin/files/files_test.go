package files

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/testdata/servertest"
)

// serve makes a server for an area.
func serve(spec confine.Spec) (*toolserver.Server, error) {
	area, err := confine.Open(spec)
	if err != nil {
		return nil, err
	}
	return New(area, Spec{Name: "files", Environ: os.Environ(), Processes: &process.Processes{}, Version: "1"}), nil
}

// fileServer offers a fresh directory with some files.
func fileServer(t testing.TB, files map[string]string, change ...func(*confine.Spec)) (dir string, s *mcp.Session) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		servertest.Put(t, filepath.Join(dir, name), content)
	}
	spec := confine.Spec{Root: dir}
	for _, f := range change {
		f(&spec)
	}
	server, err := serve(spec)
	if err != nil {
		t.Fatal(err)
	}
	return dir, servertest.Local(t, server)
}

// write_file makes the directories that are missing, unless the file may not be written.
func TestMadeDirectories(t *testing.T) {
	t.Parallel()
	dir, s := fileServer(t, map[string]string{"a/b": "x\n"})
	for _, path := range []string{"new/dir/f", "a/../other/dir/f", "a/./more//dir/f"} {
		servertest.Works(t, s, "write_file", "path", path, "content", path)
		if got := servertest.Get(t, filepath.Join(dir, path)); got != path {
			t.Errorf("%s: %q", path, got)
		}
	}
	for _, path := range []string{"fresh/.env", "fresh/.github/workflows/x.yml", "fresh/", "fresh/.", "fresh/x/", "fresh/../../x", "fresh/x/../y", "a/b/fresh/x"} {
		servertest.Fails(t, s, "", "write_file", "path", path, "content", "x")
	}
	if _, err := os.Lstat(filepath.Join(dir, "fresh")); !os.IsNotExist(err) {
		t.Errorf("a directory was made for a file that is not written: %v", err)
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
		{"get_file_summary", []any{"path", "doc.md"}, "path: doc.md\nsize: 21 bytes\nkind: text\nlines: 3\nfirst lines:\n     1  # Title\n     2  text\n     3  ## Part\n"},
		{"get_file_summary", []any{"path", "bin"}, "path: bin\nsize: 3 bytes\nkind: binary, application/octet-stream\n"},
	} {
		if got := servertest.Works(t, s, c.tool, c.args...); got != c.want {
			t.Errorf("%s %v:\n%s\nwant\n%s", c.tool, c.args, got, c.want)
		}
	}
	servertest.Works(t, s, "write_file", "path", "new/deep/n.txt", "content", "x\ny\n")
	servertest.Works(t, s, "edit_file", "path", "new/deep/n.txt", "old_string", "x", "new_string", "z")
	servertest.Works(t, s, "set_file_slice", "path", "new/deep/n.txt", "start_line", 2, "end_line", 2, "new_content", "w")
	if got := servertest.Get(t, filepath.Join(dir, "new/deep/n.txt")); got != "z\nw\n" {
		t.Errorf("after the edits: %q", got)
	}
	for _, c := range [][2]string{{"", "created n: 0 bytes, 0 lines\n"}, {"x", "replaced n: 1 byte, 1 line\n"}, {"x\ny\n", "replaced n: 4 bytes, 2 lines\n"}} {
		if got := servertest.Works(t, s, "write_file", "path", "n", "content", c[0]); got != c[1] {
			t.Errorf("%q written: %q", c[0], got)
		}
	}
	if got := servertest.Works(t, s, "set_file_slice", "path", "n", "start_line", 2, "end_line", 2, "new_content", ""); got != "edited n: it had 2 lines and has 1\n" {
		t.Errorf("a line less: %q", got)
	}
	if got := servertest.Works(t, s, "set_file_slice", "path", "n", "start_line", 2, "end_line", 1, "new_content", "y"); got != "edited n: it had 1 line and has 2\n" {
		t.Errorf("a line more: %q", got)
	}
}

func TestFilesErrors(t *testing.T) {
	dir, s := fileServer(t, map[string]string{"src/main.go": "a\nb\na\n", "empty": "", "bin": "\x00", "q": ""})
	servertest.Fails(t, s, `did you mean "src/main.go"?`, "read_file", "path", "src/mian.go")
	servertest.Fails(t, s, dir, "read_file", "path", "nothing/like/it")
	servertest.Fails(t, s, `; near names: ["src/main.go"]`, "read_file", "path", "main.go")
	servertest.Fails(t, s, `; near names: ["src/main.go"]`, "edit_file", "path", "lib/Main.go", "old_string", "a", "new_string", "b")
	servertest.Fails(t, s, `; near names: ["src/main.go"]`, "list_directory", "path", "man.go")
	servertest.Fails(t, s, `did you mean "path"?`, "read_file", "pth", "x")
	servertest.Fails(t, s, `needs the argument "path"`, "read_file")
	servertest.Fails(t, s, "whole number", "get_file_slice", "path", "src/main.go", "start_line", "two")
	servertest.Fails(t, s, "has 3 lines", "get_file_slice", "path", "src/main.go", "start_line", 4)
	if got := servertest.Works(t, s, "get_file_slice", "path", "src/main.go", "start_line", 2, "end_line", 9); got != "b\na\n" {
		t.Errorf("past the end: %q", got)
	}
	servertest.Fails(t, s, "count from 1", "get_file_slice", "path", "src/main.go", "start_line", 0)
	servertest.Fails(t, s, "is a directory", "read_file", "path", "src")
	servertest.Fails(t, s, "not a directory", "list_directory", "path", "empty")
	servertest.Fails(t, s, "binary", "read_file", "path", "bin")
	servertest.Fails(t, s, "binary", "get_file_slice", "path", "bin")
	servertest.Fails(t, s, "past the end", "read_file", "path", "empty", "offset", 1)
	servertest.Fails(t, s, "2 times", "edit_file", "path", "src/main.go", "old_string", "a", "new_string", "b")
	servertest.Fails(t, s, "not in the file", "edit_file", "path", "src/main.go", "old_string", "c", "new_string", "b")
	servertest.Fails(t, s, "in line 2; it differs only in white space", "edit_file", "path", "src/main.go", "old_string", "  b\n", "new_string", "b")
	servertest.Fails(t, s, "has 3 lines", "set_file_slice", "path", "src/main.go", "start_line", 5, "end_line", 9, "new_content", "")
	servertest.Fails(t, s, `expression: missing closing ): "("`, "grep_files", "pattern", "(")
	servertest.Fails(t, s, dir+"\"", "read_file", "path", "x")
	if answer, _ := servertest.Do(t, s, "read_file", "path", "x"); strings.Contains(answer, "did you mean") {
		t.Errorf("a name of one letter that has nothing of it: %s", answer)
	}
	servertest.Fails(t, s, "pattern", "search_files", "pattern", "[")
	servertest.Fails(t, s, "is a directory", "write_file", "path", "src", "content", "")
	if servertest.Works(t, s, "read_file", "path", "empty") != "" {
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
		servertest.Fails(t, s, path, "write_file", "path", path, "content", "x")
	}
	if got := servertest.Works(t, s, "search_files", "pattern", "**"); got != ".github/\nthere/\nway\n.github/workflows/\n.github/workflows/x.yml\nthere/f\n" {
		t.Errorf("left behind: %s", got)
	}
	servertest.Works(t, s, "write_file", "path", "./x//y/z", "content", "x")
}

// Every refusal says where the caller may look instead, and no more than is true.
func TestRefusals(t *testing.T) {
	dir, s := fileServer(t, map[string]string{".env": "", "AGENTS.md": "text\n"})
	root := "the allowed root is \"" + dir + "\""
	servertest.Fails(t, s, "neither read nor write it; "+root, "read_file", "path", ".env")
	servertest.Fails(t, s, "file tools do not write it; "+root, "edit_file", "path", "AGENTS.md", "old_string", "text", "new_string", "x")
	servertest.Fails(t, s, "file tools do not write it; "+root, "write_file", "path", "AGENTS.md", "content", "x")
	servertest.Works(t, s, "read_file", "path", "AGENTS.md")
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
	if got := servertest.Works(t, s, "list_directory"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
