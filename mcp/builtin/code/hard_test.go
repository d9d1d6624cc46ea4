package code

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/builtin/code/parsers"
	"toolpipe/testdata/servertest"
)

// pythonJudge and nodeJudge read a list of texts and write the errors of each, of which
// an empty one is none. They run nothing of a text.
const (
	pythonJudge = `import ast, json, sys
def judge(text):
    try:
        ast.parse(text)
        return ""
    except SyntaxError as e:
        return "%s, line %s" % (e.msg, e.lineno)
json.dump([judge(t) for t in json.load(sys.stdin)], sys.stdout)`
	nodeJudge = `const vm = require("vm");
const judge = (text) => { try { new vm.Script(text); return ""; } catch (e) { return String(e.stack).slice(0, 200); } };
process.stdout.write(JSON.stringify(JSON.parse(require("fs").readFileSync(0, "utf8")).map(judge)));`
)

// judge gives the syntax errors of texts by a parser that is not the editor's own. It
// skips the test where the parser is not installed.
func judge(t *testing.T, file string, texts []string) (errors []string) {
	t.Helper()
	var cmd *exec.Cmd
	switch filepath.Ext(file) {
	case ".go":
		for _, text := range texts {
			problems, err := new(parsers.Parsers).Check(t.Context(), file, lexis.Of(file, nil), []byte(text))
			if err != nil {
				t.Fatal(err)
			}
			errors = append(errors, parsers.Lines(problems))
		}
		return errors
	case ".py":
		servertest.Needs(t, "python3")
		cmd = exec.Command("python3", "-I", "-S", "-c", pythonJudge)
	case ".js":
		servertest.Needs(t, "node")
		cmd = exec.Command("node", "-e", nodeJudge)
	default:
		return make([]string, len(texts)) // the guard alone judges
	}
	input, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = bytes.NewReader(input)
	output, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(output, &errors)
	}
	if err != nil || len(errors) != len(texts) {
		t.Fatalf("%v: %d answers for %d texts, %v", cmd.Args[0], len(errors), len(texts), err)
	}
	return errors
}

// Each definition of files that are hard to read is removed, and replaced by itself with
// another name, without a look at the syntax. What is not refused parses as before.
func TestEditHardFiles(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/corpus/[hH]ard.*")
	if err != nil || len(paths) < 11 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			c, text := editCall(t), servertest.Get(t, path)
			f := newSourceFile(strings.TrimSuffix(filepath.Base(path), ".txt"), []byte(text))
			f.lay()
			if err := c.ctags.outline(f); err != nil {
				t.Fatal(err)
			}
			var names, texts []string
			refused := 0
			for i := range f.defs {
				d := &f.defs[i]
				if f.certain(d) != nil {
					refused++
					continue
				}
				at, other := f.nameEnd(d), "2"
				if at == f.firstByte(d.Line) { // the name is in quotes
					other = ""
				}
				renamed := string(f.text[f.starts[d.Start-1]:at]) + other + string(f.text[at:f.starts[d.End]])
				for _, values := range []map[string]string{{"operation": "remove"}, {"operation": "replace", "content": renamed}} {
					edited, _, err := editOperations()[values["operation"]](f.editor(d, editArguments(t, values)))
					if err != nil {
						t.Errorf("%s %s: %v", values["operation"], d.fullName(), err)
						continue
					}
					names, texts = append(names, values["operation"]+" "+d.fullName()), append(texts, string(edited))
				}
			}
			if refused*2 > len(f.defs) {
				t.Errorf("%d of %d definitions are refused", refused, len(f.defs))
			}
			for i, e := range judge(t, f.path, append(texts, text)) {
				emptied := strings.HasPrefix(e, "expected an indented block") && strings.HasPrefix(names[min(i, len(names)-1)], "remove ")
				if e != "" && !emptied {
					t.Errorf("%s: %s", append(names, "the file")[i], e)
				}
			}
		})
	}
}

// A guard refuses each line that may not stand in a content, and each cut in a text, that
// changes what other lines are. No flag lifts it.
func TestGuard(t *testing.T) {
	for _, c := range []struct{ file, before, after, want string }{
		{"a.c", "int a;\n/* b\n c */\nint d;\n", "/* b\n c */\nint d;\n", ""},
		{"a.c", "int a;\n/* b\n c */\nint d;\n", "int x; /*\n/* b\n c */\nint d;\n", "line 2 would no longer begin in the same"},
		{"a.c", "int a;\n/* b */ int d;\n", "int x; /*\n/* b */ int d;\n", "line 2 would no longer begin in the same"},
		{"a.py", "a = 1\nb = '''\nc\n'''\n", "a = '''\nb = '''\nc\n'''\n", "line 2 would no longer begin in the same"},
		{"a.py", "a = 1\nb = 2\n", "a = '\nb = 2\n", "a string would not be closed in its line"},
		{"a.js", "a\nb = `\n`\n", "`\nb = `\n`\n", "line 2 would no longer begin in the same"},
		{"a.tsx", "a\nb\n", "<p>don't</p>\nb\n", ""},
		{"a.go", "a\n{\n}\n", "{\n{\n}\n", "{ in line 1 would have no partner"},
		{"a.go", "a\n{\n}\n", "}\n{\n}\n", "} in line 1 would have no partner"},
		{"a.go", "a\n)\n", "(\n)\n", ") in line 2 would have another partner"},
		{"a.c", "a\n{\n}\n", "#if X\nif (a) {\n#else\nif (b) {\n#endif\n}\n{\n}\n", ""},
		{"a.sh", "a\nb\n", "cat <<X\nb\n", ""}, // its end is missing: it is none
		{"a.sh", "a\nb\nX\n", "cat <<X\nb\nX\n", "line 2 would no longer begin in the same"},
		{"a.rb", "a\nb\n", "=begin\nb\n", "line 2 would no longer begin in the same"},
		{"a.unheard", "a\nb\n", "{\nb\n", ""},
	} {
		f := newSourceFile(c.file, []byte(c.before))
		f.lay()
		_, err := f.guarded([]byte(c.after), 0, 1)
		if got := errorText(err); (c.want == "") != (got == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s, %q to %q: %q", c.file, c.before, c.after, got)
		}
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Where lines begin is known in a text of any size, in a time that grows with it.
func TestLongHeads(t *testing.T) {
	t.Parallel()
	c := editCall(t)
	for file, texts := range map[string][3]string{
		"a.c":    {"int before(void) { return 1; }\n", "/*\n" + strings.Repeat(" * it's {\n\n", 500) + " */\nint victim(void)\n{\n}\n", "/* next */ int next(void) { return 2; }\n"},
		"a.rs":   {"fn before() {}\n", strings.Repeat("/// it's {\n", 500) + strings.Repeat("#[a(\n    // ]\n    b = \"]\",\n)]\n", 100) + "fn victim() {\n}\n", "/* next */ fn next() {}\n"},
		"a.java": {"class A {\n  void before() { }\n", "  /**\n" + strings.Repeat("   * it's {\n", 500) + "   */\n  @B(\n      // )\n      \"x\"\n  )\n  void victim() {\n  }\n", "  /* next */ void next() { }\n}\n"},
		"a.py":   {"def before(): pass\n", strings.Repeat("@a(\n    # )\n    [1,\n\n    ],\n)\n", 300) + "def victim(x):\n    pass\n", "def next(): pass\n"},
		"a.ts":   {"class Before {}\n", strings.Repeat("@a({\n  // )\n  b: `}\n`,\n})\n", 200) + "class victim<T> extends Base<\n  T,\n  { a: 1 }\n> {\n  a = 1\n}\n", "/* next */ class Next {}\n"},
	} {
		text := strings.Join(texts[:], "")
		edited, failed := edit(t, c, file, text, map[string]string{"name": "victim", "operation": "remove"})
		if want := texts[0] + texts[2]; failed != "" || edited != want {
			t.Errorf("%s: %s\n%.500s", file, failed, edited)
		}
		edited, failed = edit(t, c, file, text, map[string]string{"name": "victim", "operation": "insert_before", "content": "zzz"})
		if at := strings.Index(edited, "zzz\n"); failed != "" || at < 0 || strings.TrimSpace(edited[:at]) != strings.TrimSpace(texts[0]) {
			t.Errorf("%s: %s, at %d", file, failed, at)
		}
	}
}

// Lines that are not proven are marked, and no operation edits them.
func TestUnprovenLines(t *testing.T) {
	t.Parallel()
	c := editCall(t)
	for _, test := range []struct{ file, text, name string }{
		{"a.ts", "export default\nclass A {\n}\n", "A"},
		{"a.ts", "const a =\n  class B {\n  }\n", "B"},
		{"a.ts", "foo(function f() {\n}, 1)\n", "f"},
		{"a.c", "#ifdef X\nint g(int a) {\n#else\nint g(long a) {\n#endif\n}\n", "g:2"},
		{"a.c", "#define A {\nint f(void)\nA\n}\n", "f"},
		{"a.c", "static const int a = 1,\n    b = 2;\n", "b"},
		{"a.java", "enum E {\n  A,\n  B;\n  int x;\n}\n", "B"},
		{"a.java", "enum E {\n  A;\n  int x;\n}\n", "A"},
		{"a.java", "class A {\n  public static\n      void f() {\n  }\n}\n", "f"},
		{"a.py", "a = 1; b = 2\n", "a"},
		{"a.unheard", "x\n", "x"},
	} {
		f := newSourceFile(test.file, []byte(test.text))
		f.lay()
		if err := c.ctags.outline(f); err != nil {
			t.Fatal(err)
		}
		found := f.named(test.name)
		if i := slices.IndexFunc(found, func(d *definition) bool { return f.certain(d) == nil }); i >= 0 {
			t.Errorf("%s %q: %s is certain, lines %d-%d", test.file, test.text, test.name, found[i].Start, found[i].End)
		}
	}
}
