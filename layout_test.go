package main

import (
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// imports is the architecture: which packages of this module, and which other
// modules, a package may import beside the standard library. A change here is
// a change of design and belongs into the same commit.
var imports = map[string]string{
	".":              "mcp/process/cage run run/flags run/config run/face run/failure run/stdio stream/goroutine github.com/spf13/pflag github.com/mattn/go-isatty",
	"run":            "run/calls run/config run/event run/face run/failure run/input run/invocation run/modes run/report run/session run/stdio run/toolbox run/turn approve mcp/builtin/confine stream stream/goroutine stream/text/jsontext",
	"run/builtin":    "run/config run/event run/failure run/servers approve mcp/builtin/code mcp/builtin/confine mcp/builtin/fetch mcp/builtin/files mcp/builtin/gitdiff mcp/builtin/notes mcp/builtin/processes mcp/builtin/protected mcp/builtin/shell mcp/process mcp/process/cage stream/disk stream/goroutine",
	"run/calls":      "run/config run/event run/failure run/stage run/turn approve stream/goroutine stream/text/escape stream/text/jsontext",
	"run/config":     "run/document run/failure run/stdio approve mcp/local mcp/process stream stream/disk stream/goroutine stream/text/jsontext stream/text/readable",
	"run/document":   "run/failure stream/text/jsontext stream/text/readable",
	"run/endtoend":   "",
	"run/event":      "run/failure stream/text/escape stream/text/jsontext stream/text/secrets",
	"run/face":       "run/config run/event run/failure run/stdio stream/goroutine stream/text/escape stream/text/jsontext stream/text/readable stream/text/secrets",
	"run/failure":    "",
	"run/flags":      "run/config run/document run/failure run/invocation run/manual mcp/local",
	"run/input":      "run/config run/document run/failure approve stream stream/goroutine stream/text/jsontext stream/text/readable",
	"run/invocation": "run/config run/document run/event run/face run/failure run/schema run/servers run/stdio approve mcp/oauth mcp/process stream stream/disk stream/goroutine stream/netguard stream/text/escape stream/text/jsontext stream/text/secrets",
	"run/manual":     "mcp/builtin/protected",
	"run/modes":      "run/config run/event run/failure run/invocation run/servers run/session run/stage run/toolbox run/turn approve mcp mcp/builtin/code mcp/oauth mcp/process mcp/local mcp/toolserver mcp/wire stream stream/goroutine stream/text/jsontext",
	"run/report":     "run/config run/failure run/invocation run/report/history run/report/markdown run/report/page stream/goroutine",
	"run/schema":     "stream/text/jsontext stream/text/readable",
	"run/servers":    "run/config run/document run/failure run/stdio approve mcp mcp/local mcp/oauth mcp/toolserver stream/goroutine stream/text/secrets",
	"run/session":    "run/config run/document run/failure run/input run/stdio approve stream stream/disk stream/text/jsontext",
	"run/stage":      "run/config run/document run/failure run/stdio approve stream/disk stream/text/jsontext stream/text/readable",
	"run/stdio":      "mcp/process stream/goroutine",
	"run/toolbox":    "run/builtin run/config run/document run/event run/failure run/input run/invocation run/schema run/servers approve mcp mcp/builtin/confine mcp/oauth mcp/toolserver mcp/wire stream stream/goroutine stream/text/escape stream/text/jsontext stream/text/readable",
	"run/turn":       "run/config run/event run/failure run/invocation run/schema run/servers run/session run/stage run/toolbox approve mcp mcp/builtin/confine mcp/builtin/shell mcp/local mcp/toolserver mcp/wire stream stream/goroutine stream/text/jsontext stream/text/readable",

	"run/report/history":  "run/failure run/session stream/text/jsontext stream/text/readable",
	"run/report/markdown": "run/event run/report/history stream/text/escape",
	"run/report/page":     "run/report/history stream/text/escape stream/text/readable",

	"approve":     "approve/tty stream/text/escape stream/text/glob stream/text/jsontext stream/text/readable",
	"approve/tty": "",

	"mcp":                      "mcp/local mcp/htmltext mcp/oauth mcp/process mcp/task mcp/wire stream stream/goroutine stream/netguard stream/text/jsontext stream/text/readable stream/text/secrets",
	"mcp/builtin/code":         "mcp/builtin/code/lexis mcp/builtin/code/parsers mcp/builtin/confine mcp/process mcp/toolserver mcp/wire stream/goroutine stream/text/jsontext stream/text/readable go/ast go/parser",
	"mcp/builtin/code/lexis":   "",
	"mcp/builtin/code/parsers": "mcp/builtin/code/lexis mcp/builtin/confine mcp/process mcp/toolserver stream/text/jsontext stream/text/readable go/parser",
	"mcp/builtin/confine":      "mcp/builtin/protected mcp/process stream/disk stream/text/glob stream/text/readable",
	"mcp/builtin/fetch":        "mcp/htmltext mcp/toolserver mcp/wire stream/netguard stream/text/readable",
	"mcp/builtin/files":        "mcp/builtin/confine mcp/builtin/gitdiff mcp/process mcp/toolserver mcp/wire stream/goroutine stream/text/glob stream/text/readable",
	"mcp/builtin/gitdiff":      "mcp/builtin/confine mcp/process mcp/process/cage mcp/toolserver stream/text/readable",
	"mcp/builtin/notes":        "mcp/builtin/confine mcp/toolserver mcp/wire stream/disk stream/text/jsontext stream/text/readable",
	"mcp/builtin/processes":    "mcp/builtin/confine mcp/builtin/shell mcp/process mcp/toolserver mcp/wire stream/goroutine stream/text/jsontext stream/text/readable stream/text/screen",
	"mcp/builtin/protected":    "stream/text/glob stream/text/jsontext",
	"mcp/builtin/shell":        "mcp/builtin/confine mcp/process mcp/toolserver mcp/wire stream/text/jsontext stream/text/readable",
	"mcp/htmltext":             "",
	"mcp/oauth":                "mcp/htmltext mcp/process mcp/wire stream/disk stream/goroutine stream/netguard stream/text/jsontext",
	"mcp/process":              "stream/goroutine",
	"mcp/process/cage":         "stream/goroutine",
	"mcp/local":                "mcp/process mcp/wire stream/disk stream/goroutine",
	"mcp/task":                 "mcp/wire stream/goroutine stream/text/jsontext",
	"mcp/toolserver":           "mcp/wire stream/goroutine stream/text/jsontext stream/text/readable",
	"mcp/wire":                 "stream/goroutine stream/text/jsontext stream/text/readable",

	"stream":               "stream/disk stream/goroutine stream/netguard stream/text/jsontext stream/text/readable stream/text/secrets github.com/tidwall/gjson",
	"stream/goroutine":     "",
	"stream/netguard":      "stream/text/glob",
	"stream/disk":          "",
	"stream/text/escape":   "",
	"stream/text/glob":     "",
	"stream/text/jsontext": "",
	"stream/text/readable": "",
	"stream/text/screen":   "",
	"stream/text/secrets":  "stream/text/jsontext",
}

// sseOnly is all that mcp may use of stream: there is one SSE reader, and
// two copies would drift.
var sseOnly = []string{"Events", "Event", "Error", "TooLarge"}

// mainOnly may be mentioned in package main and in tests alone: everything else gets
// plain data and streams, so a run has no hidden inputs and no second exit.
var mainOnly = map[string][]string{
	"os":            {"Args", "Clearenv", "Environ", "Exit", "ExpandEnv", "Getenv", "LookupEnv", "Setenv", "Stderr", "Stdin", "Stdout", "Unsetenv"},
	"os/signal":     {"Ignore", "Ignored", "Notify", "NotifyContext", "Reset", "Stop"},
	"os/user":       {"Current"},
	"syscall":       {"Environ", "Exit", "Getenv"},
	"flag":          {"Args", "Parse"},
	"runtime/debug": {"SetGCPercent", "SetMemoryLimit", "SetTraceback"},
}

// nowhere may be mentioned in no package.
var nowhere = map[string]string{
	"net/http.DefaultClient":    "no time-outs, follows redirects, shared",
	"net/http.DefaultTransport": "shared between origins",
	"net/http.Get":              "uses the default client",
	"net/http.Post":             "uses the default client",
	"net/http.Head":             "uses the default client",
	"net/http.PostForm":         "uses the default client",
	"log.Fatal":                 "exits without cleaning up",
	"log.Fatalf":                "exits without cleaning up",
	"log.Printf":                "errors go up as values",
	"log.Println":               "errors go up as values",
	"fmt.Print":                 "writes to the real standard output",
	"fmt.Printf":                "writes to the real standard output",
	"fmt.Println":               "writes to the real standard output",
}

// heavy packages make every start slower, or are for tests.
var heavy = []string{"text/template", "html/template", "net/http/httptest", "testing", "go/ast", "go/parser", "expvar", "net/http/pprof"}

// A goFile is one parsed file of the module.
type goFile struct {
	pack, path string // its folder and itself, from the top
	test       bool
	syntax     *ast.File
	positions  *token.FileSet
	lines      int
}

// moduleFiles parses all files of the module but those below a folder testdata, where the
// packages are that only tests import.
func moduleFiles(t *testing.T) (files []goFile) {
	t.Helper()
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		positions := token.NewFileSet()
		syntax, err := parser.ParseFile(positions, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, goFile{filepath.ToSlash(filepath.Dir(path)), path, strings.HasSuffix(path, "_test.go"), syntax, positions, strings.Count(string(text), "\n")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestImports(t *testing.T) {
	for _, file := range moduleFiles(t) {
		words, known := imports[file.pack]
		allowed := strings.Fields(words)
		if !known {
			t.Errorf("%s: package %s is not in the table", file.path, file.pack)
			continue
		}
		if file.test {
			continue
		}
		for _, spec := range file.syntax.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			first, _, _ := strings.Cut(path, "/")
			outside := strings.Contains(first, ".") || first == "toolpipe"
			if outside && !slices.Contains(allowed, strings.TrimPrefix(path, "toolpipe/")) {
				t.Errorf("%s imports %s", file.path, path)
			}
			if slices.Contains(heavy, path) && !slices.Contains(allowed, path) {
				t.Errorf("%s imports %s", file.path, path)
			}
			if spec.Name != nil && spec.Name.Name == "." {
				t.Errorf("%s: a dot import of %s", file.path, path)
			}
		}
	}
}

func TestMentions(t *testing.T) {
	for _, file := range moduleFiles(t) {
		if file.test {
			continue
		}
		for path, names := range selections(file) {
			for _, name := range names {
				if file.pack != "." && slices.Contains(mainOnly[path], name.Name) {
					t.Errorf("%s: %s.%s outside main", file.positions.Position(name.Pos()), path, name.Name)
				}
				if why := nowhere[path+"."+name.Name]; why != "" && !(file.pack == "." && path == "fmt") {
					t.Errorf("%s: %s.%s: %s", file.positions.Position(name.Pos()), path, name.Name, why)
				}
				if file.pack == "mcp" && path == "toolpipe/stream" && !slices.Contains(sseOnly, name.Name) {
					t.Errorf("%s: mcp may use the SSE reader of stream only, not %s", file.positions.Position(name.Pos()), name.Name)
				}
			}
		}
	}
}

// selections gives what a file uses of each import.
func selections(file goFile) map[string][]*ast.Ident {
	paths := map[string]string{} // local name to import path
	for _, spec := range file.syntax.Imports {
		path, _ := strconv.Unquote(spec.Path.Value)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		paths[name] = path
	}
	found := map[string][]*ast.Ident{}
	ast.Inspect(file.syntax, func(n ast.Node) bool {
		if selector, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := selector.X.(*ast.Ident); ok && paths[x.Name] != "" {
				found[paths[x.Name]] = append(found[paths[x.Name]], selector.Sel)
			}
		}
		return true
	})
	return found
}

// TestGoroutines holds that package goroutine starts them all: a panic in one
// that was started otherwise ends the program in disorder.
func TestGoroutines(t *testing.T) {
	for _, file := range moduleFiles(t) {
		if file.test || file.pack == "stream/goroutine" {
			continue
		}
		used := selections(file)
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a go statement outside stream/goroutine", file.positions.Position(n.Pos()))
			case *ast.SelectorExpr:
				bare := n.Sel.Name == "AfterFunc" && !slices.Contains(used["toolpipe/stream/goroutine"], n.Sel)
				if bare || n.Sel.Name == "Go" { // of sync.WaitGroup
					t.Errorf("%s: %s outside stream/goroutine", file.positions.Position(n.Pos()), n.Sel.Name)
				}
			}
			return true
		})
	}
}

func TestOnePackageComment(t *testing.T) {
	comments := map[string][]string{}
	for _, file := range moduleFiles(t) {
		if file.syntax.Doc != nil {
			comments[file.pack] = append(comments[file.pack], file.path)
		}
	}
	for pack := range imports {
		if n := len(comments[pack]); n != 1 {
			t.Errorf("package %s has %d package comments: %q", pack, n, comments[pack])
		}
	}
}

func TestDirectDependencies(t *testing.T) {
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var direct []string
	for line := range strings.Lines(string(text)) {
		found := regexp.MustCompile(`^(?:require)?\s+([^\s()]+\.[^\s()]+/\S+) v\S+\s*$`).FindStringSubmatch(line)
		if found != nil {
			direct = append(direct, found[1])
		}
	}
	slices.Sort(direct)
	want := []string{"github.com/mattn/go-isatty", "github.com/spf13/pflag", "github.com/tidwall/gjson"}
	if !slices.Equal(direct, want) {
		t.Errorf("direct dependencies %q, want %q", direct, want)
	}
	for _, word := range []string{"replace", "toolchain", "tool "} {
		if regexp.MustCompile(`(?m)^` + word).Match(text) {
			t.Errorf("go.mod has a %q line", word)
		}
	}
}

// TestToolNames holds that no package has a list of built-in tools: each tool declares itself
// where it is defined. A name of one word is also a word of other things.
func TestToolNames(t *testing.T) {
	names, elsewhere := map[string]bool{}, map[*ast.BasicLit]goFile{}
	for _, file := range moduleFiles(t) {
		if file.test {
			continue
		}
		ast.Inspect(file.syntax, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if f, is := n.Fun.(*ast.SelectorExpr); is && f.Sel.Name == "Define" {
					if name, is := n.Args[0].(*ast.BasicLit); is && strings.Contains(name.Value, "_") {
						names[strings.Trim(name.Value, `"`)] = true
					}
				}
			case *ast.BasicLit:
				if !strings.HasPrefix(file.pack, "mcp/builtin/") {
					elsewhere[n] = file
				}
			}
			return true
		})
	}
	if len(names) < 10 {
		t.Errorf("there are more built-in tools than %v", names)
	}
	for literal, file := range elsewhere {
		text := strings.Trim(literal.Value, "`\"")
		if tool := text[strings.LastIndex("__"+text, "__"):]; names[tool] {
			t.Errorf("%s: %s, where only mcp/builtin knows this tool", file.positions.Position(literal.Pos()), literal.Value)
		}
	}
}

// TestTopLevel holds that the top folder is no place for anything new.
func TestTopLevel(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	fixed := []string{"main.go", "main_test.go", "layout_test.go", "run", "mcp", "stream", "approve", "testdata", "go.mod", "go.sum", "README.md", "LICENSE", ".gitignore", ".gitattributes", ".ci", ".git"}
	for _, entry := range entries {
		name := entry.Name()
		if !slices.Contains(fixed, name) && !ignored(name) {
			t.Errorf("top-level entry outside the layout: %s", name)
		}
	}
}

// ignored reports whether .gitignore names a top-level file by itself.
func ignored(name string) bool {
	text, _ := os.ReadFile(".gitignore")
	for line := range strings.Lines(string(text)) {
		pattern := strings.Trim(strings.TrimSpace(line), "/")
		if ok, _ := filepath.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

// TestPortable holds that a build with the tag portable runs on Linux what
// other systems run, but for the files that testdata/portable.md names.
func TestPortable(t *testing.T) {
	text, err := os.ReadFile("testdata/portable.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(.+)` \\| `(.+)` \\|$").FindAllStringSubmatch(string(text), -1) {
		rows = append(rows, row[1:]...)
	}
	var alone []string
	for _, file := range moduleFiles(t) {
		if file.test {
			continue
		}
		on := func(tags ...string) bool { return builds(t, file.path, tags...) }
		linux, portable := on("linux", "unix"), on("linux", "unix", "portable")
		darwin, freebsd := on("darwin", "unix"), on("freebsd", "unix")
		if darwin != freebsd || darwin != portable || linux && !portable && !strings.HasSuffix(file.path, "_linux.go") {
			alone = append(alone, file.path)
		}
	}
	slices.Sort(rows)
	slices.Sort(alone)
	if !slices.Equal(rows, alone) {
		t.Errorf("testdata/portable.md names %q, of one system are %q", rows, alone)
	}
}

// builds reports whether a file belongs to a build with these tags.
func builds(t *testing.T, path string, tags ...string) bool {
	c := build.Context{GOOS: tags[0], GOARCH: "amd64", Compiler: "gc", BuildTags: tags[1:]}
	ok, err := c.MatchFile(filepath.Dir(path), filepath.Base(path))
	if err != nil {
		t.Fatal(err)
	}
	return ok
}

// mostLines is a ratchet: how many lines each top room has at most, without tests. A
// commit that needs more changes the table, and says in its message what became
// unnecessary for it, or why nothing could. Each number is the one of today.
var mostLines = map[string]int{
	".":       353,
	"approve": 5399,
	"mcp":     31658,
	"run":     29966,
	"stream":  13628,
	"in all":  81004,
}

func TestLines(t *testing.T) {
	lines := map[string]int{}
	for _, file := range moduleFiles(t) {
		if !file.test {
			room, _, _ := strings.Cut(file.pack, "/")
			lines[room] += file.lines
			lines["in all"] += file.lines
		}
	}
	for room, n := range lines {
		if n > mostLines[room] {
			t.Errorf("%s: %d lines without tests; mostLines allows %d", room, n, mostLines[room])
		}
	}
}

// The rules that keep a feature in one room. None of what house lists may grow, and
// what is within a rule is taken out of it.
const (
	maxFields = 10 // of a struct with methods
	maxLevels = 2  // of embedding
	maxLines  = 60 // of a function
)

// The bounds of the import graph, without tests.
const (
	maxBelowRun = 24 // packages below run
	maxPackages = 58 // in all: the number of today
	maxFloors   = 11 // in the longest chain of imports: the number of today
	maxImports  = 20 // packages of this module that one package imports
)

// house are the exceptions from these rules, with what each has today.
var house = map[string]int{
	"fields of approve.Call":                   16,
	"fields of approve.Gate":                   11,
	"fields of mcp.Session":                    25,
	"fields of mcp.Spec":                       21,
	"fields of mcp/builtin/code.definition":    12,
	"fields of mcp/builtin/code.layout":        11,
	"fields of mcp/builtin/code/lexis.scanner": 13,
	"fields of mcp/builtin/processes.program":  12,
	"fields of mcp/oauth.Settings":             19,
	"fields of run/config.Config":              67,
	"fields of run/servers.Server":             23,
	"fields of run/face.Face":                  22,
	"fields of run/session.File":               11,
	"fields of stream.Client":                  18,
	"fields of stream.dialect":                 14,
	"fields of stream.draft":                   19,
	"fields of stream.exchange":                13,
	"fields of stream.messagesBlock":           13,
	"fields of stream.responsesItem":           12,
}

// TestHouse holds the rules, and that house has no exception that is none.
func TestHouse(t *testing.T) {
	found := map[string]int{}
	over := func(what string, n, most int) {
		if n > most {
			found[what] = n
		}
	}
	methods := map[string]bool{}
	structs, embedded := map[string]*ast.StructType{}, map[string][]string{}
	for _, file := range moduleFiles(t) {
		if file.test {
			continue
		}
		for _, d := range file.syntax.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				name := file.pack + "." + d.Name.Name
				if d.Recv != nil {
					receiver := baseName(d.Recv.List[0].Type)
					methods[file.pack+"."+receiver] = true
					name = file.pack + "." + receiver + "." + d.Name.Name
				}
				from, to := file.positions.Position(d.Pos()), file.positions.Position(d.End())
				over("lines of "+name, to.Line-from.Line+1, maxLines)
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					typed, ok := spec.(*ast.TypeSpec)
					if !ok {
						continue
					}
					if s, ok := typed.Type.(*ast.StructType); ok {
						name := file.pack + "." + typed.Name.Name
						structs[name], embedded[name] = s, embeds(file, s)
					}
				}
			}
		}
	}
	for name, s := range structs {
		if methods[name] {
			over("fields of "+name, fieldCount(s), maxFields)
		}
		over("levels of "+name, levels(embedded, name), maxLevels)
	}
	for pack, inner := range importGraph(t) {
		over("imports of "+pack, len(inner), maxImports)
	}
	for what, n := range found {
		if n > house[what] {
			t.Errorf("%s: %d; house allows %d", what, n, house[what])
		}
	}
	for what, n := range house {
		if found[what] < n {
			t.Errorf("%s: %d by now; take %d out of house", what, found[what], n)
		}
	}
}

// importGraph gives the packages of this module that each package imports, without tests.
func importGraph(t *testing.T) map[string][]string {
	graph := map[string][]string{}
	for _, file := range moduleFiles(t) {
		inner := graph[file.pack]
		for _, spec := range file.syntax.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			if path, own := strings.CutPrefix(path, "toolpipe/"); own && !file.test && !slices.Contains(inner, path) {
				inner = append(inner, path)
			}
		}
		graph[file.pack] = inner
	}
	return graph
}

// TestFloors holds the number of packages, and of floors: a package is one floor above the
// highest package that it imports.
func TestFloors(t *testing.T) {
	graph, floors := importGraph(t), map[string]int{}
	var floorOf func(pack string) int
	floorOf = func(pack string) int {
		if floors[pack] == 0 {
			below := 0
			for _, inner := range graph[pack] {
				below = max(below, floorOf(inner))
			}
			floors[pack] = below + 1
		}
		return floors[pack]
	}
	belowRun := 0
	for pack := range graph {
		floorOf(pack)
		if strings.HasPrefix(pack, "run/") {
			belowRun++
		}
	}
	if belowRun > maxBelowRun || len(graph) > maxPackages {
		t.Errorf("%d packages, %d below run; at most %d and %d are allowed", len(graph), belowRun, maxPackages, maxBelowRun)
	}
	if floors["."] > maxFloors {
		t.Errorf("%d floors; at most %d are allowed", floors["."], maxFloors)
	}
}

// baseName is the name of a type without its star and parameters.
func baseName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return baseName(e.X)
	case *ast.IndexExpr:
		return baseName(e.X)
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return e.Sel.Name
	}
	return ""
}

// embeds gives the types that a struct embeds, as PACKAGE.NAME.
func embeds(file goFile, s *ast.StructType) (all []string) {
	for _, f := range s.Fields.List {
		if len(f.Names) > 0 {
			continue
		}
		e := f.Type
		if star, ok := e.(*ast.StarExpr); ok {
			e = star.X
		}
		pack := file.pack
		if selector, ok := e.(*ast.SelectorExpr); ok {
			for path, names := range selections(file) {
				if slices.Contains(names, selector.Sel) {
					pack = strings.TrimPrefix(path, "toolpipe/")
				}
			}
		}
		all = append(all, pack+"."+baseName(e))
	}
	return all
}

func levels(embedded map[string][]string, name string) (deepest int) {
	for _, inner := range embedded[name] {
		deepest = max(deepest, 1+levels(embedded, inner))
	}
	return deepest
}

func fieldCount(s *ast.StructType) (n int) {
	for _, f := range s.Fields.List {
		n += max(1, len(f.Names))
	}
	return n
}

// valued are the packages that may put a value into a context: net/http/httptrace does
// so for mcp, and confine passes on what a verdict was about, since the tool that a call
// reaches is at the other end of the protocol.
var valued = []string{"mcp/builtin/confine"}

func TestNoValueInContext(t *testing.T) {
	for _, file := range moduleFiles(t) {
		if file.test || slices.Contains(valued, file.pack) {
			continue
		}
		for _, name := range selections(file)["context"] {
			if name.Name == "WithValue" {
				t.Errorf("%s: a value in a context", file.positions.Position(name.Pos()))
			}
		}
	}
}
