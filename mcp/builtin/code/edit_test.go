package code

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/testdata/load"
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
	switch i % 5 {
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
		if hasStrings {
			return
		}
		variant = "a content that is indented"
		values["content"] = "\n" + strings.ReplaceAll("      "+content, "\n", "\n      ")
	case 4:
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

// Of content with another indentation, the one that its lines have in common is exchanged.
func TestIndentedContent(t *testing.T) {
	t.Parallel()
	c, text := editCall(t), layouts()["a.cc"]
	head, body, _ := strings.Cut(text, "#if X")
	body = "#if X" + strings.TrimSuffix(body, "};\n")
	for name, step := range map[string][2]string{"deeper": {"  ", "      "}, "tabs": {"  ", "\t"}, "none": {"  ", ""}} {
		var content strings.Builder
		for line := range strings.Lines(body) {
			if rest, found := strings.CutPrefix(line, step[0]); found && !strings.HasPrefix(line, "    1") && !strings.HasPrefix(line, "   column") {
				line = step[1] + rest
			}
			content.WriteString(line)
		}
		edited, refused := edit(t, c, "a.cc", text, map[string]string{"name": "A.m", "operation": "replace", "content": strings.Replace(content.String(), "a = ONE", "b = ONE", 1)})
		if want := head + strings.Replace(body, "a = ONE", "b = ONE", 1) + "};\n"; edited != want {
			t.Errorf("%s: %s\n%s", name, refused, confine.Diff(want, edited))
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

// The longest contents of the kinds that something may be made larger of.
func TestEditHugeContent(t *testing.T) {
	t.Parallel()
	d := newDocument(lexis.Of("a.py", nil), []byte("def f():\n\tpass\n"))
	size := load.Of(t, maxContent, maxContent/8)
	half := strings.Repeat(" ", size/4)
	for _, content := range []string{
		half + half + "a\n" + half + "b\n" + half + " c", strings.Repeat("a\n", size/2), strings.Repeat(" a\n", size/4), "x = \"\"\"\n\"\"\"\n" + strings.Repeat("a", size/2) + strings.Repeat("\n", size/2),
		strings.Repeat("\n", size), strings.Repeat("\"\"\"\n", size/4), strings.Repeat("(", size), strings.Repeat("'", size),
	} {
		began := time.Now()
		d.fit("a"+content, "\t")
		d.fit(content, "\t")
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%.20q took %v", content, took)
		}
	}
}
