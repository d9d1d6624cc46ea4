package code

import (
	"strings"
	"testing"
)

// hardFiles are sources whose definitions have a begin or an end that is hard to find.
// The definition victim goes; what stands around it, and the rest of the text, stays.
// Without want, the edit is refused.
var hardFiles = []struct{ file, text, want string }{
	{"comment.c", "int before(void) { return 1; }\n/*\n" + strings.Repeat(" * text\n", 120) + " */\nint victim(void) { return 2; }\n/* next */ int next(void) { return 3; }\n",
		"int before(void) { return 1; }\n/* next */ int next(void) { return 3; }\n"},
	{"comment.rs", "fn before() {}\n" + strings.Repeat("/// Text.\n", 130) + "#[cfg(\n    // all\n    unix,\n)]\nfn victim() {}\n/* next */ fn next() {}\n", "fn before() {}\n/* next */ fn next() {}\n"},
	{"A.java", "class A {\n  int before;\n  /**\n" + strings.Repeat("   * Text.\n", 130) + "   */\n  @Ann(\n    // why\n    value = \"(\"\n  )\n  void victim() {}\n\n  /** Next. */\n  void next() {}\n}\n",
		"class A {\n  int before;\n\n  /** Next. */\n  void next() {}\n}\n"},
	{"decorators.py", "import a\n\n\n" + strings.Repeat("@a.b\n", 130) + "def victim():\n    pass\n\n\ndef next():\n    pass\n", "import a\n\n\ndef next():\n    pass\n"},
	{"decorator.py", "import a\n\n\n@a.b(\"x\", [\n    1,\n    # c\n    2,\n\n],\n)\ndef victim(x):\n    pass\n\n\ndef next():\n    pass\n", "import a\n\n\ndef next():\n    pass\n"},
	{"apart.py", "import a\n\n\n# one\n@b\n# two\n@c(\n    1)\n\n# three\n\ndef victim():\n    pass\n\n\ndef next():\n    pass\n", "import a\n\n\ndef next():\n    pass\n"},
	{"Line.java", "class A {\n  @Override public String before() { return a; }\n  int victim() { return 1; }\n}\n", "class A {\n  @Override public String before() { return a; }\n}\n"},
	{"Field.java", "class A {\n  static final Long\n      victim =\n          new Long(1);\n\n  int next;\n}\n", ""}, // it begins in the line above
	{"Enum.java", "enum A {\n  BEFORE(1),\n  victim(2);\n\n  int next;\n}\n", ""},                                    // the semicolon ends all constants
	{"Decorator.ts", "class A {\n  before = 1;\n  @a(\n    // c\n    ')',\n  )\n  victim() {}\n\n  next() {}\n}\n", "class A {\n  before = 1;\n\n  next() {}\n}\n"},
	{"base.ts", "export class victim<T> extends Base<\n  T,\n  T\n> {\n  a = 1;\n}\n\nconst next = 1;\n", "const next = 1;\n"},
	{"extends.ts", "interface victim<A = string>\n  extends B {\n  a: A;\n}\n\nconst next = 1;\n", "const next = 1;\n"},
	{"implements.ts", "class victim\n  extends B\n  implements C, D\n{\n  a = 1;\n}\n\nconst next = 1;\n", "const next = 1;\n"},
	{"object.ts", "class victim extends B<{ a: number }> {\n  a = 1;\n}\nconst next = 1;\n", "const next = 1;\n"},
	{"generic.ts", "export function victim<\n  A,\n  B extends { a: A },\n>(\n  a: A,\n): Map<\n  A,\n  B\n> {\n  return f(a);\n}\n\nconst next = 1;\n", "const next = 1;\n"},
	{"alias.ts", "type victim<A> =\n  A extends string\n    ? Map<\n        A,\n        A\n      >\n    : never\ntype next = 1\n", "type next = 1\n"},
	{"operators.js", "const victim = 1\n  + 2\n  - 3\nconst next = 1\n", ""},  // an operator begins the line
	{"index.js", "const victim = a\n[1, 2].forEach(f)\nconst next = 1\n", ""}, // both lines are one statement
	{"less.js", "const victim = a < b\nconst next = c > d\n", "const next = c > d\n"},
	{"around.c", "int before; /* begins\n ends */\nint victim(void) { return 1; }\nint next;\n", "int before; /* begins\n ends */\nint next;\n"}, // the comment is of the line above
	{"inside.c", "int before; /* begins\n ends */ int victim(void) { return 1; }\nint next;\n", ""},                                              // it begins in the line of the comment
	{"behind.c", "int victim(void) { return 1; } /* begins\n ends */\nint next;\n", "int next;\n"},                                               // the comment behind it goes with it
	{"doc.rb", "=begin\nText.\n=end\ndef victim\n  1\nend\n\ndef next\nend\n", "def next\nend\n"},
	{"modifier.rb", "def victim\n  1\nend if a\n", ""},
	{"here.sh", "cat <<E\nf() {\nE\nvictim() {\n  :\n}\nnext() {\n  :\n}\n", "cat <<E\nf() {\nE\nnext() {\n  :\n}\n"},
	{"attribute.cs", "class A {\n  [Fact(\n    1)]\n  void victim()\n  {\n  }\n\n  void next() {}\n}\n", "class A {\n  void next() {}\n}\n"},
	{"old.c", "int before;\n\n/* Text. */\nint\nvictim (a, b)\n     int a;\n     char **b;\n{\n  return a;\n}\n\nint\nnext (void)\n{\n}\n", "int before;\n\nint\nnext (void)\n{\n}\n"},
	{"vim.c", "    static int\nbefore(void)\n{\n}\n\n/*\n * Text.\n */\n    static char_u *\nvictim(\n    int\ta,\t// first\n    int\tb)\n{\n}\n\n    int\nnext(void)\n{\n}\n",
		"    static int\nbefore(void)\n{\n}\n\n    int\nnext(void)\n{\n}\n"},
	{"overloads.ts", "const before = 1;\n\n/** One. */\nexport function victim(a: string): string;\n/** Two. */\nexport function victim(a: number): number;\nexport function victim(a: any): any {\n  return a;\n}\n\nconst next = 1;\n", "const before = 1;\n\nconst next = 1;\n"},
	{"template.cpp", "int before;\ntemplate <typename A,\n          typename B>\nvoid victim(A a)\n{\n}\nint next;\n", "int before;\nint next;\n"},
}

func TestHardFiles(t *testing.T) {
	t.Parallel()
	c := editCall(t)
	for _, f := range hardFiles {
		edited, refused := edit(t, c, f.file, f.text, map[string]string{"name": "victim", "operation": "remove"})
		if edited != f.want || (refused == "") != (f.want != "") {
			t.Errorf("%s: removed: %q, %s", f.file, edited, refused)
		}
		if f.want == "" {
			continue
		}
		replaced, refused := edit(t, c, f.file, f.text, map[string]string{"name": "victim", "operation": "replace", "content": "NEW"})
		if got := strings.Join(strings.Fields(strings.Replace(replaced, "NEW", "", 1)), " "); got != strings.Join(strings.Fields(f.want), " ") {
			t.Errorf("%s: replaced: %q, %s", f.file, replaced, refused)
		}
		before, refused := edit(t, c, f.file, f.text, map[string]string{"name": "victim", "operation": "insert_before", "content": "NEW"})
		if stays := strings.Join(strings.Fields(strings.Replace(before, "NEW", "", 1)), " "); stays != strings.Join(strings.Fields(f.text), " ") {
			t.Errorf("%s: inserted: %q, %s", f.file, before, refused)
		}
	}
}
