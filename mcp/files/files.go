// Package files is the built-in file tools: a tool server that reads, lists,
// searches and writes the files below one directory, and no others.
package files

import (
	"context"
	"encoding/json"
	"fmt"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/gitdiff"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

// FilesSpec says which files a built-in file server offers.
type Spec struct {
	Name      string                     // the server's
	Root      string                     // a directory, or one single file
	Anyway    bool                       // the root may be / or a home directory
	Home      string                     // the user's home directory; "" when unknown
	Protected []string                   // absolute paths of toolpipe's own files, existing or not
	Warn      func(code, message string) // tells the user at once; may be nil
	Environ   []string                   // toolpipe's environment, of which git gets what ChildEnv passes
	Processes *process.Processes
	Version   string
}

// Files makes a server whose tools see the files below Root and no others
// (issue 6). The root is held open as long as the server is in use. An error
// is about the root, which the user named.
func New(spec Spec) (*toolserver.Server, error) {
	t, err := confine.Open(confine.Spec{Root: spec.Root, Anyway: spec.Anyway, Home: spec.Home, Protected: spec.Protected})
	if err != nil {
		return nil, err
	}
	if t.Sealed.Why != "" && spec.Warn != nil {
		spec.Warn("files_read_only", fmt.Sprintf("nothing is written below %q because of %q in its path: %s", t.Path, t.Sealed.Name, t.Sealed.Why))
	}
	s := toolserver.New(spec.Name, spec.Version)
	for _, b := range filesTools(gitdiff.Program{Environ: spec.Environ, Processes: spec.Processes}) {
		s.Add(b.tool.Tool(), func(ctx context.Context, raw json.RawMessage, _ func(wire.Progress)) (*wire.Result, error) {
			args, err := b.tool.Read(raw)
			if err != nil {
				return nil, err
			}
			v := t.View(confine.BoundsOf(ctx))
			result, err := b.do(v, ctx, args)
			if err == nil && len(v.Left) > 0 {
				answer := &result.Content[0] // two literals are put together without the quotes between
				answer.Text = append(answer.Text[:len(answer.Text)-1], jsontext.Quoted(v.LeftText())[1:]...)
			}
			return result, err
		})
	}
	return s, nil
}

// filesTool is a tool with what it does.
type filesTool struct {
	tool *toolserver.Builtin
	do   func(*confine.View, context.Context, toolserver.Arguments) (*wire.Result, error)
}

// filesTools are the tools of DESIGN part 4.
func filesTools(git gitdiff.Program) []filesTool {
	path := toolserver.Parameter{Name: "path", Kind: "string", About: "file, relative to the root", Required: true}
	dir := toolserver.Parameter{Name: "path", Kind: "string", About: "directory, relative to the root; the root when absent", Required: false}
	return []filesTool{
		{&toolserver.Builtin{Name: "read_file", About: "Read a text file, whole or a range of its bytes.", Params: []toolserver.Parameter{path,
			{Name: "offset", Kind: "integer", About: "first byte to read, from 0", Required: false},
			{Name: "length", Kind: "integer", About: "number of bytes to read; to the end when absent", Required: false}}, Annotations: toolserver.ReadsOnly}, readFile},
		{&toolserver.Builtin{Name: "get_file_slice", About: "Read a range of a text file's lines.", Params: []toolserver.Parameter{path,
			{Name: "start_line", Kind: "integer", About: "first line, from 1; 1 when absent", Required: false},
			{Name: "end_line", Kind: "integer", About: "last line, included; the file's last when absent", Required: false}}, Annotations: toolserver.ReadsOnly}, getFileSlice},
		{&toolserver.Builtin{Name: "list_directory", About: "List a directory: kind, size and name of each entry.", Params: []toolserver.Parameter{dir}, Annotations: toolserver.ReadsOnly}, listDirectory},
		{&toolserver.Builtin{Name: "get_tree", About: "Show a directory and those in it as an indented tree.", Params: []toolserver.Parameter{dir,
			{Name: "max_depth", Kind: "integer", About: "levels to show, from 1; 3 when absent", Required: false}}, Annotations: toolserver.ReadsOnly}, getTree},
		{&toolserver.Builtin{Name: "search_files", About: "Find files and directories by name. A pattern without a slash is for the name at any depth, one with a slash for the whole path.", Params: []toolserver.Parameter{
			{Name: "pattern", Kind: "string", About: "glob: * ? [a-z] within a name, ** over directories, {a,b} for either; such as *.go or src/**/*_test.go", Required: true}, dir}, Annotations: toolserver.ReadsOnly}, searchFiles},
		{&toolserver.Builtin{Name: "grep_files", About: "Find lines by a regular expression; answers path:line:text. Binary files are left out.", Params: []toolserver.Parameter{
			{Name: "pattern", Kind: "string", About: "RE2 regular expression, for one line at a time", Required: true},
			{Name: "path", Kind: "string", About: "directory or file to search; the root when absent", Required: false},
			{Name: "include", Kind: "string", About: "glob of the files to search, such as *.go", Required: false},
			{Name: "ignore_case", Kind: "boolean", About: "upper and lower case are the same", Required: false},
			{Name: "context", Kind: "integer", About: "lines to show before and after each match; 0 when absent", Required: false}}, Annotations: toolserver.ReadsOnly}, grepFiles},
		{&toolserver.Builtin{Name: "get_file_summary", About: "Say what a file is without reading it whole: kind, size, number of lines, first lines.", Params: []toolserver.Parameter{path}, Annotations: toolserver.ReadsOnly}, getFileSummary},
		{gitdiff.Tool, func(v *confine.View, ctx context.Context, args toolserver.Arguments) (*wire.Result, error) {
			return gitdiff.Diff(v, ctx, git, args)
		}},
		{&toolserver.Builtin{Name: "write_file", About: "Write a whole file, new or in the place of an old one. Missing directories are made.", Params: []toolserver.Parameter{path,
			{Name: "content", Kind: "string", About: "the whole new content", Required: true}}, Annotations: toolserver.Destroys}, writeFile},
		{&toolserver.Builtin{Name: "set_file_slice", About: "Replace a range of a text file's lines. end_line one less than start_line inserts before start_line; empty new_content deletes.", Params: []toolserver.Parameter{path,
			{Name: "start_line", Kind: "integer", About: "first line to replace, from 1", Required: true},
			{Name: "end_line", Kind: "integer", About: "last line to replace, included", Required: true},
			{Name: "new_content", Kind: "string", About: "lines to put in their place", Required: true}}, Annotations: toolserver.Destroys}, setFileSlice},
		{&toolserver.Builtin{Name: "edit_file", About: "Replace an exact piece of a text file by another. It must be there once, or replace_all be set.", Params: []toolserver.Parameter{path,
			{Name: "old_string", Kind: "string", About: "the text to replace, exactly as it is in the file", Required: true},
			{Name: "new_string", Kind: "string", About: "the text to put in its place", Required: true},
			{Name: "replace_all", Kind: "boolean", About: "replace every occurrence", Required: false}}, Annotations: toolserver.Destroys}, editFile},
	}
}
