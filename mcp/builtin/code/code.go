// Package code is the server of the built-in tools for source files, below the same
// directories as the file tools. It knows the definitions of a file: go/parser finds them in
// Go, and Universal Ctags in other languages. Ctags gets the text of a file and opens no file
// itself.
//
// Each tool answers text for a model.
package code

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

type Spec struct {
	Areas     []*confine.Area // a relative path is below the first
	Environ   []string        // toolpipe's environment; ctags is looked up in its PATH
	Processes *process.Processes
	Version   string
	Idle      bool // no tool is called, so ctags is not needed
}

// inRoots reports whether a path is one of the roots, or is below one.
func (s *Spec) inRoots(path string) bool {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return slices.ContainsFunc(s.Areas, func(root *confine.Area) bool { return confine.IsBelow(path, root.Real) })
}

// lookPath finds a program in PATH, and returns the environment to start it in. Programs
// below a root are not used, and the environment's PATH leads to none: a call that writes
// could have made such a program, or a file next to it such as pyvenv.cfg.
func (s *Spec) lookPath(name string) (program string, env []string, err error) {
	env = process.ChildEnv(s.Environ, map[string]string{"LC_ALL": "C.UTF-8"}, nil)
	for i, kv := range env {
		if path, found := strings.CutPrefix(kv, "PATH="); found {
			dirs := slices.DeleteFunc(filepath.SplitList(path), s.inRoots)
			env[i] = "PATH=" + strings.Join(dirs, string(filepath.ListSeparator))
		}
	}
	program, err = process.LookPath(name, env)
	if err != nil || s.inRoots(program) {
		return "", nil, fmt.Errorf("%s is in no directory of PATH outside the allowed roots", name)
	}
	return program, env, nil
}

// New makes a server of tools for source files. The error is ErrNoCtags if there is no ctags
// in PATH. Whether it is Universal Ctags is checked at the first call.
func New(spec Spec) (*toolserver.Server, error) {
	path, err := findCtags(spec)
	if err != nil && !spec.Idle {
		return nil, err
	}
	s := toolserver.New("code", spec.Version)
	for _, t := range tools() {
		s.AddBuiltin(t.Builtin, func(ctx context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
			c := &call{spec: spec, ctags: &session{ctx: ctx, path: path, processes: spec.Processes}}
			defer c.ctags.close()
			for _, area := range spec.Areas {
				root := area.Access(confine.BoundsOf(ctx))
				root.Ignored = args.Flag("ignored")
				c.roots = append(c.roots, root)
			}
			text, err := t.run(ctx, c, args)
			if err != nil {
				return nil, c.root(args.Text("path")).Near(ctx, err)
			}
			return toolserver.TextResult(append(text, c.leftOutText()...)), nil
		})
	}
	return s, nil
}

type tool struct {
	*toolserver.Builtin
	run func(context.Context, *call, toolserver.Arguments) ([]byte, error)
}

func tools() []tool {
	file := toolserver.Parameter{Name: "path", Kind: "string", About: "source file, relative to the root", Required: true}
	below := toolserver.Parameter{Name: "path", Kind: "string", About: "file or directory to search; the root when absent"}
	ignored := toolserver.Parameter{Name: "ignored", Kind: "boolean", About: "also what .gitignore or .ignore excludes"}
	reads := toolserver.Effects{Reads: true, Path: "path", Private: true}
	return []tool{
		{toolserver.Define("outline", "List the definitions of a source file, nested as in the source, with kinds and lines.", toolserver.ReadsOnly, reads, file,
			toolserver.Parameter{Name: "detail", Kind: "string", About: "outline: a line for each, when absent; skeleton: the source with comments and signatures, and ... for bodies"},
		), outlineFile},
		{toolserver.Define("definition", "Show a definition of a source file by its name.", toolserver.ReadsOnly, reads, file,
			toolserver.Parameter{Name: "name", Kind: "string", About: "name, such as parse, Parser.parse or Parser::parse; name:LINE where there are several", Required: true},
			toolserver.Parameter{Name: "part", Kind: "string", About: "whole, when absent; signature; docstring; or summary: signature, comment and what is inside"},
		), showDefinition},
		{toolserver.Define("check_syntax", "Parse a source file with the parser of its language, without running it: Go and JSON always; Python, shell, JavaScript and Ruby if their programs are installed. Returns \"no syntax error\", or a line LINE:COLUMN: MESSAGE for each error.", toolserver.ReadsOnly, reads, file), showSyntax},
		{toolserver.Define("edit_definition", "Edit one definition of a source file. The comment and decorators directly above belong to it. Content is written as it is, so it needs the indentation of its place. An edit is refused when the file would no longer parse.", toolserver.Destroys, toolserver.Effects{Writes: true, Path: "path", Shows: true, Private: true}, file,
			toolserver.Parameter{Name: "name", Kind: "string", About: "name of the definition, such as parse or Parser.parse; name:LINE where there are several", Required: true},
			toolserver.Parameter{Name: "operation", Kind: "string", About: "replace (the whole definition by content), signature (all before the body by content), remove, insert_before or insert_after (content next to the definition), move (to another position in the file), wrap_region (put content around it)", Required: true},
			toolserver.Parameter{Name: "content", Kind: "string", About: "new source, whole lines; for wrap_region the lines around, with a line " + placeholder + " where the definition goes, such as \"#ifdef DEBUG\\n" + placeholder + "\\n#endif\"", InDiff: true},
			toolserver.Parameter{Name: "to", Kind: "string", About: "for move: \"before NAME\" or \"after NAME\", another definition of the file"},
			toolserver.Parameter{Name: "force", Kind: "boolean", About: "write it even if the file no longer parses"},
		), editDefinition},
		{toolserver.Define("move_definition", "Move a definition at the top of a Python file to another Python file, as text. No import is added or changed, in these files or in others.", toolserver.Destroys, toolserver.Effects{Writes: true, Path: "path", To: "to", Shows: true, Private: true}, file,
			toolserver.Parameter{Name: "name", Kind: "string", About: "name of the definition; name:LINE where there are several", Required: true},
			toolserver.Parameter{Name: "to", Kind: "string", About: "the other file, relative to the root; it is created if it is missing; the definition goes to its end, or before if __name__ == ...", Required: true},
			toolserver.Parameter{Name: "force", Kind: "boolean", About: "write it even if a file no longer parses"},
		), moveDefinition},
		{toolserver.Define("usages", "Find the lines that contain a name as a complete word, grouped by file and by the definition around them. Comments and strings are not searched if the language is known.", toolserver.ReadsOnly, reads,
			toolserver.Parameter{Name: "name", Kind: "string", About: "name to find; for Class.method, the last part is matched", Required: true}, below, ignored,
		), showUsages},
		{toolserver.Define("imports", "List the imports of a source file (also includes and requires), with their lines, and for each the file below the root that it names, if there is one.", toolserver.ReadsOnly, reads, file), showImports},
		{toolserver.Define("hierarchy", "Show the superclasses and subclasses of a class, trait or interface below a directory, by their names; for Go, embedded types.", toolserver.ReadsOnly, reads,
			toolserver.Parameter{Name: "name", Kind: "string", About: "name of the class; for Outer.Inner, the last part is matched", Required: true}, below, ignored,
		), showHierarchy},
		{toolserver.Define("call_path", "Show as a tree which definitions the body of a function or type names, and which ones they name in turn. Definitions are found by name; if several have the same name, the nearest counts.", toolserver.ReadsOnly, reads,
			toolserver.Parameter{Name: "target", Kind: "string", About: "name to start from, such as parse or Parser.parse", Required: true},
			toolserver.Parameter{Name: "path", Kind: "string", About: "file or directory with the definitions; the root when absent"},
			toolserver.Parameter{Name: "max_depth", Kind: "integer", About: "levels to show, from 1 to 20; 3 when absent"}, ignored,
		), showCallPath},
	}
}

type call struct {
	spec  Spec
	ctags *session
	roots []*confine.Access // for spec.Areas
}

func (c *call) leftOutText() (text string) {
	for _, root := range c.roots {
		text += root.LeftOutText()
	}
	return text
}

// find follows a path. The caller closes the location.
func (c *call) find(path string) (*confine.Location, error) { return c.root(path).Find(path) }

// root is the root that contains an absolute path; the first root for any other path.
func (c *call) root(path string) *confine.Access {
	holds := func(root *confine.Access) bool {
		_, err := root.Split(path)
		return err == nil
	}
	return c.roots[max(0, slices.IndexFunc(c.roots, holds))]
}

// shown is the path of a file in answers: relative below the first root, absolute below
// another.
func (c *call) shown(root *confine.Access, rel string) string {
	if root == c.roots[0] {
		return rel
	}
	return root.Absolute(rel)
}

type sourceFile struct {
	root     *confine.Access // nil if no other file is read
	rel      string          // its path from the root
	path     string          // as shown in answers
	text     []byte
	language *lexis.Language // nil if unknown
	defs     []definition    // in the order of their lines; set by outline
	*layout                  // nil until lay
}

func newSourceFile(path string, text []byte) *sourceFile {
	return &sourceFile{path: path, text: text, language: lexis.Of(path, text)}
}

// lay finds the lines and brackets of the file, unless it has done so.
func (f *sourceFile) lay() {
	if f.layout == nil {
		f.layout = newLayout(f.language, f.text)
	}
}

// read reads the source file at a path, for an answer that shows a part of it. The part
// counts as shown even if the call fails later: --refresh may then report a change to a file
// that the model did not see.
func (c *call) read(path string) (*sourceFile, error) {
	l, err := c.find(path)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	f, err := c.readAt(l)
	if err == nil {
		l.Look(bytes.NewReader(f.text), int64(len(f.text)))(false)
	}
	return f, err
}

func (c *call) readAt(l *confine.Location) (*sourceFile, error) {
	f, info, err := l.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := readText(f, info.Size(), nil)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", l.Asked, confine.Reason(err))
	}
	source := newSourceFile(c.shown(l.Access, l.Rel), text)
	source.root, source.rel = l.Access, l.Rel
	return source, nil
}

// maxSource is the longest file that is read, in bytes: sources are shorter, and ctags works
// in memory.
const maxSource = 16 << 20

var errBinary = errors.New("it is a binary file, not source")

// readText reads the first size bytes of a file, its length when it was opened, into room if
// that is large enough. The error is errBinary for a file that is not text.
func readText(f io.Reader, size int64, room []byte) ([]byte, error) {
	if size > maxSource {
		return nil, fmt.Errorf("it has %d bytes; files of at most %d are read as source; grep_files and get_file_slice work on longer ones", size, maxSource)
	}
	text := slices.Grow(room[:0], int(size))[:size]
	head := text[:min(size, toolserver.ReadChunk)]
	n, err := io.ReadFull(f, head)
	if toolserver.LooksBinary(head[:n]) {
		return nil, errBinary
	}
	if err == nil {
		var more int
		more, err = io.ReadFull(f, text[n:])
		n += more
	}
	if err == io.EOF || err == io.ErrUnexpectedEOF { // it became shorter, or is empty
		err = nil
	}
	return text[:n], err
}

// normalName is a name with dots between its parts, as in Class.method, also for
// Class::method and PHP's Space\Class. An operator of C++ is written like operator==; ctags
// writes operator ==.
func normalName(name string) string {
	name = strings.ReplaceAll(strings.ReplaceAll(name, "::", "."), `\`, ".")
	if i := strings.Index(name, operator+" "); i >= 0 {
		if before, symbol := name[:i+len(operator)], strings.TrimLeft(name[i+len(operator):], blanks); symbol != "" && !lexis.IsWord(symbol[0]) {
			return before + symbol
		}
	}
	return name
}

// operator begins the names of operators and of conversions in C++.
const operator = "operator"

// operatorSymbol is the rest of the name of an operator or conversion; "" for another name.
func operatorSymbol(name string) string {
	rest, found := strings.CutPrefix(name, operator)
	if !found || rest == "" || lexis.IsWord(rest[0]) {
		return ""
	}
	return strings.TrimLeft(rest, blanks)
}
