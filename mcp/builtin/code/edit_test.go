package code

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/testdata/servertest"
)

// editCall is a call without a server.
func editCall(t *testing.T) *call {
	t.Helper()
	spec := Spec{Environ: os.Environ(), Processes: &process.Processes{}}
	path, err := findCtags(spec)
	if err != nil {
		t.Skip("universal-ctags is not installed")
	}
	s := &session{ctx: t.Context(), path: path, processes: spec.Processes}
	t.Cleanup(func() { s.close() })
	return &call{spec: spec, ctags: s}
}

// edit gives the text that a call of edit_definition would write, without a look at
// its syntax, or the error.
func edit(t *testing.T, c *call, file, text string, values map[string]string) (string, string) {
	t.Helper()
	args := editArguments(t, values)
	if err := checkEdit(args); err != nil {
		return "", err.Error()
	}
	f := newSourceFile(file, []byte(text))
	f.lay()
	if err := c.ctags.outline(f); err != nil {
		return "", err.Error()
	}
	edited, _, err := f.edit(args)
	if err != nil {
		return "", err.Error()
	}
	return string(edited), ""
}

// editArguments are arguments of edit_definition.
func editArguments(t *testing.T, values map[string]string) toolserver.Arguments {
	t.Helper()
	raw, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	args, err := (&toolserver.Builtin{Params: []toolserver.Parameter{{Name: "name", Kind: "string"}, {Name: "operation", Kind: "string"}, {Name: "content", Kind: "string"}, {Name: "to", Kind: "string"}}}).Read(raw)
	if err != nil {
		t.Fatal(err)
	}
	return args
}

// An editCase is a section "=== OPERATION NAME [TO]" of a file in testdata/edit, with
// the content, and the section "=== want" behind it, with the diff that the call makes
// of the source, or an exclamation mark and what the error says.
type editCase struct {
	title  string
	values map[string]string
	want   string
}

func readEditCases(t *testing.T, path string) (name, source string, cases []editCase) {
	t.Helper()
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range strings.Split("\n"+strings.TrimSuffix(string(file), "\n"), "\n=== ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		words := strings.SplitN(title, " ", 3)
		switch words[0] {
		case "file":
			name, source = words[1], body+"\n"
		case "want":
			cases[len(cases)-1].want = body
		default:
			c := editCase{title: title, values: map[string]string{"operation": words[0], "name": words[1], "content": body}}
			if len(words) == 3 {
				c.values["to"] = words[2]
			}
			cases = append(cases, c)
		}
	}
	return name, source, cases
}

// Every operation on every kind of definition, in eight languages.
func TestEditDefinition(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/edit/*.txt")
	if err != nil || len(paths) < 8 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			c := editCall(t)
			name, source, cases := readEditCases(t, path)
			for i, test := range cases {
				edited, failed := edit(t, c, name, source, test.values)
				got := "! " + failed
				if failed == "" {
					got = strings.TrimSuffix(confine.Diff(source, edited), "\n")
				}
				if got != test.want {
					t.Errorf("%s:\n%s\nwant\n%s", test.title, got, test.want)
				}
				if failed == "" && got != "" {
					checkVariant(t, c, i, name, source, edited, test)
				}
			}
		})
	}
}

// checkVariant has the same edit made of the same source, written in another way.
func checkVariant(t *testing.T, c *call, i int, name, source, want string, test editCase) {
	t.Helper()
	values := maps.Clone(test.values)
	content := values["content"]
	hasStrings := strings.ContainsAny(content, "`") || strings.Contains(content, `"""`)
	variant := ""
	switch i % 4 {
	case 0:
		variant = "CR LF"
		source, want = strings.ReplaceAll(source, "\n", "\r\n"), strings.ReplaceAll(want, "\n", "\r\n")
	case 1:
		variant = "no newline at the end"
		source, want = strings.TrimSuffix(source, "\n"), strings.TrimSuffix(want, "\n")
	case 2:
		variant = "a byte order mark, and a content with CR LF"
		source, want, values["content"] = "\uFEFF"+source, "\uFEFF"+want, strings.ReplaceAll(content, "\n", "\r\n")+"\r\n\r\n"
	case 3:
		if hasStrings || name == "a.go" {
			return
		}
		variant = "tabs"
		source, want, values["content"] = withTabs(source), withTabs(want), withTabs(content)
	}
	if content == "" {
		delete(values, "content")
	}
	if got, failed := edit(t, c, name, source, values); got != want {
		t.Errorf("%s, with %s: %s\n%s", test.title, variant, failed, confine.Diff(want, got))
	}
}

// withTabs writes an indentation of four spaces as a tab.
func withTabs(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		for strings.HasPrefix(line, "    ") {
			b.WriteByte('\t')
			line = line[4:]
		}
		b.WriteString(line)
	}
	return b.String()
}

// What an operation does not mean to change stays, whichever definition of a file it
// is told.
func TestEditLosesNothing(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/corpus/*")
	if err != nil || len(paths) < 8 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			c, text, edits := editCall(t), servertest.Get(t, path), 0
			f := newSourceFile(strings.TrimSuffix(filepath.Base(path), ".txt"), []byte(text))
			f.lay()
			if err := c.ctags.outline(f); err != nil {
				t.Fatal(err)
			}
			for i := range f.defs {
				d := &f.defs[i]
				for _, values := range []map[string]string{
					{"operation": "remove"}, {"operation": "insert_before", "content": "zzz"}, {"operation": "insert_after", "content": "zzz"}, {"operation": "wrap_region", "content": "zzz\n  {definition}\nzzz"},
					{"operation": "replace", "content": "zzz"}, {"operation": "move", "to": "before " + f.defs[len(f.defs)/2].fullName()}, {"operation": "move", "to": "after " + f.defs[0].fullName()},
				} {
					args := editArguments(t, values)
					if err := checkEdit(args); err != nil {
						t.Fatal(err)
					}
					if f.certain(d) != nil {
						continue
					}
					e := f.editor(d, args)
					edited, _, err := editOperations()[values["operation"]](e)
					if err != nil {
						continue
					}
					edits++
					want := wordsOf(e.doc.lines)
					switch values["operation"] {
					case "remove", "replace":
						want = wordsOf(slices.Concat(e.doc.lines[:d.Start-1], e.doc.lines[d.End:]))
					}
					got := slices.DeleteFunc(wordsOf(strings.Split(string(edited), "\n")), func(word string) bool { return word == "zzz" })
					if values["operation"] == "move" {
						slices.Sort(got)
						slices.Sort(want)
					}
					if !slices.Equal(got, want) {
						t.Errorf("%s %v:\n%s", d.fullName(), values, confine.Diff(text, string(edited)))
					}
				}
			}
			if edits < len(f.defs) && filepath.Base(path) != "broken.py" {
				t.Errorf("%d edits of %d definitions", edits, len(f.defs))
			}
		})
	}
}

// layouts are sources in the styles of GNU, BSD and Vim, and a class with lines in column 0.
func layouts() map[string]string {
	return map[string]string{
		"gnu.c": "static int\nsum (int *a, size_t n)\n{\n  int s = 0;\n\n  for (size_t i = 0; i < n; i++)\n    {\n      if (a[i] < 0)\n\tgoto out;\n#ifdef DEBUG\n      printf (\"%d\",\n\t      a[i]);\n#endif\n      s += a[i];  \n    }\n\nout:\n  return s;\n}\n",
		"knf.c": "int\nsum(int *a, size_t n)\n{\n\tint s = 0;\n\n\tif (a == NULL ||\n\t    n == 0)\n\t\treturn (0);\n    /* odd */\n// odd, too\n\ts = call(a,\n\t    n);\nout:\n\treturn (s);\n}\n",
		"vim.c": "    static int\nsum(\n    int\t*a,\t    // first\n    size_t\tn)\n{\n    int\t    s = 0;\n\n    if (n > 0)\n    {\n\tif (a != NULL)\n\t    s = 1;\n# ifdef X\n\ts = 2;\n# endif\n    }\n    return s;\n}\n",
		"a.cc":  "class A\n{\n#if X\n  [[nodiscard]]\n#endif\n  int\n  m (int a)\n  {\n    if (a)\n      goto out;\n#define ONE \\\n    1\n/* In\n   column 0. */\n    a = ONE;\nout:\n    return a;\n  }\n};\n",
	}
}

// Content that is copied out of a file changes its changed line alone.
func TestCopiedContent(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/corpus/*")
	if err != nil || len(paths) < 8 {
		t.Fatal(paths, err)
	}
	c, files, replaced := editCall(t), layouts(), 0
	for _, path := range paths {
		files[strings.TrimSuffix(filepath.Base(path), ".txt")] = strings.ReplaceAll(servertest.Get(t, path), "\r\n", "\n")
	}
	for name, text := range files {
		f := newSourceFile(name, []byte(text))
		f.lay()
		if err := c.ctags.outline(f); err != nil {
			t.Fatal(err)
		}
		for i := range f.defs {
			d := &f.defs[i]
			if f.certain(d) != nil {
				continue
			}
			for n := d.Start; n <= d.End; n++ {
				lines := slices.Collect(strings.Lines(text))
				lines[n-1] = strings.TrimSuffix(lines[n-1], "\n") + "z\n"
				edited, _, err := f.editor(d, editArguments(t, map[string]string{"operation": "replace", "content": strings.Join(lines[d.Start-1:d.End], "")})).replace()
				if want := strings.Join(lines, ""); err == nil && strings.TrimSuffix(string(edited), "\n") != strings.TrimSuffix(want, "\n") {
					t.Errorf("%s: %s:\n%s", name, d.fullName(), confine.Diff(want, string(edited)))
				}
				if err == nil {
					replaced++
				}
			}
		}
	}
	if replaced < 1000 {
		t.Errorf("%d lines were replaced", replaced)
	}
}

// Content is written as it is: only its first line may begin after the indentation of the
// definition. In Python, content that would belong to another block is refused.
func TestContentIsVerbatim(t *testing.T) {
	t.Parallel()
	c := editCall(t)
	const js, py = "class A {\n    f() {\n        g()\n    }\n}\n", "class A:\n    def f(self):\n        pass\n\n    x = 1\n"
	for _, test := range []struct{ file, text, name, operation, content, want, word string }{
		{"a.js", js, "f", "replace", "    f() {\n  `\n b`\n}", "class A {\n    f() {\n  `\n b`\n}\n}\n", ""},
		{"a.js", js, "f", "replace", "f() {\n        h()\n    }", strings.Replace(js, "g()", "h()", 1), ""},
		{"a.js", js, "f", "replace", "\tf() {\n\t}\n", "class A {\n\tf() {\n\t}\n}\n", ""},
		{"a.js", js, "f", "signature", "f(a)", strings.Replace(js, "f()", "f(a)", 1), ""},
		{"a.js", js, "f", "signature", "  f(a)", strings.Replace(js, "    f()", "  f(a)", 1), ""},
		{"a.js", js, "f", "insert_before", "x = 1\n", "class A {\nx = 1\n\n    f() {\n        g()\n    }\n}\n", ""},
		{"a.js", js, "f", "wrap_region", "// a\n{definition}\n  // b", "class A {\n// a\n    f() {\n        g()\n    }\n  // b\n}\n", ""},
		{"a.py", py, "f", "replace", "def f(self):\n        return 1", strings.Replace(py, "pass", "return 1", 1), ""},
		{"a.py", py, "f", "replace", "# f\n    def f(self):\n        return 1", strings.Replace(py, "def f(self):\n        pass", "# f\n    def f(self):\n        return 1", 1), ""},
		{"a.py", py, "f", "replace", "    def f(self, a=[\n1,\n]):\n        return \"\"\"\nx\"\"\"", strings.Replace(py, "def f(self):\n        pass", "def f(self, a=[\n1,\n]):\n        return \"\"\"\nx\"\"\"", 1), ""},
		{"a.py", py, "f", "replace", "def f(self):\n    return 1\ndef g(): pass", "", "line 3 of content is indented by 0 columns, and A.f by 4"},
		{"a.py", py, "x", "replace", "        x = 2", "", "line 1 of content is indented by 8 columns, and A.x by 4"},
		{"a.py", py, "x", "insert_after", "y = 2", "", "line 1 of content is indented by 0 columns, and A.x by 4"},
		{"a.py", py, "A", "insert_after", "y = 2", py + "\n\ny = 2\n", ""},
	} {
		got, failed := edit(t, c, test.file, test.text, map[string]string{"name": test.name, "operation": test.operation, "content": test.content})
		if got != test.want || !strings.Contains(failed, test.word) || (test.word == "") != (failed == "") {
			t.Errorf("%s %s %q: %s\n%s", test.operation, test.name, test.content, failed, confine.Diff(test.want, got))
		}
	}
}

// A signature that is shown whole changes nothing when it is written back, and one that is
// cut is not taken.
func TestSignatureGoesBack(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/corpus/*")
	if err != nil || len(paths) < 8 {
		t.Fatal(paths, err)
	}
	c, written := editCall(t), 0
	check := func(name, text string) {
		f := newSourceFile(name, []byte(text))
		f.lay()
		if err := c.ctags.outline(f); err != nil {
			t.Fatal(err)
		}
		for i := range f.defs {
			d := &f.defs[i]
			if f.certain(d) != nil {
				continue
			}
			o := outlineText{sourceFile: f}
			o.signatureLines(d)
			edited, _, err := f.editor(d, editArguments(t, map[string]string{"operation": "signature", "content": string(o.b)})).signature()
			if isCut := strings.HasSuffix(string(o.b), " ...\n"); isCut && err == nil || err == nil && string(edited) != text {
				t.Errorf("%s: %s:\n%s%s", name, d.fullName(), o.b, confine.Diff(text, string(edited)))
			}
			if err == nil {
				written++
			}
		}
	}
	for _, path := range paths {
		check(strings.TrimSuffix(filepath.Base(path), ".txt"), servertest.Get(t, path))
	}
	if written < 100 {
		t.Errorf("%d signatures were written back", written)
	}
}

// wordsOf are the words of lines.
func wordsOf(lines []string) []string { return strings.Fields(strings.Join(lines, "\n")) }

// A definition of which ctags gives no end goes on behind a comma between < and >, and
// behind a bracket } that does not close its body.
func TestEditWholeDefinition(t *testing.T) {
	t.Parallel()
	c := editCall(t)
	for _, test := range []struct{ file, name, before, definition, after string }{
		{"a.rs", "f", "struct S {\n", "    f: Foo<u8,\n        u16>,\n", "    h: u8,\n}\n"},
		{"a.rs", "f", "struct S {\n", "    f: Foo<fn() -> u8,\n        u16>,\n", "    h: u8,\n}\n"},
		{"a.rs", "f", "struct S {\n", "    f: Foo<u8>,\n", "    h: u8,\n}\n"},
		{"a.ts", "m", "class A {\n", "  m: Map<string,\n    number>;\n", "  n = 1;\n}\n"},
		{"a.ts", "f", "", "function f(x): x is { a: number } {\n  return true\n}\n", "let b = 1\n"},
		{"a.ts", "f", "", "function f(x): asserts x is { a: number }[] {\n  return true\n}\n", "let b = 1\n"},
		{"a.js", "f", "var a = {\n", "  f: function() {\n    return 1;\n  }.bind(this),\n", "  g: 2,\n};\n"},
		{"a.js", "f", "var a = {\n", "  f: function() { return 1 }.bind(\n    this),\n", "  g: 2,\n};\n"},
	} {
		edited, failed := edit(t, c, test.file, test.before+test.definition+test.after, map[string]string{"name": test.name, "operation": "remove"})
		if edited != test.before+test.after {
			t.Errorf("%s, %q: %s\n%s", test.file, test.definition, failed, edited)
		}
	}
}
