package code

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/testdata/servertest"
)

// A renameCase is files, a rename, and what the files are then; "" for the error.
type renameCase struct {
	name, path, def, to string
	files, want         map[string]string // a file that is not in want stays
	says                string            // is in the answer
	fails               string            // is in the error, and no file changes
}

func TestRename(t *testing.T) {
	t.Parallel()
	for _, c := range []renameCase{
		{name: "python shadow", path: "a.py", def: "f", to: "g",
			files: map[string]string{"a.py": "def f(): pass\n\ndef h(f):\n    return f\n\nx = [f for _ in (f(), f)]  # f\ny = dict(f=1)\nz = 'f'\n"},
			want:  map[string]string{"a.py": "def g(): pass\n\ndef h(f):\n    return f\n\nx = [g for _ in (g(), g)]  # f\ny = dict(f=1)\nz = 'f'\n"}, says: "a.py:3: the function h has"},
		{name: "python class", path: "a.py", def: "A.f", to: "g",
			files: map[string]string{"a.py": "class A:\n    def f(self):\n        return self.f() + A.f(self)\n\nclass B(A):\n    def f(self): pass\n\ndef h(a): return a.f()\n", "b.py": "from a import A\nA.f(1)\nq.f()\n"},
			want:  map[string]string{"a.py": "class A:\n    def g(self):\n        return self.g() + A.g(self)\n\nclass B(A):\n    def f(self): pass\n\ndef h(a): return a.f()\n", "b.py": "from a import A\nA.g(1)\nq.f()\n"}, says: "a.py:6: another definition of the name, B.f"},
		{name: "python taken in another file", path: "a.py", def: "f", to: "g", files: map[string]string{"a.py": "def f(): pass\n", "b.py": "from a import f\ng = f\n"}, fails: `b.py:2 uses the name "g" already`},
		{name: "python not imported", path: "a.py", def: "f", to: "g", files: map[string]string{"a.py": "def f(): pass\n", "b.py": "def f(): pass\nf()\n"}, want: map[string]string{"a.py": "def g(): pass\n"}},
		{name: "python all", path: "a.py", def: "f", to: "g", files: map[string]string{"a.py": "__all__ = ['f', 'h']\ndef f(): pass\n"}, want: map[string]string{"a.py": "__all__ = ['g', 'h']\ndef g(): pass\n"}},
		{name: "javascript", path: "m.js", def: "f", to: "g",
			files: map[string]string{"m.js": "export function f(a) { return f(a); }\nconst o = { f: 1 };\nmodule.exports = { f };\n", "u.js": "import { f } from './m.js';\nimport * as m from './m';\nf(); m.f(); o.f();\n", "v.js": "const { f } = require('./m');\nf();\n", "w.js": "function f() {}\nf();\n"},
			want:  map[string]string{"m.js": "export function g(a) { return g(a); }\nconst o = { f: 1 };\nmodule.exports = { g };\n", "u.js": "import { g } from './m.js';\nimport * as m from './m';\ng(); m.g(); o.f();\n", "v.js": "const { g } = require('./m');\ng();\n"}, says: "u.js:3: a member"},
		{name: "typescript", path: "m.ts", def: "K", to: "L",
			files: map[string]string{"m.ts": "export class K<T> { static a: K<number>; f(x: K<T>): K<T> { return new K(); } }\n", "u.ts": "import type { K } from './m.js';\nlet a: K<string> | null;\nfunction f(K: number) { return K; }\n"},
			want:  map[string]string{"m.ts": "export class L<T> { static a: L<number>; f(x: L<T>): L<T> { return new L(); } }\n", "u.ts": "import type { L } from './m.js';\nlet a: L<string> | null;\nfunction f(K: number) { return K; }\n"}, says: "u.ts:3: the function f has"},
		{name: "c", path: "a.c", def: "f", to: "g",
			files: map[string]string{"a.h": "#pragma once\nint f(int a);\n", "a.c": "#include \"a.h\"\nint f(int a) { return a ? f(a - 1) : 0; }\n", "b.c": "#include \"a.h\"\nint h(void) { return f(1); }\nint k(int f) { return f; }\n", "c.c": "static int f(void) { return 1; }\n"},
			want:  map[string]string{"a.h": "#pragma once\nint g(int a);\n", "a.c": "#include \"a.h\"\nint g(int a) { return a ? g(a - 1) : 0; }\n", "b.c": "#include \"a.h\"\nint h(void) { return g(1); }\nint k(int f) { return f; }\n"}, says: "b.c:3: "},
		{name: "java", path: "p/A.java", def: "A.f", to: "g",
			files: map[string]string{"p/A.java": "package p;\npublic class A {\n  static int f() { return f() + A.f() + this.f(); }\n}\n", "p/B.java": "package p;\nclass B { int x = A.f(); int y = q.f(); }\n", "C.java": "import p.A;\nclass C { int x = A.f(); }\n"},
			want:  map[string]string{"p/A.java": "package p;\npublic class A {\n  static int g() { return g() + A.g() + this.g(); }\n}\n", "p/B.java": "package p;\nclass B { int x = A.g(); int y = q.f(); }\n", "C.java": "import p.A;\nclass C { int x = A.g(); }\n"}, says: "p/B.java:2: "},
		{name: "java file", path: "A.java", def: "A", to: "B", files: map[string]string{"A.java": "public class A {}\n"}, fails: "A has the name of its file"},
		{name: "rust", path: "src/m.rs", def: "f", to: "g",
			files: map[string]string{"src/m.rs": "pub fn f(a: u8) -> u8 { if a > 0 { f(a - 1) } else { 0 } }\n", "src/main.rs": "mod m;\nuse m::f;\nfn main() { f(1); m::f(2); x.f(); }\n"},
			want:  map[string]string{"src/m.rs": "pub fn g(a: u8) -> u8 { if a > 0 { g(a - 1) } else { 0 } }\n", "src/main.rs": "mod m;\nuse m::g;\nfn main() { g(1); m::g(2); x.f(); }\n"}, says: "src/main.rs:3: "},
		{name: "go", path: "a.go", def: "f", to: "g",
			files: map[string]string{"a.go": "package a\n\nfunc f() {}\n\ntype t struct{ f int }\n\nfunc h(x t) {\n\tf()\n\tf := x.f\n\t_ = f\n\t_ = t{f: 1}\n\t_ = map[any]int{1: 2}\n}\n", "b.go": "//go:build x\n\npackage a\n\nfunc f() {}\n", "a_test.go": "package a\n\nvar _ = f\n"},
			want:  map[string]string{"a.go": "package a\n\nfunc g() {}\n\ntype t struct{ f int }\n\nfunc h(x t) {\n\tg()\n\tf := x.f\n\t_ = f\n\t_ = t{f: 1}\n\t_ = map[any]int{1: 2}\n}\n", "b.go": "//go:build x\n\npackage a\n\nfunc g() {}\n", "a_test.go": "package a\n\nvar _ = g\n"}},
		{name: "go method", path: "a.go", def: "T.f", to: "g",
			files: map[string]string{"a.go": "package a\n\ntype T struct{ x int }\n\nfunc (t *T) f() { t.f() }\n\nfunc h(a *T, b any) {\n\ta.f()\n\tc := &T{}\n\tc.f()\n\tb.(*T).f()\n\t(*T).f(a)\n}\n"},
			want:  map[string]string{"a.go": "package a\n\ntype T struct{ x int }\n\nfunc (t *T) g() { t.g() }\n\nfunc h(a *T, b any) {\n\ta.g()\n\tc := &T{}\n\tc.g()\n\tb.(*T).f()\n\t(*T).g(a)\n}\n"}, says: "a.go:11: the type"},
		{name: "go taken", path: "a.go", def: "f", to: "g", files: map[string]string{"a.go": "package a\n\nfunc f() {}\n", "b.go": "package a\n\nvar g = 1\n"}, fails: `b.go:3 uses the name "g" already`},
		{name: "guessed", path: "a.ts", def: "Split", to: "B", files: map[string]string{"a.ts": "export default\nclass Split {\n}\n"}, fails: "it is not certain where"},
		{name: "shell", path: "a.sh", def: "f", to: "g", files: map[string]string{"a.sh": "f() { :; }\n"}, fails: "definitions are renamed in Go, Python"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir, s := newServer(t, c.files)
			if c.fails != "" {
				servertest.Fails(t, s, c.fails, "rename", "path", c.path, "name", c.def, "to", c.to)
			} else if got := servertest.Works(t, s, "rename", "path", c.path, "name", c.def, "to", c.to); !strings.Contains(got, c.says) {
				t.Errorf("%s", got)
			}
			for name, text := range c.files {
				if changed, found := c.want[name]; found {
					text = changed
				}
				if got := servertest.Get(t, filepath.Join(dir, name)); got != text {
					t.Errorf("%s:\n%s\nwant:\n%s", name, got, text)
				}
			}
		})
	}
}

// Real packages build as before when any function of theirs has another name.
func TestRenamedPackageBuilds(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds packages")
	}
	servertest.Needs(t, "go")
	files := map[string]string{"go.mod": "module toolpipe\n\ngo 1.26\n"}
	for _, dir := range []string{"mcp/builtin/code/lexis", "mcp/builtin/code/imports", "mcp/builtin/code/move"} {
		names, err := filepath.Glob(filepath.Join("..", "..", "..", dir, "*.go"))
		if err != nil || len(names) == 0 {
			t.Fatal(dir, err)
		}
		for _, name := range names {
			files[dir+"/"+filepath.Base(name)] = servertest.Get(t, name)
		}
	}
	mod := servertest.Get(t, "../../../go.mod")
	for line := range strings.Lines(mod) {
		if strings.HasPrefix(line, "go ") {
			files["go.mod"] = "module toolpipe\n\n" + line
		}
	}
	dir, s := newServer(t, files)
	renamed := 0
	for path, text := range files {
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, d := range goDefinitions([]byte(text)) {
			if d.Scope != "" || d.Name == "_" || d.Name == "init" {
				continue
			}
			servertest.Works(t, s, "rename", "path", path, "name", fmt.Sprint(d.Name), "to", d.Name+"Renamed")
			renamed++
		}
	}
	cmd := exec.Command("go", "vet", "./...")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil || renamed < 100 {
		t.Errorf("%d renamed, %v\n%s", renamed, err, out)
	}
}
