package code

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/testdata/servertest"
)

// badNames are names that no definition has, and paths that lead nowhere, for any
// tool that takes a name and a path.
func badNames(t *testing.T, s *mcp.Session, tool, argument string) {
	t.Helper()
	for _, name := range []string{"", ".", "A.", "A::", " ", "a b", "a\nb", "a\x00", "../a", "\u202Ea", strings.Repeat("x", 300)} {
		servertest.Fails(t, s, "name", tool, argument, name)
	}
	for path, why := range map[string]string{"": "empty", "..": "outside", "/etc": "outside", "missing": "no file", "a\x00b": "NUL", strings.Repeat("x/", 3000): "bytes"} {
		servertest.Fails(t, s, why, tool, argument, "f", "path", path)
	}
	for _, raw := range []string{`{}`, `{"` + argument + `":1}`, `{"` + argument + `":["f"]}`, `{"` + argument + `":"f","path":1}`, `{"` + argument + `":"f","other":1}`, `[]`, `{"` + argument + `":"\ud800"}`} {
		if r, err := s.Call(t.Context(), tool, json.RawMessage(raw), nil); err == nil && !r.IsError {
			t.Errorf("%s %s works", tool, raw)
		}
	}
}

func TestUsages(t *testing.T) {
	dir, s := newServer(t, map[string]string{
		"a.py":      "import f\n\nclass A:\n    # f\n    x = 'f'\n    def m(self):\n        return f(ff, self.f, \"f\")\n\n    def n(self): f\n",
		"b/b.go":    "package b\n\n// f is.\nfunc f() {\n\tf() // f\n}\n\ntype T struct {\n\tf func() `f`\n}\n",
		"b/c.js":    "const f = `f ${f} f`;\r\nfunction g() {\r\n  const x = f(1);\r\n}\r\n",
		"b/notes":   "call f, or ff\n",
		"b/bin":     "f\x00f\n",
		"c/none.py": "# f\n",
		".env":      "f=1\n",
	})
	if err := os.Symlink("a.py", filepath.Join(dir, "link.py")); err != nil {
		t.Fatal(err)
	}
	const want = `a.py
  (outside of definitions)
    1: import f
  method A.m  6-7
    7: return f(ff, self.f, "f")
  method A.n  9
    9: def n(self): f
b/b.go
  function f  3-6
    4: func f() {
    5: f() // f
  struct T  8-10
    9: f func() ` + "`f`" + `
b/c.js
  constant f  1
    1: const f = ` + "`f ${f} f`" + `;
  function g  2-4
    3: const x = f(1);
b/notes (the language is not known: comments and strings are searched too)
  (outside of definitions)
    1: call f, or ff
`
	for _, name := range []string{"f", "A.f", "a::b::f"} {
		if got := servertest.Works(t, s, "usages", "name", name); got != want {
			t.Errorf("usages of %s:\n%s", name, got)
		}
	}
	if got := servertest.Works(t, s, "usages", "name", "f", "path", "a.py"); !strings.HasPrefix(want, got) {
		t.Error(got)
	}
	if got := servertest.Works(t, s, "usages", "name", "f", "path", "c"); got != "\"f\" is not used in \"c\"\n" {
		t.Error(got)
	}
	badNames(t, s, "usages", "name")
	servertest.Fails(t, s, "protected", "usages", "name", "f", "path", ".env")
	servertest.Fails(t, s, "binary", "usages", "name", "f", "path", "b/bin")
}

// A field with its type is a part of what it is in.
func TestUsagesInFields(t *testing.T) {
	_, s := newServer(t, map[string]string{"a.c": "struct s {\n\tf_t f;\n\tint g;\n};\n"})
	if got := servertest.Works(t, s, "usages", "name", "f_t"); got != "a.c\n  struct s  1-4\n    2: f_t f;\n" {
		t.Error(got)
	}
}

func TestUsagesAreCapped(t *testing.T) {
	files := map[string]string{"z.c": "int f = 1;\n", "y.c": "f" + strings.Repeat(" ", 400) + ";\n" + strings.Repeat("int x;\n", 3) + "f\n"}
	for i := range 3 {
		files[fmt.Sprintf("a%d.c", i)] = strings.Repeat("f;\n", 400)
	}
	_, s := newServer(t, files)
	got := servertest.Works(t, s, "usages", "name", "f")
	if n := strings.Count(got, ": f;\n"); n != maxUsages || !strings.HasSuffix(got, "\n[toolpipe] 203 more lines in 3 files are left out; a deeper path shows them\n") {
		t.Errorf("%d lines: …%s", n, got[max(0, len(got)-200):])
	}
	if got := servertest.Works(t, s, "usages", "name", "f", "path", "y.c"); !strings.Contains(got, "[toolpipe: 402 bytes in this line]\n    5: f\n") {
		t.Error(got)
	}
}

// newCall is a call without ctags over a directory with these files.
func newCall(t *testing.T, files map[string]string) *call {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		servertest.Put(t, filepath.Join(dir, name), content)
	}
	area, err := confine.Open(confine.Spec{Root: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { area.Root.Close() })
	return &call{roots: []*confine.Access{area.Access(confine.Bounds{})}, ctags: &session{}}
}

// A survey ends at its limits, and says so.
func TestSurveyIsBounded(t *testing.T) {
	c := newCall(t, map[string]string{"a.c": "a\n", "b.c": "b\n", "c.c": "c\n", "big.c": strings.Repeat(" ", maxSource+1)})
	for _, s := range []*survey{{maxFiles: 2, maxBytes: 100}, {maxFiles: 100, maxBytes: 5}} {
		s.call = c
		read := ""
		if err := s.each(t.Context(), ".", func(s *sourceFile) error { read += s.path + " "; return nil }); err != nil {
			t.Fatal(err)
		}
		if got := string(s.appendTo(nil)); read != "a.c b.c " || !strings.Contains(got, "stopped after 2 files of 4 bytes") || !strings.Contains(got, "1 files of more than 16777216 bytes") {
			t.Errorf("read %s: %s", read, got)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := fmt.Errorf("enough")
	s := survey{call: c, maxFiles: 9, maxBytes: 99}
	err := s.each(ctx, ".", func(*sourceFile) error { cancel(cause); return nil })
	if err != cause || s.files != 1 {
		t.Errorf("%d files, then %v", s.files, err)
	}
}

// A file that became a link since its name was read is one that could not be read.
func TestSurveyCountsUnreadable(t *testing.T) {
	c := newCall(t, map[string]string{"a.c": "a\n", "b.c": "b\n"})
	s := survey{call: c, maxFiles: 9, maxBytes: 99}
	s.wants = func(name string) bool { // it is asked before the files are read
		if path := c.roots[0].Absolute(name); name == "b.c" {
			if err := errors.Join(os.Remove(path), os.Symlink("a.c", path)); err != nil {
				t.Error(err)
			}
		}
		return true
	}
	err := s.each(t.Context(), ".", func(*sourceFile) error { return nil })
	if got := string(s.appendTo(nil)); err != nil || got != "[toolpipe] 1 directories or files could not be read\n" {
		t.Errorf("%q, %v", got, err)
	}
}
