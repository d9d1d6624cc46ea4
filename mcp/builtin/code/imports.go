package code

import (
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/text/readable"
)

const maxImports = 1000 // of one file

type imported struct {
	line  int
	text  string // as written
	paths []string
}

func showImports(_ context.Context, c *call, args toolserver.Arguments) ([]byte, error) {
	source, err := c.read(args.Text("path"))
	if err != nil {
		return nil, err
	}
	if source.language == nil {
		return nil, fmt.Errorf("the language of %q is not known, so what it imports is not; grep_files finds lines by a pattern", source.path)
	}
	f := finder{sourceFile: source, call: c}
	var found []imported
	if f.language.Is("Go") {
		found = f.goImports()
	} else if found, err = f.imports(); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return fmt.Appendf(nil, "%s imports nothing (%s)\n", confine.ShownName(f.path), f.language.Name), nil
	}
	var b []byte
	for _, i := range found[:min(len(found), maxImports)] {
		b = fmt.Appendf(b, "%d: %s", i.line, readable.Cut(i.text, maxShownLine, ""))
		if len(i.paths) > 0 {
			b = fmt.Appendf(b, " -> %s", strings.Join(i.paths, ", "))
		}
		b = append(b, '\n')
	}
	if len(found) > maxImports {
		b = fmt.Appendf(b, "[toolpipe] the first %d are shown, the others are left out\n", maxImports)
	}
	return b, nil
}

type finder struct {
	*sourceFile
	call   *call
	looked int
}

// imports returns the imports that the rules of the file's language find, in the order of the
// lines.
func (f *finder) imports() (found []imported, err error) {
	f.lay()
	known := false
	for _, rule := range importRules {
		if !f.language.Is(strings.Fields(rule.Languages)...) {
			continue
		}
		known = true
		for _, m := range rule.Pattern().FindAllSubmatchIndex(f.text, 2*maxImports) {
			from, code := f.mask, m[4] // in a comment or a string, a match is not an import
			if rule.Quoted {
				from, code = f.text, m[4]-1
			}
			if f.mask[m[2]] != f.text[m[2]] || f.mask[code] != f.text[code] {
				continue
			}
			written := strings.Join(strings.Fields(string(from[m[2]:m[3]])), " ")
			found = append(found, imported{f.lineOf(m[2]), written, f.files(&rule, string(from[m[4]:m[5]]))})
		}
	}
	if !known {
		return nil, fmt.Errorf("how %s names other files is not known", f.language.Name)
	}
	slices.SortStableFunc(found, func(a, b imported) int { return a.line - b.line })
	return found, nil
}

func (f *finder) files(rule *importRule, text string) (files []string) {
	for _, name := range rule.List(text) {
		if file := f.find(rule, name); file != "" && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

const maxLookedUp = 5000 // paths that are looked up for one file

// find returns the file for a name; "" if there is none below the root.
func (f *finder) find(rule *importRule, name string) string {
	bases := f.bases(rule.From)
	if rule.Separator == "" {
		if rule.Languages == "PHP" { // as in __DIR__ . '/a.php'
			name = strings.TrimPrefix(name, "/")
		}
		if path.IsAbs(name) || strings.HasPrefix(rule.Languages, "JavaScript") && !strings.HasPrefix(name, ".") {
			return ""
		}
		return f.first(bases, name, rule.Endings)
	}
	if dots := len(name) - len(strings.TrimLeft(name, ".")); dots > 0 { // in Python
		bases = []string{path.Join(path.Dir(f.rel), strings.Repeat("../", dots-1))}
		name = name[dots:]
	} else if rule.Languages == "Python" {
		bases = slices.DeleteFunc(bases, f.isPackage) // import typing in a package does not mean the package's own typing.py
	}
	parts := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(rule.Separator, r) })
	for len(parts) > 1 && (parts[0] == "crate" || parts[0] == "self" || parts[0] == "super") { // in Rust
		parts = parts[1:]
	}
	for n := len(parts); n >= max(min(1, len(parts)), len(parts)-2); n-- { // the last parts may be names in the file
		if file := f.first(bases, strings.Join(parts[:n], "/"), rule.Endings); file != "" {
			return file
		}
	}
	return ""
}

// isPackage reports whether a directory is a Python package. Its files are imported by names
// that begin with the package's name.
func (f *finder) isPackage(dir string) bool {
	file := path.Join(dir, "__init__.py")
	return file == f.rel || f.look(file, fs.FileMode.IsRegular) != ""
}

func (f *finder) bases(from string) (bases []string) {
	dir := path.Dir(f.rel)
	for from := range strings.FieldsSeq(from) {
		switch from {
		case "dir":
			bases = append(bases, dir)
		case "root":
			bases = append(bases, ".")
		case "module":
			bases = append(bases, strings.TrimSuffix(f.rel, path.Ext(f.rel)))
		case "up":
			for at := dir; at != "."; at = path.Dir(at) {
				bases = append(bases, at)
			}
			bases = append(bases, ".")
		default:
			bases = append(bases, from)
		}
	}
	return bases
}

func (f *finder) first(bases []string, name, endings string) string {
	for _, base := range bases {
		for ending := range strings.FieldsSeq(endings) {
			if ending == "-" {
				ending = ""
			}
			if file := f.look(path.Join(base, name+ending), fs.FileMode.IsRegular); file != "" {
				return file
			}
		}
	}
	return ""
}

// look returns the shown path for a path from the root; "" if there is no file of that kind
// that may be shown, or it is the importing file.
func (f *finder) look(at string, isKind func(fs.FileMode) bool) string {
	if f.looked++; f.looked > maxLookedUp || len(at) > confine.MaxPath {
		return ""
	}
	l, err := f.root.Find(at)
	if err != nil {
		return ""
	}
	defer l.Close()
	if l.Info == nil || !isKind(l.Info.Mode()) || l.Rel == f.rel {
		return ""
	}
	return confine.ShownName(f.call.shown(l.Access, l.Rel))
}

// goImports returns the imports of a Go file. An import of the same module is a directory.
func (f *finder) goImports() (found []imported) {
	positions := token.NewFileSet()
	file, _ := parser.ParseFile(positions, "", f.text, parser.ImportsOnly)
	module, root := f.module()
	for _, spec := range file.Imports {
		i := imported{line: positions.PositionFor(spec.Pos(), false).Line, text: spec.Path.Value}
		if spec.Name != nil {
			i.text = spec.Name.Name + " " + i.text
		}
		name, _ := strconv.Unquote(spec.Path.Value)
		if rest, inside := strings.CutPrefix(name+"/", module+"/"); module != "" && inside {
			if dir := f.look(path.Join(root, rest), fs.FileMode.IsDir); dir != "" {
				i.paths = []string{dir}
			}
		}
		found = append(found, i)
	}
	return found
}

// module returns the module of the file, from the nearest go.mod, and the root of the module.
func (f *finder) module() (name, root string) {
	for _, dir := range f.bases("up") {
		l, err := f.root.Find(path.Join(dir, "go.mod"))
		if err != nil {
			continue
		}
		text, err := f.call.readAt(l)
		l.Close()
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text.text)) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "module" {
				return strings.Trim(fields[1], `"`), dir
			}
		}
	}
	return "", ""
}

// An importRule describes how files of some languages name others, as a pattern in their
// texts.
type importRule struct {
	Languages string // separated by spaces
	Quoted    bool   // the name is in quotes, where the mask is blank
	Separator string // between the parts of a name; "" if a name is a path
	From      string // where to look for a name: dir, root, up (all parent directories), or a directory
	Endings   string // file extensions; "" means that the name includes it, "-" none

	pattern string // at the beginning of a line, unless it begins with \b; its group is the names, separated by commas
}

const scriptEndings = "- .ts .tsx .d.ts .js .jsx .mjs .cjs .json /index.ts /index.tsx /index.js"

var importRules = []importRule{
	{"C C++ Objective-C", true, "", "dir root include src", "-", `#[ \t]*(?:include|include_next|import)[ \t]*["<]([^">\n]+)[">]`},
	{"Python", false, ".", "up", ".py /__init__.py .pyi", `import[ \t]+([^\n#;]+)`},
	{"Python", false, ".", "up", ".py /__init__.py .pyi", `from[ \t]+([\w.]+[ \t]+import\b[^\n#;]*)`},
	{"Java Kotlin Scala", false, ".", "up src/main/java src/main/kotlin", ".java .kt .scala", `import[ \t]+(?:static[ \t]+)?([\w.*]+)[^\n]*`},
	{"JavaScript TypeScript", true, "", "dir", scriptEndings, `(?:import|export)\b[^;'"` + "`" + `()]*?\bfrom\s*['"]([^'"\n]+)['"]`},
	{"JavaScript TypeScript", true, "", "dir", scriptEndings, `import[ \t]*['"]([^'"\n]+)['"]`},
	{"JavaScript TypeScript", true, "", "dir", scriptEndings, `\b(?:require|import)[ \t]*\([ \t]*['"]([^'"\n]+)['"][ \t]*\)`},
	{"Rust", false, "::", "up", ".rs /mod.rs", `(?:pub(?:\([^)\n]*\))?[ \t]+)?use[ \t]+([^;]+);`},
	{"Rust", false, "::", "module dir", ".rs /mod.rs", `(?:pub(?:\([^)\n]*\))?[ \t]+)?mod[ \t]+(\w+)[ \t]*;`},
	{"Rust", false, "::", "", "", `(?:pub[ \t]+)?extern[ \t]+crate[ \t]+(\w+)[^;\n]*;`},
	{"Ruby", true, "", "dir root lib", ".rb -", `(?:require_relative|require|load|autoload[ \t(]*:\w+,)[ \t(]*['"]([^'"\n]+)['"]`},
	{"Shell", true, "", "dir root", "-", `(?:source|\.)[ \t]+([^\s;&|<>]+)`},
	{"PHP", true, "", "dir root", "-", `\b(?:require|include)(?:_once)?\b[^'"\n;]*['"]([^'"\n]+)['"]`},
	{"PHP", false, `\`, "up src", ".php", `use[ \t]+(?:function[ \t]+|const[ \t]+)?([\\\w][^;()\n]*);`},
	{"C#", false, ".", "up", ".cs", `(?:global[ \t]+)?using[ \t]+(?:static[ \t]+)?(?:\w+[ \t]*=[ \t]*)?([\w.:]+)(?:<[^;\n]*>)?[ \t]*;`},
	{"Swift", false, ".", "", "", `(?:@\w+[ \t]+)?import[ \t]+([\w. \t]+)`},
	{"Lua", true, ".", "root dir src", ".lua /init.lua", `\brequire[ \t(]*['"]([^'"\n]+)['"]`},
	{"Dart", true, "", "dir", "-", `(?:import|export|part)[ \t]+['"]([^'"\n]+)['"]`},
	{"Protobuf", true, "", "dir root", "-", `import[ \t]+(?:public[ \t]+|weak[ \t]+)?"([^"\n]+)"`},
	{"CSS SCSS", true, "", "dir", "- .scss .css", `@(?:import|use|forward)[ \t]+(?:url\()?['"]([^'"\n]+)['"]`},
	{"Make", false, "", "dir root", "-", `-?include[ \t]+([^\n#]+)`},
}

// Pattern is the expression that finds the names. Its first group is the shown text, its
// second the names.
func (r *importRule) Pattern() *regexp.Regexp {
	start := `(?m)^[ \t]*`
	if strings.HasPrefix(r.pattern, `\b`) {
		start = ""
	}
	return regexp.MustCompile(start + `(` + r.pattern + `)`)
}

// List returns the names in a match of the second group.
func (r *importRule) List(text string) (names []string) {
	if r.Quoted {
		return []string{strings.Trim(text, `"'`)}
	}
	prefix, list, found := strings.Cut(text, "{") // as in Rust's crate::a::{b, c} and PHP's A\{B, C}
	if !found {
		prefix, list = "", text
	}
	if base, members, found := strings.Cut(text, " import"); found && r.Separator == "." { // as in Python's from a import b, c
		prefix, list = strings.TrimSpace(base), members
		names = append(names, prefix)
		if !strings.HasSuffix(prefix, ".") {
			prefix += "."
		}
	}
	for name := range strings.SplitSeq(list, ",") {
		if fields := strings.Fields(strings.Trim(name, "(){} \t\r\n")); len(fields) > 0 { // without "as x"
			names = append(names, prefix+fields[0])
		}
	}
	return names
}
