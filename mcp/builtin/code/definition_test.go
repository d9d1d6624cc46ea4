package code

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"toolpipe/testdata/servertest"
)

func TestDefinitionParts(t *testing.T) {
	t.Parallel()
	_, s, _ := corpus(t)
	for _, c := range []struct{ path, name, part, want string }{
		{"tabs.py", "Outer.method", "signature", "tabs.py:38-50 method Outer.method\n\tasync def method(\n\t\tself,\n\t\ta: int = (1 + 2),\n\t\t*, key=lambda x: x\n\t) -> None:\n"},
		{"tabs.py", "Outer::method", "docstring", "tabs.py:38-50 method Outer.method\n\t\t'''One line.'''\n"},
		{"tabs.py", "deep", "", "tabs.py:33-34 method Outer.Inner.Innermost.deep\n\t\t\tdef deep(self) -> \"dict[str, int]\":\n\t\t\t\treturn {}\n"},
		{"tabs.py", "Inner.Innermost", "summary", "tabs.py:32-34 class Outer.Inner.Innermost\n\t\tclass Innermost:\n  method deep(self) -> \"dict[str, int]\"  33-34\n"},
		{"tabs.py", "TOTAL", "", "tabs.py:75-76 variable TOTAL\nTOTAL = add(1,\n\t2)\n"},
		{"tabs.py", "twice:66", "", "tabs.py:66-68 function twice\ndef twice():\n\t# comment first\n\treturn 2\n"},
		{"tabs.py", "LIMITS", "signature", "tabs.py:10-13 variable LIMITS\nLIMITS = { ...\n"},
		{"tabs.py", "conditional", "docstring", "tabs.py:72 function conditional\n(no comment above it and no docstring)\n"},
		{"list.c", "list_t", "", "list.c:16-18 typedef list_t\ntypedef struct {\n\tstruct node *head;\n} list_t;\n"},
		{"list.c", "EACH", "", "list.c:5-7 macro EACH\n#define EACH(list, item) \\\n\tfor (struct node *item = (list)->head; \\\n\t     item; item = item->next)\n"},
		{"list.c", "copy", "signature", "list.c:55-57 function copy\nchar *\ncopy(char *a, char b)\n"},
		{"list.c", "sum", "signature", "list.c:48-53 function sum\nint sum(const list_t *list)\n[toolpipe] also: prototype 30, sum:30\n"},
		{"list.c", "sum:30", "", "list.c:30 prototype sum\nint sum(const list_t *list);\n"},
		{"list.c", "sum_from", "docstring", "list.c:32-46 function sum_from\n/**\n * Sums a list.\n */\n"},
		{"stack.cpp", "Stack::push:16", "", "stack.cpp:15-16 function outer.inner.Stack.push\n  /// Pushes.\r\n  void push(const T &value) { items_.push_back(value); }\r\n"},
		{"stack.cpp", "inner::Stack::size", "signature", "stack.cpp:38-43 function outer.inner.Stack.size\ntemplate <typename T, class A>\nint\nStack<T, A>::size() const noexcept\n[toolpipe] also: prototype 21-22, size:22\n"},
		{"stack.cpp", "main", "", "stack.cpp:56-58 function main\nint main(int argc, char **argv) {\r\n  return [&] { return argc; }();\r\n}\n"},
		{"Tree.java", "Tree.find:42", "signature", "Tree.java:42-45 method Tree.find\n  public V find(K key)\n"},
		{"store.rs", "Store", "docstring", "store.rs:11-22 struct Store\n/// A store.\n[toolpipe] also: implementation 42-57, Store:42\n[toolpipe] also: implementation 59-63, Store:59\n"},
		{"store.rs", "push", "signature", "store.rs:49-56 method Store.push\n    async fn push<F>(&mut self, f: F) -> Result<(), Error>\n    where\n        F: Fn(T) -> bool,\n        T: Send,\n"},
		{"store.rs", "LIMIT", "", "store.rs:5-6 constant LIMIT\n/// The most.\npub const LIMIT: usize = 10;\n"},
		{"store.rs", "broken", "signature", "store.rs:84-85~ function broken\nfn broken ...\n[toolpipe] ~: where it begins or ends is a guess; edit_definition does not edit it\n"},
		{"view.ts", "Union", "", "view.ts:10-12 alias Union\nexport type Union =\n  | 'a'\n  | { kind: 'b' };\n"},
		{"view.ts", "View.run", "docstring", "view.ts:28-33 method View.run\n  /** Runs. */\n"},
		{"app.js", "same:69", "", "app.js:69 function same\nfunction same () { return 2 }\n"},
		{"app.js", "Base.handler", "", "app.js:33-35 field Base.handler\n  handler = () => {\n    return 1\n  }\n"},
		{"run.sh", "hello", "", "run.sh:4-10 function hello\n# Says hello.\nhello() {\n  case $1 in\n    a) echo \"}\" ;;\n    (b) echo ${x:-\"{\"} ;;\n  esac\n}\n"},
		{"shop.rb", "Shop::Order#x", "", ""},
		{"shapes.go", "Box.Area", "docstring", "shapes.go:35-44 method Box.Area\n// Area implements Shape.\n//\n// It is exact.\n"},
		{"shapes.go", "Box", "summary", "shapes.go:23-29 struct Box\ntype Box[T any, U interface{ ~int | ~string }] struct\n// A Box is generic.\n  embedded Shape  25\n  embedded base  26\n  field first  27\n  field second  27\n  field inner  28\n  method Area(scale float64) (float64, error)  35-44\n"},
		{"shapes.go", "Map", "signature", "shapes.go:48 function Map\nfunc Map[K comparable, V any](m map[K]V, f func(V) V) (map[K]V, error)\n"},
		{"shapes.go", "High", "", "shapes.go:10 const High\n\tHigh\n"},
	} {
		t.Run(c.path+" "+c.name+" "+c.part, func(t *testing.T) {
			if !strings.HasSuffix(c.path, ".go") {
				needsCtags59(t)
			}
			args := []any{"path", c.path, "name", c.name}
			if c.part != "" {
				args = append(args, "part", c.part)
			}
			if c.want == "" {
				servertest.Fails(t, s, "defines no", "definition", args...)
			} else if got := servertest.Works(t, s, "definition", args...); got != c.want {
				t.Errorf("the answer is\n%s\nnot\n%s", got, c.want)
			}
		})
	}
}

func TestDefinitionAmbiguous(t *testing.T) {
	t.Parallel()
	needsCtags59(t)
	_, s, _ := corpus(t)
	for _, c := range [][]string{
		{"shapes.go", "Area", "3 definitions", "Shape.Area:20 ", "Box.Area:38 ", "base.Area:46 "},
		{"tabs.py", "twice", "2 definitions", "twice:62  function twice()  62-63\n", "twice:66  function twice()  66-68"},
		{"tabs.py", "Outer.size", "2 definitions", "Outer.size:53 ", "Outer.size:57 "},
		{"Tree.java", "find", "2 definitions", "Tree.find:43 ", "Tree.find:47 "},
	} {
		for _, want := range c[2:] {
			servertest.Fails(t, s, want, "definition", "path", c[0], "name", c[1])
		}
	}
	// Of a class and its constructors, or one name and others inside, the outer is meant.
	if got := servertest.Works(t, s, "definition", "path", "stack.cpp", "name", "Stack", "part", "signature"); !strings.Contains(got, "\nclass Stack : public") || !strings.Contains(got, "also: function 34-36, Stack:35\n") {
		t.Error(got)
	}
	servertest.Fails(t, s, `did you mean "conditional"?`, "definition", "path", "tabs.py", "name", "condtional")
}

// A definition that is longer than an answer is cut, and the answer says where to go
// on.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for range 6000 {
		many.WriteString("def f(): pass\n")
	}
	_, s := newServer(t, map[string]string{
		"long.go": "package p\n\nvar long = `" + strings.Repeat("a line of text\n", 30_000) + "`\n",
		"many.py": many.String(),
	})
	got := servertest.Works(t, s, "definition", "path", "long.go", "name", "long")
	if len(got) > 260<<10 || !strings.HasSuffix(got, "start_line 16386\n") || !strings.HasPrefix(got, "long.go:3-30003 var long\nvar long = `a line") {
		t.Errorf("%d bytes, which end with %q", len(got), got[max(0, len(got)-200):])
	}
	got = servertest.Works(t, s, "outline", "path", "many.py")
	if strings.Count(got, "function f") != 5000 || !strings.Contains(got, "[toolpipe] 5000 of 6000 definitions are shown") {
		t.Errorf("%.200s ... %s", got, got[max(0, len(got)-200):])
	}
	servertest.Fails(t, s, "6000 definitions", "definition", "path", "many.py", "name", "f")
}

// A path is below the first directory, or absolute below any.
func TestSeveralRoots(t *testing.T) {
	t.Parallel()
	dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
	for i, dir := range dirs {
		dirs[i], _ = filepath.EvalSymlinks(dir)
		servertest.Put(t, filepath.Join(dirs[i], "a.go"), "package p\nfunc in"+string(rune('0'+i))+"() {}\n")
	}
	if err := os.Symlink(filepath.Join(dirs[1], "a.go"), filepath.Join(dirs[0], "link.go")); err != nil {
		t.Fatal(err)
	}
	s := serverOver(t, dirs[:2]...)
	for path, want := range map[string]string{"a.go": "a.go: 2 lines\nfunction in0", dirs[0] + "/a.go": "a.go: 2 lines\nfunction in0", dirs[1] + "/a.go": dirs[1] + "/a.go: 2 lines\nfunction in1"} {
		if got := servertest.Works(t, s, "outline", "path", path); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	for path, want := range map[string]string{dirs[2] + "/a.go": "outside the allowed root", "../" + filepath.Base(dirs[1]) + "/a.go": "outside", "link.go": "absolute target", "b.go": `did you mean "a.go"?`} {
		servertest.Fails(t, s, want, "outline", "path", path)
	}
}

// A file without a known ending is known by its first line, and one of no language
// has no definitions.
func TestLanguages(t *testing.T) {
	t.Parallel()
	_, s := newServer(t, map[string]string{
		"run": "#!/usr/bin/env python3\ndef f():\n    pass\n", "sh": "#! /bin/sh\ng() {\n:\n}\n", "a.tsx": "function h() {}\n", "b.mts": "class K {}\n",
		"plain": "def f(): pass\n", "empty.py": "", "empty.go": "", "bare.go": "package p", "bom.py": "\xEF\xBB\xBFdef f(): pass", "latin.c": "int f(int \xe9) { return 1; }\n", "space.ts": "namespace N\n{\n  export function q() {}\n}\n", "space.php": "<?php\nnamespace App\n{\nclass A\n{\n}\n}\n", "latin.java": "class \xe9t\xe9 {\n  void m() {}\n}\n",
		"nul.py": "def f(): pass\n\x00", "a\nb\x1b.py": "def f(): pass\n", "broken.go": "func f() {}\n",
	})
	for path, want := range map[string]string{
		"run": "function f()  2-3\n", "sh": "function g()  2-4\n", "a.tsx": "function h()  1\n", "b.mts": "class K  1\n",
		"plain": "no definitions: plain has 1 lines, in an unknown language\n", "empty.py": "no definitions: empty.py has 0 lines, in Python\n",
		"empty.go": "no definitions: empty.go has 0 lines, in Go\n", "bare.go": "no definitions", "bom.py": "function f()  1\n", "latin.java": "method m()  2\n", "latin.c": "function f(int\uFFFD) -> int  1\n",
		"a\nb\x1b.py": `"a\nb\x1b.py": 1 lines` + "\nfunction f()  1\n", "broken.go": "function f()  1\n",
	} {
		if got := servertest.Works(t, s, "outline", "path", path); !strings.Contains(got, want) {
			t.Errorf("%s: %s", path, got)
		}
		servertest.Works(t, s, "outline", "path", path, "detail", "skeleton")
	}
	for path, want := range map[string]string{ // brackets that open in a line of their own
		"space.ts": "space.ts: 4 lines\nnamespace N  1-4\n  function q()  3\n", "space.php": "space.php: 7 lines\nnamespace App  2-7\n  class A  4-6\n",
	} {
		if got := servertest.Works(t, s, "outline", "path", path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
	servertest.Works(t, s, "definition", "path", "space.ts", "name", "N.q")
	servertest.Works(t, s, "definition", "path", "space.php", "name", "App.A")
	servertest.Fails(t, s, "is a binary file", "outline", "path", "nul.py")
}

// Words that ctags 5.9 takes for more or less than they are.
func TestMisread(t *testing.T) {
	t.Parallel()
	needsCtags59(t)
	_, s := newServer(t, map[string]string{
		"a.rs": "pub const unsafe fn f() {}\npub const extern fn g() {}\nconst A: u8 = 1;\n",
		"a.js": "module.exports = {\n  a: {\n    b: 1,\n  },\n  c: {\n    d: 2,\n  },\n};\n",
	})
	for path, want := range map[string]string{
		"a.rs": "a.rs: 3 lines\nfunction f()  1\nfunction g()  2\nconstant A  3\n",
		"a.js": "a.js: 8 lines\nvariable module.exports  1-8\n  property a  2-4\n    property b  3\n  property c  5-7\n    property d  6\n",
	} {
		if got := servertest.Works(t, s, "outline", "path", path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}

// What is wrong with an argument is said, for each of them.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	dir, s := newServer(t, map[string]string{"a.py": "def f(): pass\n", ".env": "X=1\n", "d/x": ""})
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "out.py")); err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"outline", "definition"} {
		named := []any{"name", "f"}
		if tool == "outline" {
			named = nil
		}
		for path, want := range map[any]string{
			"": "path is empty", 1: "must be a string", nil: "must be a string", true: "must be a string", "none.py": "no file", "d": "is a directory", ".env": "is protected", "../a.py": "outside the allowed root",
			"/etc/passwd": "outside the allowed root", "a\x00b": "NUL", "out.py": "absolute target", strings.Repeat("x", 5000): "5000 bytes", strings.Repeat("d/", 300): "more than 256 names", "a.py/": "a.py", "\x1b[31m": "no file",
		} {
			servertest.Fails(t, s, want, tool, append([]any{"path", path}, named...)...)
		}
	}
	for _, name := range []string{"", " ", ".", "::", ":", ":1", "f:", "f:0", "f:-1", "f:99", "f:99999999999999999999", "f()", "g", "\x00", "\x1b[31m", strings.Repeat("f", 1<<20), strings.Repeat("f.", 1<<16)} {
		got, failed := servertest.Do(t, s, "definition", "path", "a.py", "name", name)
		if !failed || len(got) > 40<<10 || strings.ContainsAny(got, "\x00\x1b") {
			t.Errorf("name %.40q: %.200q", name, got)
		}
	}
	for _, c := range [][]any{
		{"outline", `detail is ""`, "path", "a.py", "detail", ""}, {"outline", `detail is "all"`, "path", "a.py", "detail", "all"}, {"outline", "must be a string", "path", "a.py", "detail", 1}, {"outline", "needs the argument", "detail", "outline"},
		{"outline", "no argument", "path", "a.py", "depth", 1}, {"definition", `part is ""`, "path", "a.py", "name", "f", "part", ""}, {"definition", `part is "body"`, "path", "a.py", "name", "f", "part", "body"},
		{"definition", "must be a string", "path", "a.py", "name", []string{"f"}}, {"definition", "must be a string", "path", "a.py", "name", nil}, {"definition", "needs the argument", "path", "a.py"}, {"definition", "must be a string", "path", "a.py", "name", "f", "part", map[string]int{}},
	} {
		servertest.Fails(t, s, c[1].(string), c[0].(string), c[2:]...)
	}
}
