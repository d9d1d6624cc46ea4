package code

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/mcp"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/testdata/servertest"
)

// newServer is a session with a server over a directory with these files. Without
// ctags the test is skipped.
func newServer(t testing.TB, files map[string]string) (dir string, s *mcp.Session) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		servertest.Put(t, filepath.Join(dir, name), content)
	}
	return dir, serverOver(t, dir)
}

// serverOver is a session with a server over directories.
func serverOver(t testing.TB, dirs ...string) *mcp.Session {
	t.Helper()
	return serverWith(t, os.Environ(), dirs...)
}

func newProcesses() *process.Processes { return &process.Processes{} }

func serverWith(t testing.TB, environ []string, dirs ...string) *mcp.Session {
	t.Helper()
	spec := Spec{Environ: environ, Processes: newProcesses()}
	for _, dir := range dirs {
		area, err := confine.Open(confine.Spec{Root: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { area.Root.Close() })
		spec.Areas = append(spec.Areas, area)
	}
	server, err := New(spec)
	if errors.Is(err, ErrNoCtags) {
		t.Skip("universal-ctags is not installed")
	}
	if err != nil {
		t.Fatal(err)
	}
	return servertest.Local(t, server)
}

func TestOutline(t *testing.T) {
	_, s := newServer(t, map[string]string{
		"a.py": "class A(B):\n    def m(self, x):\n        return x\n",
		"b.go": "package b\n\n// T is.\ntype T struct{ n int }\n\nfunc (t *T) M(x int) error {\n\treturn nil\n}\n",
	})
	if got := servertest.Works(t, s, "outline", "path", "a.py"); !strings.Contains(got, "class A") || !strings.Contains(got, "  method m(self, x)  2-3\n") {
		t.Error(got)
	}
	if got := servertest.Works(t, s, "outline", "path", "b.go"); !strings.Contains(got, "struct T  3-4\n") || !strings.Contains(got, "method T.M(x int) error  6-8\n") {
		t.Error(got)
	}
	if got := servertest.Works(t, s, "definition", "path", "a.py", "name", "A::m"); got != "a.py:2-3 method A.m\n    def m(self, x):\n        return x\n" {
		t.Error(got)
	}
}
