package code

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/testdata/load"
	"toolpipe/testdata/servertest"
)

// generated is a source of about 20 lines for each of n classes.
func generated(ending string, n int) string {
	var b strings.Builder
	for i := range n {
		switch ending {
		case ".py":
			fmt.Fprintf(&b, "# Class %d.\n@decorated(\n    1,\n)\nclass C%[1]d(Base):\n    \"\"\"Doc.\"\"\"\n    x = {\n        'a': 1,\n    }\n\n", i)
			for j := range 3 {
				fmt.Fprintf(&b, "    def m%d(self, a):\n        return [a,\n            %d]\n", j, i)
			}
		case ".ts":
			fmt.Fprintf(&b, "/** Class %d. */\nexport class C%[1]d extends Base {\n  x: Map<string, number> = new Map();\n", i)
			for j := range 4 {
				fmt.Fprintf(&b, "  m%d(a: string): number {\n    if (a) { return %d; }\n    return 1;\n  }\n", j, i)
			}
			b.WriteString("}\n")
		default:
			fmt.Fprintf(&b, "/// Struct %d.\n#[derive(Debug)]\npub struct C%[1]d {\n    x: HashMap<String, u32>,\n}\nimpl C%[1]d {\n", i)
			for j := range 3 {
				fmt.Fprintf(&b, "    fn m%d(&self, a: u32) -> u32 {\n        if a > 1 { return %d; }\n        1\n    }\n", j, i)
			}
			b.WriteString("}\n\n")
		}
	}
	return b.String()
}

// A file of 50,000 lines is outlined whole: each definition is where it is.
func TestManyLines(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"a.py": generated(".py", 50_000/19), "a.rs": generated(".rs", 50_000/28), "a.go": "package p\n\n" + strings.Repeat("// Doc.\nfunc f(a int) int {\n\treturn a\n}\n\n", 9_000) + "type C1700 int\n\nfunc (c C1700) m1() {}\n"}
	_, s := newServer(t, texts)
	for path, text := range texts {
		_, behind, _ := strings.Cut(text, "C1700")
		_, behind, _ = strings.Cut(behind, "m1(")
		line := strings.Count(text[:len(text)-len(behind)], "\n") + 1
		got := servertest.Works(t, s, "definition", "path", path, "name", "C1700::m1")
		if want := fmt.Sprintf("%s:%d-%d method C1700.m1\n", path, line, line+map[string]int{"a.py": 2, "a.rs": 3}[path]); !strings.HasPrefix(strings.Replace(got, fmt.Sprintf(":%d m", line), fmt.Sprintf(":%d-%[1]d m", line), 1), want) {
			t.Errorf("%s is not %s", got, want)
		}
	}
}

// What a text is made of does not make a call slow: the time grows with its length.
func TestHostileTexts(t *testing.T) {
	t.Parallel()
	size, names := 2<<10, 50
	if load.Full(t) {
		size, names = 256<<10, 2_000
	}
	files := map[string]string{}
	for _, ending := range []string{".py", ".ts", ".js", ".java", ".cpp", ".rs", ".rb", ".sh", ".unheard"} {
		for i, piece := range []string{
			"{", "}", "(", "f(", "class A{", "function f(){", "def f():\n", "def f(a,\n", " ", "\n", "\t", "@a\n", "x = 1,", "x = \n", "const x = 1 ", "fn f", "/*", "//\n", "\"", "'", "`${", "template <a,\n", "#define x \\\n", "a.b=", "<", "class A:\n ", "end\n", "record A(", "A a(B b) {\n", "a: {\n", "a: (b) =>\n", "\"a\": function() {", "const {a, ", "a.b.c = function\n", "A = [\n", "def a = b\n", "a = b = ", "%w(", "a: b\n", "macro_rules! a\n", "#define a\n", "::", "\xff", "\xEF\xBF\xBD",
		} {
			files[fmt.Sprintf("%d%s", i, ending)] = strings.Repeat(piece, size/len(piece))
		}
		var stairs strings.Builder
		for depth := 0; stairs.Len() < size; depth++ {
			fmt.Fprintf(&stairs, "%sclass A%d:\n", strings.Repeat(" ", depth%1000), depth)
		}
		files["stairs"+ending] = stairs.String()
	}
	for path, text := range files {
		began := time.Now()
		f := newSourceFile(path, []byte(text))
		f.lay()
		var defs []definition
		for i := range names {
			defs = append(defs, definition{Name: "abf"[i%3 : i%3+1], Kind: []string{"class", "function", "variable"}[i%3], Scope: strings.Repeat("a.", i%2), Line: 1 + i*f.lines()/names})
		}
		if f.language.Is("Ruby") {
			defs = append(defs, rubyDefinitions(f.mask, f.lines()+1)...)
		}
		f.defs = f.addMissed(f.place(sorted(defs)))
		list, skeleton := outlineText{sourceFile: f}, outlineText{sourceFile: f}
		list.list(nested(f.defs), 0)
		skeleton.skeleton(nested(f.defs))
		if took := time.Since(began); took > 30*time.Second || len(list.b) > 2<<20 || len(skeleton.b) > 600<<10 {
			t.Errorf("%.20q in %s took %v, and gave %d and %d bytes", text, path, took, len(list.b), len(skeleton.b))
		}
	}
}

// fakeCtags is a server whose ctags is a script.
func fakeCtags(t *testing.T, script string) (dir string, outline func(ctx context.Context) (string, bool)) {
	t.Helper()
	bin := t.TempDir()
	servertest.Put(t, filepath.Join(bin, "ctags"), "#!/bin/sh\n"+script)
	if err := os.Chmod(filepath.Join(bin, "ctags"), 0o755); err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	servertest.Put(t, filepath.Join(dir, "a.c"), "int x;\n")
	s := serverWith(t, []string{"PATH=" + bin, "CTAGS=--x", "SECRET=x"}, dir)
	return bin, func(ctx context.Context) (string, bool) {
		t.Helper()
		r, err := s.Call(ctx, "outline", json.RawMessage(`{"path":"a.c"}`), nil)
		if err != nil {
			return err.Error(), true
		}
		return string(r.Content[0].Text), r.IsError
	}
}

const program = `printf '{"_type":"program","name":"Universal Ctags","version":"1"}\n'` + "\n"

// Whatever ctags does, the call ends and says what is wrong.
func TestBadCtags(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct{ script, want string }{
		"Exuberant":         {"echo 'ctags: Unknown option: --_interactive' >&2; exit 1", `is not Universal Ctags with JSON output: install it with apt install universal-ctags or brew install universal-ctags, and put it first in PATH (it says: ctags: Unknown option: --_interactive)`},
		"silent":            {"exit 0", "is not Universal Ctags"},
		"text":              {"echo hello; cat >&2", "is not Universal Ctags"},
		"another program":   {`echo '{"_type":"program","name":"x"}'; cat`, "is not Universal Ctags"},
		"ends":              {program + "exit 1", "ctags ended without an answer"},
		"ends in the text":  {program + "head -c 10; exit 1", "ctags ended without an answer"},
		"text afterwards":   {program + "echo hello; cat >/dev/null", "ctags ended without an answer"},
		"an error":          {program + `echo '{"_type":"error","message":"no \u001b[31m way"}'; cat`, `ctags says: no \u001b[31m way`},
		"a warning":         {program + `echo '{"_type":"error","message":"x","warning":true}'; echo '{"_type":"completed"}'; cat`, "no definitions"},
		"a long line":       {program + "head -c 3000000 /dev/zero | tr '\\0' x; cat", "too long"},
		"lines out of file": {program + `for l in 0 -1 99 99999999999999999999; do echo "{\"_type\":\"tag\",\"name\":\"x\",\"line\":$l,\"end\":$l,\"kind\":\"f\"}"; done; echo '{"_type":"completed"}'; cat`, "no definitions"},
		"no end":            {program + `yes '{"_type":"tag","name":"x","line":1,"kind":"f"}' | head -n 200100; cat`, "more than 200000 definitions"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			_, outline := fakeCtags(t, c.script)
			if got, _ := outline(t.Context()); !strings.Contains(strings.ReplaceAll(got, `\"`, `"`), c.want) {
				t.Errorf("%.500s", got)
			}
		})
	}
}

// ctags starts in / with a clean environment and without options of its own, and
// ends with the call, also when it does not answer.
func TestCtagsIsConfined(t *testing.T) {
	t.Parallel()
	bin, outline := fakeCtags(t, `here=${0%/*}; { pwd; echo "$@"; env; } >$here/seen; `+program+`echo $$ >$here/pid; while :; do sleep 1; done`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan string)
	go func() {
		got, _ := outline(ctx)
		ended <- got
	}()
	pid := ""
	for pid = ""; !strings.HasSuffix(pid, "\n"); time.Sleep(10 * time.Millisecond) {
		text, _ := os.ReadFile(filepath.Join(bin, "pid"))
		pid = string(text)
		if t.Context().Err() != nil {
			t.Fatal("ctags did not start")
		}
	}
	cancel()
	<-ended
	for {
		if _, err := os.Stat("/proc/" + strings.TrimSpace(pid)); err != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	seen := servertest.Get(t, filepath.Join(bin, "seen"))
	if !strings.HasPrefix(seen, "/\n--options=NONE ") || !strings.Contains(seen, " --_interactive=sandbox ") {
		t.Error(seen)
	}
	for _, word := range []string{"CTAGS", "SECRET", "HOME"} {
		if strings.Contains(seen, word) {
			t.Errorf("ctags sees %s: %s", word, seen)
		}
	}
}

// A process that ctags has left behind, and that holds its output open, does not
// hold up the end of a call.
func TestCtagsLeavesProcess(t *testing.T) {
	t.Parallel()
	servertest.Needs(t, "setsid", "sleep")
	bin, _ := fakeCtags(t, program+`PATH=/usr/bin:/bin setsid sh -c 'echo $$ >"$1"; exec sleep 60' sh "${0%/*}/pid" 2>/dev/null & cat >/dev/null`)
	path, err := findCtags(Spec{Environ: []string{"PATH=" + bin}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() {
		s := &session{ctx: ctx, path: path, processes: newProcesses()}
		ended <- s.outline(newSourceFile("a.c", nil))
	}()
	pid := 0
	for pid == 0 {
		time.Sleep(10 * time.Millisecond)
		text, _ := os.ReadFile(filepath.Join(bin, "pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		if t.Context().Err() != nil {
			t.Fatal("ctags did not start")
		}
	}
	defer syscall.Kill(pid, syscall.SIGKILL)
	cause := errors.New("canceled by the test")
	cancel(cause)
	select {
	case err := <-ended:
		if err != cause {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the call goes on")
	}
}

// A ctags below a root is not used: a call that writes could have made it.
func TestCtagsInRoot(t *testing.T) {
	t.Parallel()
	root, other := t.TempDir(), t.TempDir()
	servertest.Put(t, filepath.Join(root, "bin/ctags"), "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(root, "bin/ctags"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "bin/ctags"), filepath.Join(other, "ctags")); err != nil {
		t.Fatal(err)
	}
	area, err := confine.Open(confine.Spec{Root: root})
	if err != nil {
		t.Fatal(err)
	}
	defer area.Root.Close()
	for _, path := range []string{filepath.Join(root, "bin"), other} {
		if _, err := New(Spec{Areas: []*confine.Area{area}, Environ: []string{"PATH=" + path}}); !errors.Is(err, ErrNoCtags) {
			t.Errorf("ctags in %s: %v", path, err)
		}
	}
	bin := t.TempDir()
	servertest.Put(t, filepath.Join(bin, "ctags"), "#!/bin/sh\n")
	if err := os.Chmod(filepath.Join(bin, "ctags"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := New(Spec{Areas: []*confine.Area{area}, Environ: []string{"PATH=" + filepath.Join(root, "bin") + ":" + bin}}); err != nil {
		t.Errorf("the ctags behind it: %v", err)
	}
}

// One ctags outlines many files, and goes on after one that fails.
func TestManyFiles(t *testing.T) {
	t.Parallel()
	newServer(t, nil) // without ctags the test is skipped
	path, err := findCtags(Spec{Environ: os.Environ()})
	if err != nil {
		t.Skip(err)
	}
	o := &session{ctx: t.Context(), path: path, processes: newProcesses()}
	defer o.close()
	for i := range 3 {
		for path, text := range map[string]string{"a.py": "def f(): pass\n", "a.go": "package p\nfunc f() {}\n"} {
			f := newSourceFile(path, []byte(text))
			if err := o.outline(f); err != nil || len(f.defs) != 1 {
				t.Errorf("%d: %v, %v", i, f.defs, err)
			}
		}
		if i == 1 {
			o.process.Kill()
			if err := o.outline(newSourceFile("a.py", []byte("def f(): pass\n"))); err == nil {
				t.Error("there is an answer without ctags")
			}
		}
	}
}

// BenchmarkOutline measures a file of 20,000 lines: what ctags takes, and what comes
// on top of it.
func BenchmarkOutline(b *testing.B) {
	for _, ending := range []string{".py", ".ts", ".rs"} {
		text := []byte(generated(ending, 1100))
		path, err := findCtags(Spec{Environ: os.Environ()})
		if err != nil {
			b.Skip(err)
		}
		s := &session{ctx: b.Context(), path: path, processes: newProcesses()}
		b.Run("ctags"+ending, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.definitions("a"+ending, text); err != nil {
					b.Fatal(err)
				}
			}
		})
		defs, _ := s.definitions("a"+ending, text)
		b.Run("besides"+ending, func(b *testing.B) {
			for b.Loop() {
				f := newSourceFile("a"+ending, text)
				f.lay()
				f.defs = f.addMissed(f.place(sorted(slices.Clone(defs))))
				o := outlineText{sourceFile: f}
				o.list(nested(f.defs), 0)
			}
			b.ReportMetric(float64(strings.Count(string(text), "\n")), "lines")
		})
		s.close()
	}
}
