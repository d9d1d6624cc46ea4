package code

import (
	"regexp"
	"strings"
)

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
