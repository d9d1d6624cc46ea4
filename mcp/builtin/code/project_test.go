package code

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"toolpipe/mcp/toolserver"
	"toolpipe/testdata/servertest"
)

// treeOf is the tree in an answer of hierarchy below a heading, without the places.
func treeOf(answer, heading string) string {
	_, text, _ := strings.Cut(answer, heading+":\n")
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, " ") && b.Len() > 0 {
			break
		}
		name, rest, _ := strings.Cut(strings.TrimLeft(line, " "), "  ")
		b.WriteString(strings.Repeat(".", (len(line)-len(strings.TrimLeft(line, " ")))/2) + name)
		if i := strings.LastIndex(rest, "("); i >= 0 && !strings.HasPrefix(rest, "(not") {
			b.WriteString(rest[i : len(rest)-1])
		}
		b.WriteString(" ")
	}
	return strings.TrimSpace(b.String())
}

func TestHierarchy(t *testing.T) {
	for _, c := range []struct{ name, file, text, class, up, down string }{
		{"python", "a.py", "class A(object): pass\nclass B(A, m.X): pass\nclass C(B): pass\nclass D(C, A): pass\n", "B", "B .A ..object .X", "B .C ..D"},
		{"java", "A.java", "interface I<T> extends J {}\nclass A extends p.B<I> implements I<String>, K {}\n", "A", "A .B .I ..J .K", "A"},
		{"c++", "a.cc", "struct X {};\nclass A : public ns::X, private Y<int> {};\nclass B final : A {};\n", "A", "A .X .Y", "A .B"},
		{"typescript", "a.ts", "interface I extends J<K>, L {}\nclass A<T> extends B<T> implements I {}\n", "I", "I .J .L", "I .A"},
		{"rust", "a.rs", "trait T: Send + 'static {}\nstruct S;\nimpl<'a, X: Fn(u8)> ns::T for S<'a> where X: Y {}\nimpl S { fn t() {} }\n", "T", "T .Send", "T .S"},
		{"ruby", "a.rb", "class A < B::C\nend\nmodule M\n  class D < A\n  end\nend\n", "M.D", "D .A ..C", "D"},
		{"kotlin", "a.kt", "open class A(val x: Int) : B(), I<Int> { }\nclass C : A(1)\n", "A", "A .B .I", "A .C"},
		{"go", "a.go", "package a\ntype R interface { io.Reader; Close() }\ntype T struct { *R; n int }\ntype U struct { T }\n", "T", "T .R ..Reader", "T .U"},
		{"php", "a.php", "<?php\nclass A extends B implements I, J {}\n", "A", "A .B .I .J", "A"},
		{"c#", "a.cs", "class A : B, I {}\nclass C : A {}\n", "A", "A .B .I", "A .C"},
		{"cycle", "a.py", "class A(B): pass\nclass B(C): pass\nclass C(A): pass\n", "A", "A .B ..C ...A(cycle)", "A .C ..B ...A(cycle)"},
		{"diamond", "a.py", "class X(A): pass\nclass A(Z): pass\nclass B(A): pass\nclass C(A): pass\nclass D(B, C): pass\n", "D", "D .B ..A ...Z .C ..A(see above)", "D"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, s := newServer(t, map[string]string{"d/" + c.file: c.text})
			got := servertest.Works(t, s, "hierarchy", "name", c.class)
			if up, down := treeOf(got, "superclasses"), treeOf(got, "subclasses"); up != c.up || down != c.down {
				t.Errorf("%s\n%s\n%s", up, down, got)
			}
		})
	}
}

// The files of a hierarchy are found in rounds, and its lines are in the order of a walk.
func TestHierarchyInRounds(t *testing.T) {
	files := map[string]string{"z.py": "class A(Base): pass\n", "m/base.py": "class Base(Root): pass\n", "a/root.py": "class Root: pass\n"}
	down := "A"
	for i := range 12 { // more names than are searched for one by one
		files[fmt.Sprintf("b/c%02d.py", i)] = fmt.Sprintf("class C%02d(A): pass\n", i)
		files[fmt.Sprintf("a/b/d%02d.py", i)] = fmt.Sprintf("class D%02d(C%02d): pass\n", i, i)
		down += fmt.Sprintf(" .C%02d ..D%02d", i, i)
	}
	files["b/AB.py"] = "class AB(OtherA): pass\n"
	_, s := newServer(t, files)
	got := servertest.Works(t, s, "hierarchy", "name", "A")
	if up, below := treeOf(got, "superclasses"), treeOf(got, "subclasses"); up != "A .Base ..Root" || below != down {
		t.Errorf("%s\n%s\n%s", up, below, got)
	}
	for _, pair := range [][2]string{{"a", "b"}, {"z", "a/b"}, {"a/z", "a/b/c"}, {"a/b/c", "b/a"}, {"/r/b", "/r/a/b"}} {
		if walkOrder(pair[0], pair[1]) >= 0 || walkOrder(pair[1], pair[0]) <= 0 || walkOrder(pair[0], pair[0]) != 0 {
			t.Errorf("%q", pair)
		}
	}
}

func TestHierarchyPlaces(t *testing.T) {
	_, s := newServer(t, map[string]string{"a.py": "class A(B):\n    x = 1\n", "b.py": "class B: pass\n", "c.py": "class B: pass\n", "data.json": "{\"B\": 1}"})
	const want = "superclasses:\nA  class a.py:1-2\n  B  class b.py:1, class c.py:1\nsubclasses:\nA  class a.py:1-2\n"
	if got := servertest.Works(t, s, "hierarchy", "name", "A"); got != want {
		t.Error(got)
	}
	if got := servertest.Works(t, s, "hierarchy", "name", "A", "path", "a.py"); !strings.Contains(got, "  B  (not defined below \"a.py\")\n") {
		t.Error(got)
	}
	servertest.Fails(t, s, `did you mean "A"`, "hierarchy", "name", "a")
	badNames(t, s, "hierarchy", "name")
}

func TestCallPath(t *testing.T) {
	for _, c := range []struct {
		name, target string
		files        map[string]string
		want         string
	}{
		{"go", "main", map[string]string{
			"main.go":      "package main\n\nimport \"x/p\"\n\n// main calls unused.\nfunc main() {\n\tp.Run(len(\"unused\"))\n\tt := T{}\n\tt.Close()\n\trun()\n\ttestOnly()\n}\n\ntype T struct{ n int }\n\nfunc (t T) Close() { t.Close() }\n\nfunc (t T) run() {}\n",
			"main_test.go": "package main\n\nfunc testOnly() { main() }\n",
			"p/p.go":       "package p\n\nfunc Run(int) { main() }\nfunc main() { Run(1) }\nfunc unused() {}\nfunc run() {}\n",
		}, `main  function main.go:5-12
  Run  function p/p.go:3
    main  function p/p.go:4
      Run  function p/p.go:3  (cycle)
  T  struct main.go:14
  T.Close  method main.go:16
    T  struct main.go:14
    T.Close  method main.go:16  (cycle)
main  function p/p.go:4  (see above)
`},
		{"python", "A.m", map[string]string{
			"a.py": "import b\n\ndef f(): return g()\n\nclass A:\n    def m(self):\n        self.n(f, b.g)\n        os.g()\n        return x().k(script(), only())\n    def n(self): pass\n    def k(self): pass\n",
			"b.py": "def g(): pass\nclass B:\n    def k(self): pass\n    def n(self): pass\n    def only(self): pass\n",
			"c.js": "function f() {}\nfunction script() {}\n",
		}, `A.m  method a.py:6-9
  A.n  method a.py:10
  f  function a.py:3
    g  function b.py:1
  g  function b.py:1
  A.k  method a.py:11
`},
		{"c", "main", map[string]string{
			"a.c": "#include \"a.h\"\nstatic int one(void) { return 1; }\nint main(void)\n{\n\treturn one() + two() /* three() */;\n}\n",
			"a.h": "int two(void);\nint three(void);\n",
			"b.c": "int two(void) { return one(); }\nint three(void) { return 3; }\n",
			"c.c": "static int one(void) { return 2; }\n",
		}, `main  function a.c:3-6
  one  function a.c:2
  two  function b.c:1
    one  one of 2: a.c:2, c.c:1
`},
		{"javascript", "f", map[string]string{
			"a.js": "function f() {\n  const t = `x ${g(1)} h`;\n  return new K().m(t);\n}\nfunction g() {}\nfunction h() {}\nclass K {\n  m() { h(); }\n}\n",
		}, `f  function a.js:1-4
  g  function a.js:5
  K  class a.js:7-9
    K.m  method a.js:8
      h  function a.js:6
    h  function a.js:6
  K.m  method a.js:8  (see above)
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, s := newServer(t, c.files)
			if got := servertest.Works(t, s, "call_path", "target", c.target); got != c.want {
				t.Error(got)
			}
		})
	}
}

func TestCallPathDepth(t *testing.T) {
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "def f%d(): f%d()\n", i, i+1)
	}
	_, s := newServer(t, map[string]string{"a.py": text.String(), "b.py": strings.Repeat("def g(): pass\n", 7)})
	for _, c := range []struct{ asked, lines any }{{1, 2}, {3, 4}, {20, 21}} {
		got := servertest.Works(t, s, "call_path", "target", "f0", "max_depth", c.asked)
		if n := strings.Count(got, "function"); n != c.lines || !strings.HasSuffix(got, fmt.Sprintf("  ...\n[toolpipe] \"...\": 1 branches go on below level %d\n", c.asked)) {
			t.Errorf("max_depth %v:\n%s", c.asked, got)
		}
	}
	if got := servertest.Works(t, s, "call_path", "target", "f38", "max_depth", 1); strings.Contains(got, "toolpipe") {
		t.Error(got)
	}
	if got := servertest.Works(t, s, "call_path", "target", "g"); strings.Count(got, "\n") != 6 || !strings.Contains(got, "2 more definitions of \"g\" are left out") {
		t.Error(got)
	}
	for _, depth := range []any{0, -1, 21, int64(1) << 40} {
		servertest.Fails(t, s, "1 to 20", "call_path", "target", "f0", "max_depth", depth)
	}
	servertest.Fails(t, s, "whole number", "call_path", "target", "f0", "max_depth", "x")
	servertest.Fails(t, s, "outline", "call_path", "target", "missing")
	servertest.Fails(t, s, "; f1 is f1, a.py:2", "call_path", "target", "A.f1")
	badNames(t, s, "call_path", "target")
}

// A tree in which everything names everything is followed once, and cut.
func TestTreesAreCapped(t *testing.T) {
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "def f%d():\n", i)
		for j := range 40 {
			fmt.Fprintf(&text, "    f%d()\n", j)
		}
	}
	_, s := newServer(t, map[string]string{"a.py": text.String()})
	got := servertest.Works(t, s, "call_path", "target", "f0", "max_depth", 20)
	if n := strings.Count(got, "\n"); n < maxTreeLines/2 || n > maxTreeLines+3 {
		t.Errorf("%d lines", n)
	}
	_, s = newServer(t, map[string]string{"a.py": "class A: pass\n" + strings.Repeat("class B(A): pass\n", 3) + manyClasses(maxTreeLines+10)})
	got = servertest.Works(t, s, "hierarchy", "name", "A")
	if n := strings.Count(got, "  C"); n != maxTreeLines-2 || !strings.Contains(got, "[toolpipe] 12 more branches") {
		t.Errorf("%d lines: …%s", n, got[len(got)-200:])
	}
}

func manyClasses(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "class C%d(A): pass\n", i)
	}
	return b.String()
}

// A defect that one file meets leaves out this file alone, by its name. ctags starts anew.
func TestFaultyFile(t *testing.T) {
	c := newCall(t, map[string]string{"a.py": "def f(): pass\n", "b.py": "def g(): pass\n", "c.py": "def h(): pass\n"})
	c.ctags = editCall(t).ctags
	s := survey{call: c, maxFiles: 10, maxBytes: 1000}
	var names []string
	err := s.each(t.Context(), ".", func(f *sourceFile) error {
		if err := s.outline(t.Context(), f); err != nil || f.path == "b.py" {
			panic("a secret")
		}
		names = append(names, f.defs[0].Name)
		return nil
	})
	if got := fmt.Sprint(names, err); got != "[f h] <nil>" {
		t.Error(got)
	}
	if got := string(s.appendTo(nil)); !strings.HasPrefix(got, "[toolpipe] 1 files were left out because of a defect in toolpipe: b.py (panic with a value of type string, at ") || strings.Contains(got, "secret") {
		t.Error(got)
	}
}

func TestProjectIsCancelled(t *testing.T) {
	c := newCall(t, map[string]string{"a.go": "package a\n", "b.go": "package b\n"})
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := fmt.Errorf("enough")
	cancel(cause)
	if _, _, err := c.project(ctx, toolserver.Arguments{"name": []byte(`"f"`)}, "name"); err != cause {
		t.Error(err)
	}
}
