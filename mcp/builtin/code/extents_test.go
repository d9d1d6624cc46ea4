package code

import (
	"strings"
	"testing"

	"toolpipe/testdata/servertest"
)

// TestExtents holds names and lines of definitions that ctags 5.9 does not give, or gives
// otherwise: those that readers and the parsers of the languages see.
func TestExtents(t *testing.T) {
	t.Parallel()
	needsCtags59(t)
	for _, c := range []struct{ name, file, text, want string }{
		{"literals and blocks", "a.rb", `module M
  PATTERN = %r{a(/b)?"}
  WORDS = %i[class def
             end]
  X = /
    "quoted" # a comment
  /x.freeze
  class A::B < Base
    attr_accessor :size, :name?
    private attr_reader :hidden
    def read
      x = if a then b else c end
      return 1 unless ?" == '"'
      while x do y end
      list.each do |i| puts i if i end
    rescue Error => e
      begin; retry; end
    ensure
      close
    end
    def one() = read.first
    def ==(other) other.size == size end
    alias_method :[], :read
    private def size=(value)
      @size = value
    end
    class << self
      def make; new end
    end
    def @x.on(*) end
  end
  Point = Struct.new(:x) do
    def sum = x
    # A comment.
    def twice
      x * 2
    end
  end
end
# __END__ follows
__END__
def none
end
`, `module M  1-39
  constant PATTERN  2
  constant WORDS  3-4
  constant X  5-7
  class M.A.B < Base  8-31
    accessor size  9
    accessor size=  9
    accessor name?  9
    accessor name?=  9
    method read  11-20
    method one()  21
    method ==(other)  22
    alias []  23
    method size=(value)  24-26
    singletonMethod make  28
    singletonMethod on(*)  30
  constant Point  32-38
    method sum = x  33
    method twice  34-37
`},
		{"a block that stays open", "open.rb", "class A\n  def a\n    if x\n  end\n  def b\n  end\nend\n", "class A  1-7~\n  method a  2-7~\n    method A.b  5-6\n"},
		{"classes without a name, records", "A.java", `class A {
  @Deprecated
  static final Runnable R = new Runnable() {
    @Override
    public void run() {
      if (x) { return; }
      go(new Y<Z>(1) {
        protected Map<String, List<Z>> get(int[] a) throws E {
          return find(a);
        }
      });
    }
  };

  record P<T>(T x, int y) implements Q {
    static int count = 0;

    P {
      check(x);
    }

    P(T x) {
      this(x, 1);
    }

    int sum() { return y; }
  }

  void local() {
    boolean no = false;
    class Inner
        implements Q {
      private int field = 2, other;
      Inner(int a) { super(a); }
      void f() {}
    }
    synchronized (this) { }
    for (int i : list()) { }
  }
}
`, `class A  1-40
  field R  2-13
    method run()  4-12
      method get(int[] a) throws E  8-10
  record P<T>(T x, int y) implements Q  15-27
    field count  16
    method P  18-20
    method P(T x)  22-24
    method sum()  26
  method local()  29-39
    class Inner implements Q  31-36
      field field  33
      method Inner(int a)  34
      method f()  35
`},
		{"functions in objects", "a.ts", `import { type A, b } from './b';
const { c, d: e } = make(
  1,
);
export const api = {
  list: async (q: string) => {
    return q;
  },
  one: () => 1,
  two: function () {},
  three() {
    if (a) {
      call(b);
    }
  },
  get four(): number {
    return 4;
  },
  nested: { deep: (x) => x, five: 5 },
  six: { seven() {} },
};
app.routes.index = async function (r) {
  const local = 1;
  const handle = (e: Event): void => {
    stop(e);
  };
};
for (const i of list) use(i);
class C {
  "quoted"(): string { return ''; }
  $get = <T>(x: T) => x;
  catch(e) {}
  get$(): void {}
}
enum E { X }
namespace N {
  enum Inner {
    A = 1,
    B,
  }
}
`, `constant c  2-4
constant e  2-4
constant api  5-21
  method list(q: string)  6-8
  method one()  9
  method two()  10
  method three()  11-15
  method four(): number  16-18
function index(r)  22-27
  constant handle  24-26
class C  29-34
  method quoted  30
  field $get  31
  method catch(e)  32
  method get$(): void  33
enum E  35
  enumerator X  35
namespace N  36-41
  enum Inner  37-40
    enumerator A  38
    enumerator B  39
`},
		{"objects of JavaScript", "a.js", "var a = require('a')\n  , b = { c: function () {} };\nFoo.prototype.bar = function () {\n};\nit('names', function () {\n  go();\n});\nvar table = {'\\xe9': 'e'};\n",
			"variable a  1\nvariable b  2\n  method c()  2\nmethod Foo.bar()  3-4\nvariable table  8\n"},
		{"names with types, chains", "a.py", "X: int = 1\nclass A:\n    size: 'int'\n    get = put = None\n    def f(self):\n        local: int = 2\nkey = lambda a: a\nwith open(x) as f:\n    pass\nif x: y: int = 1\nelse: pass\n",
			"variable X: int  1\nclass A  2-6\n  variable size  3\n  variable get  4\n  variable put  4\n  method f(self)  5-6\nvariable key  7\n"},
		{"macros, constants", "a.rs", "#[macro_export]\nmacro_rules! make {\n    ($name:ident) => { fn $name() {} };\n}\npub(crate) const A: &'static str = \"a\";\npub static mut B: u8 = 1;\n",
			"macro make  1-4\nconstant A  5\nvariable B  6\n"},
		{"types in functions", "a.go", "package a\n\nfunc F() {\n\ttype local struct{ a int }\n\tfunc() {\n\t\ttype inner = int\n\t}()\n\tvar no int\n}\n",
			"function F()  3-9\n  struct local  4\n    field a  4\n  type inner  6\n"},
		{"texts above a definition", "a.c", "#ifdef A\n#define M(x) \\\n  x\n#else\n# define M(x)\n#endif\n\n/* A comment. */\nATTRIBUTE(\"bounds\")\nstatic int\nf(void)\n{\n}\n\nenum e {\n  ONE = 1 << 0,\n  TWO = 1 << 1,\n};\n",
			"macro M(x)  2-3\nmacro M(x)  5\nfunction f(void) -> ATTRIBUTE (\"bounds\")int  8-13\nenum e  15-18\n  enumerator ONE  16\n  enumerator TWO  17\n"},
		{"declarators after a body", "a.c", "struct k {\n  int a;\n}\nconst ks[] = { { 1 } };\n\ntypedef enum { X }\n  e;\nstruct r { int a; }\nf(void) {\n}\nstruct s {\n  struct t { int b; } in;\n}\n;\nint z;\n",
			"struct k  1-3~\n  member a: int  2\nvariable ks  4-4~\nenum (anonymous)  6-6~\n  enumerator X  6\ntypedef e  7-7~\nstruct r  8-8~\n  member a: int  8\nfunction f(void)  9-10~\nstruct s  11-13~\n  struct t  12\n    member b: int  12\n  member in  12\nvariable z: int  15\n"},
		{"conditionals above a definition", "a.cc", `/* A comment. */
#if A
__attribute__((cold))
#elif B
/* Why. */
[[gnu::cold]]
#else
# if defined(C) && \
     defined(D)
__declspec(noinline)
# endif
#endif

int
attributes(void)
{
}
#ifdef A
static
#endif
int part(void) {
}
#ifdef A
int whole(void);
#define X 1
#endif
int after(void) {
}
static
#ifdef A
__attribute__((cold))
#endif
int half(void) {
}
#ifdef A
/* A comment alone. */
#endif
int comment(void) {
}
#ifdef A
/* A comment alone. */
#endif

int apart(void) {
}
enum e {
  ONE,
#ifdef A
  TWO,
#endif
  THREE
};
int *a,
#ifdef A
  *b,
#endif
  *c;
#ifdef __cplusplus
extern "C" {
#endif
int d(void);
#ifdef __cplusplus
}
#endif
class K {
  int x;
#if A
#if B
  template <class T>
#endif
  [[nodiscard]]
#endif
  int m(T a) { return 1; }
#if A
  EXPORT
#endif
  int n(int a) { return 1; }
};
`, `function attributes(void) -> int  1-17
function part(void) -> int  21-22~
prototype whole(void) -> int  24
macro X  25
function after(void) -> int  27-28
function half(void) -> int  30-34~
function comment(void) -> int  35-39
function apart(void) -> int  44-45
enum e  46-52
  enumerator ONE  47
  enumerator TWO  49
  enumerator THREE  51
variable a: int *  53
variable b: int *  55
variable c: int *  57-57~
prototype d(void) -> int  61
class K  65-78
  member x: int  66
  function m(T a) -> int  67-73
  function n(int a) -> EXPORT int  77-77~
`},
		{"decorators that begin as words do", "a.py", "import interface\n\n@interface.implementer(int)\nclass A:\n    @interface\n    def f(self): pass\n\nclass B:\n    pass\ndefault = lambda: 1\n",
			"class A  3-6\n  method f(self)  5-6\nclass B  8-9\nvariable default  10\n"},
		{"decorators that begin as words do", "a.ts", "@interfaceOf(1)\nclass A {\n  @interface() m() {}\n}\nclass B {}\n", "class A  1-4\n  method m()  3\nclass B  5\n"},
		{"annotations and their types", "A.java", "class A {\n  @interface_(1)\n  int f() { return 1; }\n}\n@ interface B { }\n", "class A  1-4\n  method f()  2-3\nannotation B  5\n"},
	} {
		_, s := newServer(t, map[string]string{c.file: c.text})
		got := servertest.Works(t, s, "outline", "path", c.file)
		_, got, _ = strings.Cut(got, "\n")
		got, _, _ = strings.Cut(got, "[toolpipe]")
		if got != c.want {
			t.Errorf("%s: got\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
}

// TestNameOfTypedef holds that a struct and the type of the same name are one definition,
// and that the advice for other names that are there twice can be followed.
func TestNameOfTypedef(t *testing.T) {
	t.Parallel()
	needsCtags59(t)
	_, s := newServer(t, map[string]string{"a.c": "typedef struct X {\n  int a;\n} X;\n\ntypedef struct {\n  int b;\n} Y;\n#ifdef Z\n#define V 1\n#else\n#define V 2\n#endif\n"})
	for name, want := range map[string]string{"X": "1-3", "X:1": "1-3", "X:3": "1-3", "Y": "5-7", "V:9": "9", "V:11": "11"} {
		if got := servertest.Works(t, s, "definition", "path", "a.c", "name", name); !strings.HasPrefix(got, "a.c:"+want+" ") {
			t.Errorf("%s: %s", name, got)
		}
	}
	servertest.Fails(t, s, "V:9 ", "definition", "path", "a.c", "name", "V")
}

func TestDollarIsLetter(t *testing.T) {
	t.Parallel()
	_, s := newServer(t, map[string]string{"a.js": "const $ = load;\nconst a$ = 1, $a = 2;\nuse(a$, $a, a);\n$(a);\n", "a.php": "<?php\nfunction a() { return $a; }\n"})
	for name, want := range map[string]string{"a": "3: use(a$, $a, a);\n    4: $(a);", "a$": "2: const a$", "$a": "2: const a$", "$": "4: $(a);"} {
		if got := servertest.Works(t, s, "usages", "path", "a.js", "name", name); !strings.Contains(got, want) || name == "a" && strings.Contains(got, "2: ") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestOperators holds that operators of C++ have the names that people type, with and
// without a space.
func TestOperators(t *testing.T) {
	t.Parallel()
	_, s := newServer(t, map[string]string{"a.cc": "struct V {\n  bool operator<(const V &o) const { return true; }\n  V operator << (int i) { return *this; }\n  operator bool() const { return true; }\n};\nbool operator== (V a, V b) { return a.operator<(b); }\nbool operator/(V a, V b) { return true; }\n"})
	for name, want := range map[string]string{"operator<": "2 ", "V::operator<<": "3 ", "operator <<": "3 ", "V.operator bool": "4 ", "operator==": "6 ", "operator ==": "6 ", "operator/": "7 "} {
		if got := servertest.Works(t, s, "definition", "path", "a.cc", "name", name); !strings.HasPrefix(got, "a.cc:"+want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	for name, want := range map[string]string{"operator<": "2 6", "operator<<": "3", "operator bool": "4", "V::operator ==": "6", "operator/": "7"} {
		got := servertest.Works(t, s, "usages", "path", ".", "name", name)
		var lines []string
		for line := range strings.Lines(got) {
			if n, _, found := strings.Cut(strings.TrimSpace(line), ": "); found {
				lines = append(lines, n)
			}
		}
		if strings.Join(lines, " ") != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := servertest.Works(t, s, "call_path", "target", "operator=="); !strings.HasPrefix(got, "operator==  function a.cc:6\n") {
		t.Error(got)
	}
}
