package code

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/stream/text/jsontext"
	"toolpipe/testdata/servertest"
)

const editedGo = "package a\n\n// F is.\nfunc F(a int) int {\n\treturn a\n}\n\nvar G, H = 1, 2\n"

func TestEditDefinitionTool(t *testing.T) {
	t.Parallel()
	dir, s := newServer(t, map[string]string{
		"a.go": editedGo, "wrong.go": "package a\n\nfunc F() {\n}\n\nvar x = = 1\n", "a.c": "int f(void)\n{\n    return 1;\n}\n", "a.rs": "fn f() {}\n",
		"two.py": "def f():\n    pass\n\n\nif x:\n    def f():\n        pass\n",
	})
	path := filepath.Join(dir, "a.go")
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	got := servertest.Works(t, s, "edit_definition", "path", "a.go", "name", "F", "operation", "replace", "content", "func F() int {\n\treturn 2\n}")
	if got != "edited a.go: replaced F, lines 3-6, by lines 3-5; no syntax error\n" {
		t.Error(got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 || servertest.Get(t, path) != "package a\n\nfunc F() int {\n\treturn 2\n}\n\nvar G, H = 1, 2\n" {
		t.Error(info.Mode(), err, servertest.Get(t, path))
	}
	const broken = "func F() {\n\treturn return\n}"
	servertest.Fails(t, s, "nothing was written: a.go would no longer parse; force writes it all the same\n4:9: ", "edit_definition", "path", "a.go", "name", "F", "operation", "replace", "content", broken)
	if got := servertest.Works(t, s, "edit_definition", "path", path, "name", "F", "operation", "replace", "content", broken, "force", true); got != "edited a.go: replaced F, lines 3-5, by lines 3-5; the syntax was not checked\n" {
		t.Error(got)
	}
	if got := servertest.Works(t, s, "edit_definition", "path", "wrong.go", "name", "F", "operation", "signature", "content", "func F(a int)"); got != "edited wrong.go: replaced the signature of F, line 3, by line 3; it had syntax errors before, and has now:\n6:9: expected operand, found '='\n" {
		t.Error(got)
	}
	servertest.Fails(t, s, "the brackets in the file would no longer match", "edit_definition", "path", "a.c", "name", "f", "operation", "replace", "content", "int f(void)\n{\n")
	if got := servertest.Works(t, s, "edit_definition", "path", "a.c", "name", "f", "operation", "remove"); got != "edited a.c: removed f, lines 1-4; brackets, strings and comments close as before; no parser of C checked it (no known parser for C (.c) checks the code without running it)\n" || servertest.Get(t, filepath.Join(dir, "a.c")) != "" {
		t.Error(got)
	}
	servertest.Fails(t, s, "f:6", "edit_definition", "path", "two.py", "name", "f", "operation", "remove")
	if got := servertest.Works(t, s, "edit_definition", "path", "two.py", "name", "f:1", "operation", "remove"); !strings.HasPrefix(got, "edited two.py: removed f, lines 1-2; ") {
		t.Error(got)
	}
	servertest.Fails(t, s, "nothing would change", "edit_definition", "path", "a.rs", "name", "f", "operation", "replace", "content", "fn f() {}")
}

// What is refused changes nothing.
func TestEditDefinitionRefused(t *testing.T) {
	t.Parallel()
	dir, s := newServer(t, map[string]string{
		"a.go": editedGo, "other.go": "package a\n\nfunc K() {}\n", ".git/hooks/a.go": editedGo, ".bashrc": "f() {\n  :\n}\n", "AGENTS.md": "# A\n", ".github/workflows/a.sh": "f() {\n  :\n}\n",
		"bin.go": "package a\x00\n", "dir.go/f": "", "empty.go": "", "guess.f90": "subroutine f\nend\n", "chain.py": "a = b = 1\nc = d == 2\n", "beside.java": "class A {\n  int f() {\n  } int g() { return 1; }\n  class B {\n    B() {}\n  } B() {}\n}\nclass C { C() {} }\n", "lines.c": "struct s { int a; }; int b;\n#ifdef X\nint g(int a) {\n#else\nint g(long a) {\n#endif\n}\n",
	})
	for name, target := range map[string]string{"out.go": "../a.go", "etc.go": "/etc/passwd", "in.go": "a.go"} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	before := contents(t, dir)
	good := func(changes ...any) map[string]any {
		args := map[string]any{"path": "a.go", "name": "F", "operation": "replace", "content": "func F() {}"}
		for i := 0; i < len(changes); i += 2 {
			if args[changes[i].(string)] = changes[i+1]; changes[i+1] == nil {
				delete(args, changes[i].(string))
			}
		}
		return args
	}
	for i, c := range []struct {
		word string
		args map[string]any
	}{
		{`needs the argument "path"`, good("path", nil)},
		{`needs the argument "name"`, good("name", nil)},
		{`needs the argument "operation"`, good("operation", nil)},
		{"replace needs content", good("content", nil)},
		{"must be a string", good("path", 1)},
		{"must be a string", good("name", []string{"F"})},
		{"must be a string", good("operation", true)},
		{"must be a string", good("content", map[string]any{})},
		{"must be a string", good("operation", "move", "content", nil, "to", 3)},
		{"must be true or false", good("force", "yes")},
		{"no argument", good("line", 3)},
		{"the path is empty", good("path", "")},
		{"NUL", good("path", "a\x00.go")},
		{"bytes", good("path", strings.Repeat("a/", 1<<19))},
		{"outside the allowed root", good("path", "../a.go")},
		{"outside the allowed root", good("path", "/etc/passwd")},
		{"outside the allowed root", good("path", "out.go")},
		{"absolute target", good("path", "etc.go")},
		{"is protected", good("path", ".git/hooks/a.go")},
		{"is protected", good("path", ".bashrc", "name", "f")},
		{"is protected", good("path", ".github/workflows/a.sh", "name", "f")},
		{"is protected", good("path", "AGENTS.md", "name", "A")},
		{"no file", good("path", "missing.go")},
		{"is a directory", good("path", "dir.go")},
		{"is not a source", good("path", "bin.go")},
		{"defines no", good("path", "empty.go")},
		{"name is empty", good("name", "")},
		{"name is empty", good("name", " ")},
		{"defines no", good("name", "F\x00")},
		{"defines no", good("name", "\x1b[2J")},
		{"defines no", good("name", strings.Repeat("F", 1<<20))},
		{"is on the same line as H", good("name", "G", "content", "var G = 2")},
		{"is on the same line as", good("path", "lines.c", "name", "s.a")},
		{"", good("path", "lines.c", "name", "g")},
		{"is on the same line as b", good("path", "chain.py", "name", "a")},
		{"", good("path", "chain.py", "name", "c")},
		{"is on the same line as A.g", good("path", "beside.java", "name", "f")},
		{"is on the same line as A.f", good("path", "beside.java", "name", "g")},
		{"is on the same line as C", good("path", "beside.java", "name", "C.C")},
		{"", good("path", "guess.f90", "name", "f")},
		{"operation is replace, ", good("operation", "")},
		{"operation is replace, ", good("operation", "Replace")},
		{"operation is replace, ", good("operation", strings.Repeat("x", 1<<20))},
		{"replace needs content", good("content", " \n\t\r\n")},
		{"NUL", good("content", "func F() {\x00}")},
		{"at most", good("content", strings.Repeat("x\n", maxContent/2+1))},
		{"remove takes no content", good("operation", "remove")},
		{"to is for move", good("to", "after G")},
		{"move needs to", good("operation", "move", "content", nil)},
		{"move takes no content", good("operation", "move", "to", "after G")},
		{`to is "G"`, good("operation", "move", "content", nil, "to", "G")},
		{"defines no", good("operation", "move", "content", nil, "to", "after  K")},
		{"name is empty", good("operation", "move", "content", nil, "to", "after ")},
		{"is on the same line as", good("operation", "move", "content", nil, "to", "before G")},
		{"cannot be moved to F", good("operation", "move", "content", nil, "to", "before F")},
		{"content needs one line {definition}", good("operation", "wrap_region")},
		{"content needs one line {definition}", good("operation", "wrap_region", "content", "{definition}\n{definition}")},
		{"{ in line 3 would have no partner", good("operation", "wrap_region", "content", "{{{\n{definition}")},
		{"( in line 4 would have no partner", good("operation", "signature", "content", "func F(")},
		{"( in line 3 would have no partner", good("content", "func F( {}", "force", true)},
		{"would no longer parse", good("content", "func F() { return return }")},
		{"would have", good("path", "large.go", "operation", "insert_after", "content", strings.Repeat("//"+strings.Repeat("x", 997)+"\n", maxContent/1000))},
	} {
		if c.args["path"] == "large.go" {
			servertest.Put(t, filepath.Join(dir, "large.go"), editedGo+"/*\n"+strings.Repeat(strings.Repeat("x", 999)+"\n", (maxSource-maxContent/2)/1000)+"*/\n")
			before = contents(t, dir)
		}
		raw, err := json.Marshal(c.args)
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Call(t.Context(), "edit_definition", raw, nil)
		if err != nil {
			t.Fatal(err)
		}
		answer := jsontext.Text(r.Content[0].Text)
		if !r.IsError || !strings.Contains(answer, c.word) || len(answer) > 64<<10 || strings.ContainsAny(answer, "\x00\x1b") {
			t.Errorf("%d %.200s: %.2000q", i, raw, answer)
		}
		if after := contents(t, dir); after != before {
			t.Fatalf("%d %.200s changed something", i, raw)
		}
	}
}

// contents are all files below a directory, with what is in them.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, _ := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %v %s\n", path, d.Type(), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// A root that is read and not written.
func TestEditDefinitionReadOnlyRoot(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), ".vscode")
	servertest.Put(t, filepath.Join(dir, "a.go"), editedGo)
	s := serverOver(t, dir)
	servertest.Fails(t, s, "is protected because of", "edit_definition", "path", "a.go", "name", "F", "operation", "remove")
	if servertest.Get(t, filepath.Join(dir, "a.go")) != editedGo {
		t.Error("it was edited")
	}
}

// What somebody else writes while the syntax is checked stays.
func TestEditDefinitionMeetsWriter(t *testing.T) {
	t.Parallel()
	servertest.Needs(t, "sh", "cat")
	dir, bin := t.TempDir(), t.TempDir()
	path := filepath.Join(dir, "a.py")
	servertest.Put(t, path, "def f():\n    pass\n")
	servertest.Put(t, filepath.Join(bin, "python3"), "#!/bin/sh\ncat >/dev/null\necho 'other = 1' >"+path+"\n")
	if err := os.Chmod(filepath.Join(bin, "python3"), 0o755); err != nil {
		t.Fatal(err)
	}
	area, err := confine.Open(confine.Spec{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer area.Root.Close()
	server, err := New(Spec{Areas: []*confine.Area{area}, Environ: []string{"PATH=" + bin + ":" + os.Getenv("PATH")}, Processes: newProcesses()})
	if errors.Is(err, ErrNoCtags) {
		t.Skip("universal-ctags is not installed")
	}
	if err != nil {
		t.Fatal(err)
	}
	s := servertest.Local(t, server)
	servertest.Fails(t, s, "somebody else changed it meanwhile; read it again", "edit_definition", "path", "a.py", "name", "f", "operation", "replace", "content", "def g(): pass")
	if got := contents(t, dir); got != path+" ---------- other = 1\n\n" {
		t.Error(got)
	}
}

// A preview is the diff of what the call then does, and changes nothing.
func TestEditDefinitionPreview(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	servertest.Put(t, filepath.Join(dir, "a.go"), editedGo)
	area, err := confine.Open(confine.Spec{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer area.Root.Close()
	server, err := New(Spec{Areas: []*confine.Area{area}, Environ: os.Environ(), Processes: newProcesses()})
	if errors.Is(err, ErrNoCtags) {
		t.Skip("universal-ctags is not installed")
	}
	if err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	for _, c := range []struct{ tool, args, want string }{
		{"edit_definition", `{"path":"a.go","name":"F","operation":"signature","content":"func F(a, b int) int"}`, "@@ -1,7 +1,7 @@\n package a\n \n // F is.\n-func F(a int) int {\n+func F(a, b int) int {\n \treturn a\n }\n \n"},
		{"edit_definition", `{"path":"a.go","name":"F","operation":"signature","content":"func F("}`, ""},
		{"edit_definition", `{"path":"../a.go","name":"F","operation":"remove"}`, ""},
		{"outline", `{"path":"a.go"}`, ""},
	} {
		ctx, preview := confine.WithPreview(t.Context())
		_, _ = server.Call(ctx, c.tool, json.RawMessage(c.args), nil)
		if preview.Diff != c.want {
			t.Errorf("%s %s: %q", c.tool, c.args, preview.Diff)
		}
		if contents(t, dir) != before {
			t.Errorf("%s %s changed something", c.tool, c.args)
		}
	}
}

// A file of which a tool has shown something is told when it changes, but not for what
// the model itself has edited.
func TestEditDefinitionIsKnown(t *testing.T) {
	t.Parallel()
	dir, s := newServer(t, map[string]string{"a.go": editedGo})
	known := new(confine.Known)
	ctx := confine.WithBounds(t.Context(), confine.Bounds{Known: known})
	for _, c := range [][2]string{{"definition", `{"path":"a.go","name":"F"}`}, {"edit_definition", `{"path":"a.go","name":"F","operation":"remove"}`}} {
		if r, err := s.Call(ctx, c[0], json.RawMessage(c[1]), nil); err != nil || r.IsError {
			t.Fatal(c, err)
		}
	}
	if told := known.Changes(t.Context()); told != "" {
		t.Error(told)
	}
	servertest.Put(t, filepath.Join(dir, "a.go"), "package a\n\nvar G = 3\n")
	if told := known.Changes(t.Context()); !strings.Contains(told, "-var G, H = 1, 2\n+var G = 3\n") {
		t.Error(told)
	}
}
