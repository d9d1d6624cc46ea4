package files

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"toolpipe/mcp"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/testdata/servertest"
)

// reader calls the tools for a conversation that knows k.
type reader struct {
	t testing.TB
	s *mcp.Session
	k *confine.Known
}

func (r reader) do(tool string, args ...any) (failed bool) {
	r.t.Helper()
	m := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		m[args[i].(string)] = args[i+1]
	}
	raw, _ := json.Marshal(m)
	result, err := r.s.Call(confine.WithBounds(context.Background(), confine.Bounds{Known: r.k}), tool, raw, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return result.IsError
}

func (r reader) told(want string) {
	r.t.Helper()
	if got := r.k.Changes(context.Background()); got != want {
		r.t.Errorf("told\n%s\nwant\n%s", got, want)
	}
	if again := r.k.Changes(context.Background()); again != "" {
		r.t.Errorf("told again: %s", again)
	}
}

func script(t testing.TB, dir, text string) {
	t.Helper()
	cmd := exec.Command("sh", "-ec", text)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", text, err, out)
	}
}

func TestKnown(t *testing.T) {
	const away = " (not shown: it can no longer be read, or a link or another kind of file replaced it)\n"
	for _, c := range []struct {
		name string
		read []any // the call that reads; read_file of f when nil
		do   string
		want string
	}{
		{"nothing", nil, "true", ""},
		{"the same again", nil, `printf 'one\ntwo\n' >f`, ""},
		{"in place", nil, "echo three >>f", "[toolpipe] changed: f\n@@ -1,2 +1,3 @@\n one\n two\n+three\n"},
		{"by another file", nil, "echo two >new; mv new f", "[toolpipe] changed: f\n@@ -1,2 +1 @@\n-one\n two\n"},
		{"elsewhere than in the part", []any{"read_file", "path", "f", "length", 3}, "echo three >>f", "[toolpipe] changed: f\n@@ -1,2 +1,3 @@\n one\n two\n+three\n"},
		{"emptied", nil, ": >f", "[toolpipe] changed: f\n@@ -1,2 +0,0 @@\n-one\n-two\n"},
		{"deleted", nil, "rm f", "[toolpipe] changed: f (deleted)\n"},
		{"its directory deleted", []any{"read_file", "path", "sub/g"}, "rm -r sub", "[toolpipe] changed: sub/g (deleted)\n"},
		{"no text any more", nil, `printf 'a\000b' >f`, "[toolpipe] changed: f (3 bytes; too large for a diff, or not text)\n"},
		{"another encoding", nil, `printf '\344' >f`, "[toolpipe] changed: f (1 bytes; too large for a diff, or not text)\n"},
		{"part of no text", []any{"read_file", "path", "bin", "offset", 0}, "echo x >bin", "[toolpipe] changed: bin (2 bytes; too large for a diff, or not text)\n"},
		{"large", []any{"get_file_slice", "path", "large", "end_line", 1}, "echo x >>large", fmt.Sprintf("[toolpipe] changed: large (%d bytes; too large for a diff, or not text)\n", 2<<20+2)},
		{"a directory", nil, "rm f; mkdir f", "[toolpipe] changed: f" + away},
		{"a link inside", nil, "ln -sf sub/g f", "[toolpipe] changed: f" + away},
		{"a link out of the root", nil, "ln -sf ../out/key f", "[toolpipe] changed: f" + away},
		{"a link of its directory", []any{"read_file", "path", "sub/g"}, "mv sub old; ln -s ../out sub; echo x >../out/g", "[toolpipe] changed: sub/g" + away},
		{"a moved link", []any{"read_file", "path", "link"}, "ln -sf f link", ""},
		{"what a link led to", []any{"read_file", "path", "link"}, "echo x >>sub/g", "[toolpipe] changed: link\n@@ -1 +1,2 @@\n g\n+x\n"},
		{"a FIFO", nil, "rm f; mkfifo f", "[toolpipe] changed: f" + away},
		{"unread", []any{"get_file_summary", "path", "f"}, "echo x >>f", ""},
		{"refused", []any{"read_file", "path", "bin"}, "echo x >bin", ""},
		{"an odd name", []any{"read_file", "path", "a\nb"}, "echo x >'a\nb'", "[toolpipe] changed: \"a\\nb\"\n@@ -1 +1 @@\n-odd\n\\ No newline at end of file\n+x\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			root := filepath.Join(dir, "root")
			servertest.Put(t, filepath.Join(dir, "out/key"), "secret")
			_, s := fileServer(t, nil, func(spec *confine.Spec) {
				for name, text := range map[string]string{"f": "one\ntwo\n", "sub/g": "g\n", "bin": "\x00", "large": strings.Repeat("x\n", 1<<20), "a\nb": "odd"} {
					servertest.Put(t, filepath.Join(root, name), text)
				}
				if err := os.Symlink("sub/g", filepath.Join(root, "link")); err != nil {
					t.Fatal(err)
				}
				spec.Root = root
			})
			r := reader{t, s, new(confine.Known)}
			if c.read == nil {
				c.read = []any{"read_file", "path", "f"}
			}
			if r.do(c.read[0].(string), c.read[1:]...) != (c.name == "refused") {
				t.Fatal("the read")
			}
			script(t, root, c.do)
			r.told(c.want)
		})
	}
}

// The model's own last write is known, what it did not see before an edit is told, and
// a whole file that it reads itself is not.
func TestKnownWrites(t *testing.T) {
	t.Parallel()
	dir, s := fileServer(t, map[string]string{"f": "one\ntwo\nthree\n"})
	r := reader{t, s, new(confine.Known)}
	change := func(text string) { servertest.Put(t, filepath.Join(dir, "f"), text) }
	r.do("edit_file", "path", "f", "old_string", "one", "new_string", "1")
	r.told("")
	change("1\ntwo\nthree\nfour\n")
	r.told("[toolpipe] changed: f\n@@ -1,3 +1,4 @@\n 1\n two\n three\n+four\n")
	change("1\ntwo\nthree\nFOUR\n")
	r.do("set_file_slice", "path", "f", "start_line", 1, "end_line", 1, "new_content", "I")
	r.told("[toolpipe] changed: f\n@@ -1,4 +1,4 @@\n 1\n two\n three\n-four\n+FOUR\n")
	change("gone\n")
	r.do("write_file", "path", "f", "content", "whole\n")
	r.told("")
	change("read whole\n")
	r.do("read_file", "path", "f")
	r.told("")
	change("read in part\n")
	r.do("get_file_slice", "path", "f", "end_line", 1)
	r.told("[toolpipe] changed: f\n@@ -1 +1 @@\n-read whole\n+read in part\n")
	script(t, dir, "rm f")
	r.told("[toolpipe] changed: f (deleted)\n")
	change("read in part\n")
	r.told("[toolpipe] changed: f (there again, as it was)\n")
	script(t, dir, "rm f")
	r.told("[toolpipe] changed: f (deleted)\n")
	change("else\n")
	r.told("[toolpipe] changed: f (there again)\n@@ -1 +1 @@\n-read in part\n+else\n")
	script(t, dir, "rm f")
	r.do("write_file", "path", "f", "content", "new\n")
	r.told("")
	if !r.do("edit_file", "path", "f", "old_string", "absent", "new_string", "x") {
		t.Error("the edit")
	}
	r.told("")
}

// A diff is cut behind a line, and behind a limit files are named alone; each says so.
func TestKnownLimits(t *testing.T) {
	t.Parallel()
	dir, s := fileServer(t, nil)
	r := reader{t, s, new(confine.Known)}
	for i := range 60 {
		name := fmt.Sprintf("file%03d-%s", i, strings.Repeat("n", 100))
		servertest.Put(t, filepath.Join(dir, name), "")
		r.do("read_file", "path", name)
		servertest.Put(t, filepath.Join(dir, name), strings.Repeat(strings.Repeat("x", 99)+"\n", 300))
	}
	text := r.k.Changes(context.Background())
	if len(text) > 88<<10 || r.k.Changes(context.Background()) != "" {
		t.Errorf("%d bytes, or told again", len(text))
	}
	if n := strings.Count(text, "\n[toolpipe] lines of this diff left out: 138; read the file again\n"); n != 4 || strings.Count(text, "[toolpipe] changed: ") != n {
		t.Errorf("%d diffs that are cut", n)
	}
	last := text[strings.LastIndex(text[:len(text)-1], "\n")+1:]
	if !strings.HasPrefix(last, "[toolpipe] changed too, left out here: file004-") || !strings.HasSuffix(last, " and 18 more\n") {
		t.Errorf("last line: %s", last)
	}
	one := strings.Repeat("y", 500<<10)
	servertest.Put(t, filepath.Join(dir, "line"), one)
	r.do("read_file", "path", "line")
	servertest.Put(t, filepath.Join(dir, "line"), one+"z")
	r.told("[toolpipe] changed: line\n@@ -1 +1 @@\n[toolpipe] lines of this diff left out: 4; read the file again\n")
}

// Two servers may have files of the same name, and a file may be attached too.
func TestKnownNames(t *testing.T) {
	a, s1 := fileServer(t, map[string]string{"f": "a\n", "own": "o\n", ".env": "A=1\n"})
	b, s2 := fileServer(t, map[string]string{"f": "b\n"})
	k := new(confine.Known)
	spec := confine.Spec{Protected: []string{filepath.Join(a, "own")}}
	for _, name := range []string{"f", "own", ".env", "absent", "/proc/self/status", "."} {
		k.Attach(filepath.Join(a, name), []byte("a\n"), spec)
	}
	reader{t, s1, k}.do("read_file", "path", "f")
	reader{t, s2, k}.do("read_file", "path", "f")
	other, s3 := fileServer(t, map[string]string{"f": "c\n"})
	reader{t, s3, k}.do("read_file", "path", "f")
	script(t, a, "echo x >f; echo x >own; echo x >.env; echo x >absent")
	servertest.Put(t, filepath.Join(b, "f"), "x\n")
	servertest.Put(t, filepath.Join(other, "f"), "x\n")
	diff := func(was string) string { return "\n@@ -1 +1 @@\n-" + was + "\n+x\n" }
	reader{t, s1, k}.told("[toolpipe] changed: " + a + "/f" + diff("a") + "[toolpipe] changed: f" + diff("b") + "[toolpipe] changed: " + other + "/f" + diff("c"))
}

// Calls of one round run side by side.
func TestKnownAtOnce(t *testing.T) {
	t.Parallel()
	dir, s := fileServer(t, nil)
	k := new(confine.Known)
	var all sync.WaitGroup
	for i := range 20 {
		name := fmt.Sprint("f", i%4)
		servertest.Put(t, filepath.Join(dir, name), name)
		all.Go(func() {
			reader{t, s, k}.do("read_file", "path", name)
			k.Changes(context.Background())
			reader{t, s, k}.do("write_file", "path", name, "content", "x")
		})
	}
	all.Wait()
	reader{t, s, k}.told("")
}
