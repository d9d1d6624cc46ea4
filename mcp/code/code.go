// Package code is the server of the built-in tools for source files, below the
// same directories as the file tools. It knows the definitions of a file: those of
// Go from go/parser, those of other languages from Universal Ctags, which gets the
// text of a file and opens none itself.
//
// Each tool is in a file of its own and answers text that a model reads.
package code

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

// A Spec says which files a server offers.
type Spec struct {
	Areas     []*confine.Area // a relative path is below the first
	Environ   []string        // toolpipe's environment, whose PATH has ctags
	Processes *process.Processes
	Version   string
}

// inRoots says whether a path is one of the roots, or is below it.
func (s *Spec) inRoots(path string) bool {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return slices.ContainsFunc(s.Areas, func(root *confine.Area) bool {
		rel, err := filepath.Rel(root.Real, path)
		return err == nil && filepath.IsLocal(rel)
	})
}

// New makes a server of tools for source files. The error is ErrNoCtags when there
// is no ctags in PATH. Whether it is Universal Ctags shows at the first call.
func New(spec Spec) (*toolserver.Server, error) {
	if spec.Processes == nil {
		spec.Processes = &process.Processes{}
	}
	program, err := findCtags(spec)
	if err != nil {
		return nil, err
	}
	s := toolserver.New("code", spec.Version)
	for _, t := range tools() {
		s.AddBuiltin(t.Builtin, func(ctx context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
			c := &call{spec: spec, ctags: program}
			for _, area := range spec.Areas {
				c.roots = append(c.roots, area.Access(confine.BoundsOf(ctx)))
			}
			result, err := t.run(ctx, c, args)
			for _, look := range c.looks {
				if err == nil {
					look.Shown(false)
				}
			}
			if left := c.leftOut(); err == nil && left != "" {
				answer := &result.Content[0] // a JSON literal, to which another is joined
				answer.Text = append(answer.Text[:len(answer.Text)-1], jsontext.Quoted(left)[1:]...)
			}
			return result, err
		})
	}
	return s, nil
}

// A tool is a definition and the function that does a call.
type tool struct {
	*toolserver.Builtin
	run func(context.Context, *call, toolserver.Arguments) (*wire.Result, error)
}

func tools() []tool {
	return []tool{
		outlineTool(),
		definitionTool(),
		checkSyntaxTool(),
		editDefinitionTool(),
		usagesTool(),
		importsTool(),
		hierarchyTool(),
		callPathTool(),
	}
}

func define(name, about, annotations string, params ...toolserver.Parameter) *toolserver.Builtin {
	return &toolserver.Builtin{Name: name, About: about, Params: params, Annotations: annotations}
}

// A call is what one call of a tool may use.
type call struct {
	spec  Spec
	ctags *ctags
	roots []*confine.Access // of spec.Areas
	looks []*confine.Look   // at the files of which the answer shows a part
}

func (c *call) leftOut() (text string) {
	for _, root := range c.roots {
		text += root.LeftOutText()
	}
	return text
}

// find follows a path: one that is absolute below whichever root holds it, any
// other below the first. The caller closes the location.
func (c *call) find(path string) (*confine.Location, error) {
	root := c.roots[0]
	if filepath.IsAbs(path) {
		for _, r := range c.roots {
			if _, err := r.Split(path); err == nil {
				root = r
				break
			}
		}
	}
	return root.Find(path)
}

// shown is the path of a file in answers: relative below the first root, absolute
// below another.
func (c *call) shown(l *confine.Location) string {
	if l.Access == c.roots[0] {
		return l.Rel
	}
	return l.Access.Absolute(l.Rel)
}

// A source is a file that a tool has read.
type source struct {
	path string // as answers show it
	text []byte
}

// maxSource is the longest file that is read, in bytes: sources are shorter, and
// ctags works in memory.
const maxSource = 16 << 20

// read reads the source file at a path.
func (c *call) read(path string) (*source, error) {
	l, err := c.find(path)
	if err != nil {
		return nil, err
	}
	defer l.Close()
	s, err := c.readAt(l)
	if err == nil {
		c.looks = append(c.looks, l.Look(bytes.NewReader(s.text), int64(len(s.text))))
	}
	return s, err
}

// readAt reads the source file at a location.
func (c *call) readAt(l *confine.Location) (*source, error) {
	f, info, err := l.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > maxSource {
		return nil, errTooLong(l.Asked, info.Size())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSource+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%q: %w", l.Asked, confine.Reason(err))
	case len(text) > maxSource:
		return nil, errTooLong(l.Asked, int64(len(text)))
	case toolserver.LooksBinary(text):
		return nil, fmt.Errorf("%q is a binary file of %d bytes, not source", l.Asked, len(text))
	}
	return &source{path: c.shown(l), text: text}, nil
}

func errTooLong(path string, size int64) error {
	return fmt.Errorf("%q has %d bytes; files of at most %d are read as source; grep_files and get_file_slice work on longer ones", path, size, maxSource)
}

// normalName is a path of names with dots, as Class.method, for those who write
// Class::method, and Space\Class in PHP.
func normalName(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "::", "."), `\`, ".")
}
