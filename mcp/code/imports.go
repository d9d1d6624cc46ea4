package code

import (
	"bytes"
	"context"
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp/code/lexis"
	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

const maxImports = 1000 // of one file

func importsTool() tool {
	return tool{define("imports", "List what a source file imports, includes or requires, with lines, and the file below the root that it is, where there is one.", toolserver.ReadsOnly,
		toolserver.Parameter{Name: "path", Kind: "string", About: "source file, relative to the root", Required: true},
	), showImports}
}

// An importRule says how files of some languages name others.
type importRule struct {
	languages string
	pattern   string // at the begin of a line, unless it begins with \b; its group is the names, separated by commas
	quoted    bool   // the group is one name in quotes, where the mask is blank
	separator string // between the parts of a name; "" where a name is a path
	from      string // what a name is looked for in: dir, root, up (all directories above), or a directory
	endings   string // of the names of files; "" must be named, "-" is none
}

const scriptEndings = "- .ts .tsx .d.ts .js .jsx .mjs .cjs .json /index.ts /index.tsx /index.js"

var importRules = []importRule{
	{"C C++ Objective-C", `#[ \t]*(?:include|include_next|import)[ \t]*["<]([^">\n]+)[">]`, true, "", "dir root include src", "-"},
	{"Python", `import[ \t]+([^\n#;]+)`, false, ".", "up", ".py /__init__.py .pyi"},
	{"Python", `from[ \t]+([\w.]+[ \t]+import\b[^\n#;]*)`, false, ".", "up", ".py /__init__.py .pyi"},
	{"Java Kotlin Scala", `import[ \t]+(?:static[ \t]+)?([\w.*]+)[^\n]*`, false, ".", "up src/main/java src/main/kotlin", ".java .kt .scala"},
	{"JavaScript TypeScript", `(?:import|export)\b[^;'"` + "`" + `()]*?\bfrom\s*['"]([^'"\n]+)['"]`, true, "", "dir", scriptEndings},
	{"JavaScript TypeScript", `import[ \t]*['"]([^'"\n]+)['"]`, true, "", "dir", scriptEndings},
	{"JavaScript TypeScript", `\b(?:require|import)[ \t]*\([ \t]*['"]([^'"\n]+)['"][ \t]*\)`, true, "", "dir", scriptEndings},
	{"Rust", `(?:pub(?:\([^)\n]*\))?[ \t]+)?use[ \t]+([^;]+);`, false, "::", "up", ".rs /mod.rs"},
	{"Rust", `(?:pub(?:\([^)\n]*\))?[ \t]+)?mod[ \t]+(\w+)[ \t]*;`, false, "::", "module dir", ".rs /mod.rs"},
	{"Rust", `(?:pub[ \t]+)?extern[ \t]+crate[ \t]+(\w+)[^;\n]*;`, false, "::", "", ""},
	{"Ruby", `(?:require_relative|require|load|autoload[ \t(]*:\w+,)[ \t(]*['"]([^'"\n]+)['"]`, true, "", "dir root lib", ".rb -"},
	{"Shell", `(?:source|\.)[ \t]+([^\s;&|<>]+)`, true, "", "dir root", "-"},
	{"PHP", `\b(?:require|include)(?:_once)?\b[^'"\n;]*['"]([^'"\n]+)['"]`, true, "", "dir root", "-"},
	{"PHP", `use[ \t]+(?:function[ \t]+|const[ \t]+)?([\\\w][^;()\n]*);`, false, `\`, "up src", ".php"},
	{"C#", `(?:global[ \t]+)?using[ \t]+(?:static[ \t]+)?(?:\w+[ \t]*=[ \t]*)?([\w.:]+)(?:<[^;\n]*>)?[ \t]*;`, false, ".", "up", ".cs"},
	{"Swift", `(?:@\w+[ \t]+)?import[ \t]+([\w. \t]+)`, false, ".", "", ""},
	{"Lua", `\brequire[ \t(]*['"]([^'"\n]+)['"]`, true, ".", "root dir src", ".lua /init.lua"},
	{"Dart", `(?:import|export|part)[ \t]+['"]([^'"\n]+)['"]`, true, "", "dir", "-"},
	{"Protobuf", `import[ \t]+(?:public[ \t]+|weak[ \t]+)?"([^"\n]+)"`, true, "", "dir root", "-"},
	{"CSS SCSS", `@(?:import|use|forward)[ \t]+(?:url\()?['"]([^'"\n]+)['"]`, true, "", "dir", "- .scss .css"},
	{"Make", `-?include[ \t]+([^\n#]+)`, false, "", "dir root", "-"},
}

// An imported is something that a file names at a line.
type imported struct {
	line  int
	text  string // as it is written
	paths []string
}

func showImports(ctx context.Context, c *call, args toolserver.Arguments) (*wire.Result, error) {
	l, err := c.find(args.Text("path"))
	if err != nil {
		return nil, err
	}
	defer l.Close()
	source, err := c.read(args.Text("path"))
	if err != nil {
		return nil, err
	}
	language := lexis.Of(source.path, source.text)
	if language == nil {
		return nil, fmt.Errorf("the language of %q is not known, so what it imports is not; grep_files finds lines by a pattern", source.path)
	}
	f := finder{at: l, call: c}
	var found []imported
	if language.Name == "Go" {
		found = f.goImports(source.text)
	} else if found, err = f.imports(ctx, language, source.text); err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return toolserver.TextResult(fmt.Appendf(nil, "%s imports nothing (%s)\n", confine.ShownName(source.path), language.Name)), nil
	}
	var b []byte
	for _, i := range found[:min(len(found), maxImports)] {
		b = fmt.Appendf(b, "%d: %s", i.line, toolserver.WholeRunes([]byte(i.text[:min(len(i.text), maxShownLine)])))
		if len(i.paths) > 0 {
			b = append(append(b, " -> "...), strings.Join(i.paths, ", ")...)
		}
		b = append(b, '\n')
	}
	if len(found) > maxImports {
		b = fmt.Appendf(b, "[toolpipe] the first %d are shown, the others are left out\n", maxImports)
	}
	return toolserver.TextResult(b), nil
}

// A finder finds the imports of a file, and the files that they are.
type finder struct {
	at     *confine.Location // of the file
	call   *call
	looked int
}

// imports gives what the rules of a language find, in the order of the lines.
func (f *finder) imports(ctx context.Context, language *lexis.Language, text []byte) (found []imported, err error) {
	mask := language.Mask(text)
	known := false
	for i := range importRules {
		rule := &importRules[i]
		if !slices.Contains(strings.Fields(rule.languages), language.Name) {
			continue
		}
		known = true
		start := `(?m)^[ \t]*`
		if strings.HasPrefix(rule.pattern, `\b`) {
			start = ""
		}
		pattern, err := regexp.Compile(start + `(` + rule.pattern + `)`)
		if err != nil {
			return nil, err
		}
		line, counted := 1, 0
		for _, m := range pattern.FindAllSubmatchIndex(text, 2*maxImports) {
			from, code := mask, m[4] // what is code in a comment or a string is none
			if rule.quoted {
				from, code = text, m[4]-1
			}
			if mask[m[2]] != text[m[2]] || mask[code] != text[code] {
				continue
			}
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			line += bytes.Count(mask[counted:m[2]], []byte("\n"))
			counted = m[2]
			written := strings.Join(strings.Fields(string(from[m[2]:m[3]])), " ")
			found = append(found, imported{line, written, f.paths(rule, string(from[m[4]:m[5]]))})
		}
	}
	if !known {
		return nil, fmt.Errorf("how %s names other files is not known", language.Name)
	}
	slices.SortStableFunc(found, func(a, b imported) int { return a.line - b.line })
	return found, nil
}

// paths gives the files that the names in an import are.
func (f *finder) paths(rule *importRule, text string) (paths []string) {
	if rule.quoted {
		return f.add(nil, rule, strings.Trim(text, `"'`))
	}
	prefix, list, _ := strings.Cut(text, "{")                                               // Rust has crate::a::{b, c}, PHP A\{B, C}
	if base, names, found := strings.Cut(text, " import"); found && rule.separator == "." { // Python has from a import b, c
		prefix, list = strings.TrimSpace(base), names
		paths = f.add(paths, rule, prefix)
		if !strings.HasSuffix(prefix, ".") {
			prefix += "."
		}
	} else if list == "" {
		prefix, list = "", text
	}
	for name := range strings.SplitSeq(list, ",") {
		if fields := strings.Fields(strings.Trim(name, "(){} \t\r\n")); len(fields) > 0 { // without "as x"
			paths = f.add(paths, rule, prefix+fields[0])
		}
	}
	return paths
}

func (f *finder) add(paths []string, rule *importRule, name string) []string {
	if path := f.find(rule, name); path != "" && !slices.Contains(paths, path) {
		return append(paths, path)
	}
	return paths
}

const maxLookedUp = 5000 // paths that are looked up for one file

// find gives the file that a name is, "" for none below the root.
func (f *finder) find(rule *importRule, name string) string {
	bases := f.bases(rule)
	if rule.separator == "" {
		if rule.languages == "PHP" { // as in __DIR__ . '/a.php'
			name = strings.TrimPrefix(name, "/")
		}
		if path.IsAbs(name) || strings.HasPrefix(rule.languages, "JavaScript") && !strings.HasPrefix(name, ".") {
			return ""
		}
		return f.first(bases, name, rule.endings)
	}
	if dots := len(name) - len(strings.TrimLeft(name, ".")); dots > 0 { // of Python
		bases = []string{path.Join(path.Dir(f.at.Rel), strings.Repeat("../", dots-1))}
		name = name[dots:]
	}
	parts := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(rule.separator, r) })
	for len(parts) > 1 && (parts[0] == "crate" || parts[0] == "self" || parts[0] == "super") { // of Rust
		parts = parts[1:]
	}
	for n := len(parts); n >= max(min(1, len(parts)), len(parts)-2); n-- { // the last parts may be in the file
		if file := f.first(bases, strings.Join(parts[:n], "/"), rule.endings); file != "" {
			return file
		}
	}
	return ""
}

// bases are the directories in which a rule looks.
func (f *finder) bases(rule *importRule) (bases []string) {
	dir := path.Dir(f.at.Rel)
	for from := range strings.FieldsSeq(rule.from) {
		switch from {
		case "dir":
			bases = append(bases, dir)
		case "root":
			bases = append(bases, ".")
		case "module":
			bases = append(bases, strings.TrimSuffix(f.at.Rel, path.Ext(f.at.Rel)))
		case "up":
			for at := dir; ; at = path.Dir(at) {
				bases = append(bases, at)
				if at == "." || at == "/" || strings.HasPrefix(at, "..") {
					break
				}
			}
		default:
			bases = append(bases, from)
		}
	}
	return bases
}

// first gives the first file that is there, other than the one that imports.
func (f *finder) first(bases []string, name, endings string) string {
	for _, base := range bases {
		for ending := range strings.FieldsSeq(endings) {
			if ending == "-" {
				ending = ""
			}
			at := path.Join(base, name+ending)
			if l := f.look(at); l != nil && l.Info.Mode().IsRegular() && l.Rel != f.at.Rel {
				return confine.ShownName(f.call.shown(l))
			}
		}
	}
	return ""
}

// look gives what is at a path from the root, nil for nothing that may be shown. It
// is closed.
func (f *finder) look(at string) *confine.Location {
	if f.looked == maxLookedUp || len(at) > confine.MaxPath {
		return nil
	}
	f.looked++
	l, err := f.at.Access.Find(at)
	if err != nil {
		return nil
	}
	l.Close()
	if l.Info == nil {
		return nil
	}
	return l
}

// goImports gives the imports of a Go file. Those of its own module are directories.
func (f *finder) goImports(text []byte) (found []imported) {
	positions := token.NewFileSet()
	file, _ := parser.ParseFile(positions, "", text, parser.ImportsOnly)
	if file == nil {
		return nil
	}
	module, root := f.module()
	for _, spec := range file.Imports {
		i := imported{line: positions.PositionFor(spec.Pos(), false).Line, text: spec.Path.Value}
		if spec.Name != nil {
			i.text = spec.Name.Name + " " + i.text
		}
		name, _ := strconv.Unquote(spec.Path.Value)
		if rest, inside := strings.CutPrefix(name+"/", module+"/"); module != "" && inside {
			if l := f.look(path.Join(root, rest)); l != nil && l.Info.IsDir() {
				i.paths = []string{confine.ShownName(f.call.shown(l))}
			}
		}
		found = append(found, i)
	}
	return found
}

// module gives the module that the file is in by the nearest go.mod, and where its
// root is.
func (f *finder) module() (name, root string) {
	for _, dir := range f.bases(&importRule{from: "up"}) {
		l, err := f.at.Access.Find(path.Join(dir, "go.mod"))
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
