package code

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp/builtin/code/parsers"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/testdata/servertest"
)

func TestCheckSyntaxTool(t *testing.T) {
	t.Parallel()
	dir, s := newServer(t, map[string]string{"a.go": "package a\n", "b.go": "package b\nfunc {\n", "Makefile": "a:\n", "d.go": "package\x00d\n", "e.go/f": ""})
	if got := servertest.Works(t, s, "check_syntax", "path", "a.go"); got != "no syntax error\n" {
		t.Error(got)
	}
	if got := servertest.Works(t, s, "check_syntax", "path", filepath.Join(dir, "b.go")); !strings.HasPrefix(got, "2:6: expected 'IDENT', found '{'\n") {
		t.Error(got)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out.py")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		word string
		args []any
	}{
		{`"Makefile": the syntax cannot be checked: no known parser for Make`, []any{"path", "Makefile"}},
		{"binary", []any{"path", "d.go"}},
		{"is a directory", []any{"path", "e.go"}},
		{"symbolic link", []any{"path", "out.py"}},
		{"outside the allowed root", []any{"path", "../a.go"}},
		{"the path is empty", []any{"path", ""}},
		{"NUL", []any{"path", "a\x00.go"}},
		{"bytes", []any{"path", strings.Repeat("a", 1<<20)}},
		{`"a\x1b[2Jb.go"`, []any{"path", "a\x1b[2Jb.go"}},
		{"must be a string", []any{"path", 1}},
		{"must be a string", []any{"path", []string{"a.go"}}},
		{`needs the argument "path"`, nil},
		{"no argument", []any{"path", "a.go", "force", true}},
	} {
		servertest.Fails(t, s, c.word, "check_syntax", c.args...)
	}
}

// Where no parser can tell, the lexer says what it knows, and that it is no parser.
func TestCheckSyntaxByLexer(t *testing.T) {
	t.Parallel()
	const closed = "no syntax error found: brackets, strings and comments close; this check is not a complete parse of "
	const alone = "[toolpipe] only brackets, strings and comments were checked; this check is not a complete parse of "
	files := map[string]string{
		"a.rs": "fn f<'a>(x: &'a str) -> char { '\\'' } // (\n", "b.rs": "fn f() {\n    let é = (1];\n}\n", "c.rs": "/* fn f() {}\n",
		"a.c": "#ifdef A\nint f(int a) {\n#else\nint f(void) {\n#endif\n  return ')';\n}\n", "b.c": "char *s = \"abc;\nint x;\n", "c.c": "int a[3;\n",
		"a.ts": "const a = `${(x)}`\n", "b.ts": "f(() => {\n  a\n)\n", "a.tsx": "const a = <p>Don't</p>\n",
		"A.java": "class A { String s = \"\"\"\n  }\n  \"\"\"; }\n", "a.jsonc": "// x\n{\"a\": [1, }\n", "a.css": "p { color: red }\n", "a.php": "<?php f(); ?>\nDon't (\n",
	}
	_, s := newServer(t, files)
	for name, want := range map[string]string{
		"a.rs": closed + "Rust: no known parser for Rust (.rs) checks the code without running it\n",
		"b.rs": "2:13: ( is not closed\n2:15: ] closes nothing\n" + alone + "Rust: ", "c.rs": "1: a comment is open at the end of the file\n" + alone,
		"a.c": closed + "C: ", "b.c": "1: a string is not closed in its line\n" + alone, "c.c": "1:6: [ is not closed\n" + alone,
		"a.ts": closed + "TypeScript: ", "b.ts": "1:9: { is not closed\n" + alone + "TypeScript: ", "a.tsx": closed,
		"A.java": closed + "Java: ", "a.jsonc": "2:7: [ is not closed\n" + alone, "a.css": closed + "CSS: ", "a.php": closed + "PHP: ",
	} {
		if got := servertest.Works(t, s, "check_syntax", "path", name); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A program that lies in a root could be written by a model.
func TestCheckSyntaxWithParserInRoot(t *testing.T) {
	t.Parallel()
	servertest.Needs(t, "python3")
	dir, outside := t.TempDir(), t.TempDir()
	ran := filepath.Join(outside, "ran")
	servertest.Put(t, filepath.Join(dir, "bin/python3"), "#!/bin/sh\ntouch "+ran+"\n")
	if err := os.Chmod(filepath.Join(dir, "bin/python3"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, target := range map[string]string{"way": filepath.Join(dir, "bin"), "links/python3": filepath.Join(dir, "bin/python3")} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(outside, name)), 0o755), os.Symlink(target, filepath.Join(outside, name))); err != nil {
			t.Fatal(err)
		}
	}
	area, err := confine.Open(confine.Spec{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer area.Root.Close()
	for _, path := range []string{dir + "/bin:" + os.Getenv("PATH"), outside + "/way:" + os.Getenv("PATH"), outside + "/links:" + os.Getenv("PATH"), dir + "/bin"} {
		c := &call{spec: Spec{Areas: []*confine.Area{area}, Environ: []string{"PATH=" + path}, Processes: &process.Processes{}}, roots: []*confine.Access{area.Access(confine.Bounds{})}}
		problems, err := c.checkSyntax(t.Context(), newSourceFile("a.py", []byte("x = = 1\n")))
		isUnchecked := errors.Is(err, parsers.ErrUnchecked)
		if wants := strings.HasPrefix(path, outside+"/links") || path == dir+"/bin"; isUnchecked != wants || !wants && len(problems) != 1 {
			t.Errorf("%s: %v %v", path, problems, err)
		}
		if _, err := os.Lstat(ran); err == nil {
			t.Fatalf("%s: it was run", path)
		}
	}
}
