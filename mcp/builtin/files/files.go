// Package files is the server of the built-in file tools, which read, list, search and write
// the files below one directory. Package confine keeps them inside it.
//
// A tool is a function of its arguments and of what the call may access. It answers text for
// a model: the complete text if it is short, otherwise a part with a line "[toolpipe] …" that
// says what is missing and how to get it.
package files

import (
	"context"
	"fmt"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/gitdiff"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

// A Spec configures a server of file tools.
type Spec struct {
	Name      string                     // of the server
	Warn      func(code, message string) // warns the user at once; may be nil
	Environ   []string                   // toolpipe's environment; git gets a part of it
	Processes *process.Processes
	Version   string
}

// New makes a server of file tools for an area.
func New(area *confine.Area, spec Spec) *toolserver.Server {
	if area.ReadOnly != "" && spec.Warn != nil {
		spec.Warn("files_read_only", fmt.Sprintf("nothing is written below %q because of %s", area.Path, area.ReadOnly))
	}
	s := toolserver.New(spec.Name, spec.Version)
	for _, t := range tools(gitdiff.Program{Environ: spec.Environ, Processes: spec.Processes}) {
		s.AddBuiltin(t.Builtin, func(ctx context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
			a := area.Access(confine.BoundsOf(ctx))
			a.Ignored = args.Flag("ignored")
			answer, err := t.run(ctx, a, args)
			if err != nil {
				return nil, a.Near(ctx, err)
			}
			return toolserver.TextResult(append(answer, a.LeftOutText()...)), nil
		})
	}
	return s
}

type tool struct {
	*toolserver.Builtin
	run func(context.Context, *confine.Access, toolserver.Arguments) (answer []byte, err error)
}

// at makes the function of a tool that reads the file or directory of its argument path, by
// default the root.
func at(look func(context.Context, *confine.Location, toolserver.Arguments) ([]byte, error)) func(context.Context, *confine.Access, toolserver.Arguments) ([]byte, error) {
	return func(ctx context.Context, a *confine.Access, args toolserver.Arguments) ([]byte, error) {
		l, err := a.Find(args.TextOr("path", "."))
		if err != nil {
			return nil, err
		}
		defer l.Close()
		return look(ctx, l, args)
	}
}

func tools(git gitdiff.Program) []tool {
	path := toolserver.Parameter{Name: "path", Kind: "string", About: "file, relative to the root", Required: true}
	dir := toolserver.Parameter{Name: "path", Kind: "string", About: "directory, relative to the root; the root when absent"}
	ignored := toolserver.Parameter{Name: "ignored", Kind: "boolean", About: "also what .gitignore or .ignore excludes"}
	reads := toolserver.Effects{Reads: true, Path: "path", Private: true}
	edits := toolserver.Effects{Writes: true, Path: "path", Shows: true, Private: true}
	return []tool{
		{toolserver.Define("read_file", "Read all of a text file, or a range of its bytes.", toolserver.ReadsOnly, toolserver.Effects{Reads: true, Path: "path", Opens: true, Private: true}, path,
			toolserver.Parameter{Name: "offset", Kind: "integer", About: "first byte to read, from 0"},
			toolserver.Parameter{Name: "length", Kind: "integer", About: "number of bytes to read; to the end when absent"},
		), at(readFile)},
		{toolserver.Define("get_file_slice", "Read a range of a text file's lines.", toolserver.ReadsOnly, reads, path,
			toolserver.Parameter{Name: "start_line", Kind: "integer", About: "first line, from 1; 1 when absent"},
			toolserver.Parameter{Name: "end_line", Kind: "integer", About: "last line, included; the file's last when absent"},
		), at(getFileSlice)},
		{toolserver.Define("list_directory", "List a directory: kind, size and name of each entry.", toolserver.ReadsOnly, reads, dir,
			toolserver.Parameter{Name: "from", Kind: "string", About: "first name to list, to go on in a large directory"}, ignored,
		), at(listDirectory)},
		{toolserver.Define("get_tree", "Show a directory and its subdirectories as an indented tree.", toolserver.ReadsOnly, reads, dir,
			toolserver.Parameter{Name: "max_depth", Kind: "integer", About: "levels to show, from 1; 3 when absent"}, ignored,
		), at(getTree)},
		{toolserver.Define("search_files", "Find files and directories by name. A pattern without a slash matches the name at any depth; one with a slash matches the complete path.", toolserver.ReadsOnly, reads,
			toolserver.Parameter{Name: "pattern", Kind: "string", About: "glob: * ? [a-z] [!a-z] within a name, ** over directories, {a,b} for either; such as *.go or src/**/*_test.go", Required: true}, dir, ignored,
		), at(searchFiles)},
		{toolserver.Define("grep_files", "Find lines by a regular expression; returns path:line:text. Binary files are left out.", toolserver.ReadsOnly, reads,
			toolserver.Parameter{Name: "pattern", Kind: "string", About: "RE2 regular expression, for one line at a time", Required: true},
			toolserver.Parameter{Name: "path", Kind: "string", About: "directory or file to search; the root when absent"},
			toolserver.Parameter{Name: "include", Kind: "string", About: "glob of the files to search, such as *.go"},
			toolserver.Parameter{Name: "ignore_case", Kind: "boolean", About: "upper and lower case match each other"},
			toolserver.Parameter{Name: "context", Kind: "integer", About: "lines to show before and after each match; 0 when absent"}, ignored,
		), at(grepFiles)},
		{toolserver.Define("get_file_summary", "Describe a file without reading all of it: kind, size, number of lines, first lines.", toolserver.ReadsOnly, reads, path), at(getFileSummary)},
		{gitdiff.Tool(), func(ctx context.Context, a *confine.Access, args toolserver.Arguments) ([]byte, error) {
			return gitdiff.Diff(ctx, a, git, args)
		}},
		{toolserver.Define("write_file", "Create a file, or replace all of its content. Missing directories are created.", toolserver.Destroys, toolserver.Effects{Writes: true, Path: "path"}, path,
			toolserver.Parameter{Name: "content", Kind: "string", About: "the complete new content", Required: true, InDiff: true},
		), writeFile},
		{toolserver.Define("set_file_slice", "Replace a range of a text file's lines. end_line one less than start_line inserts before start_line; empty new_content deletes.", toolserver.Destroys, edits, path,
			toolserver.Parameter{Name: "start_line", Kind: "integer", About: "first line to replace, from 1", Required: true, InDiff: true},
			toolserver.Parameter{Name: "end_line", Kind: "integer", About: "last line to replace, included", Required: true, InDiff: true},
			toolserver.Parameter{Name: "new_content", Kind: "string", About: "lines that replace them", Required: true, InDiff: true},
		), setFileSlice},
		{toolserver.Define("edit_file", "Replace an exact piece of text in a file. It must occur exactly once, unless replace_all is set.", toolserver.Destroys, edits, path,
			toolserver.Parameter{Name: "old_string", Kind: "string", About: "the text to replace, exactly as it is in the file", Required: true, InDiff: true},
			toolserver.Parameter{Name: "new_string", Kind: "string", About: "the text that replaces it", Required: true, InDiff: true},
			toolserver.Parameter{Name: "replace_all", Kind: "boolean", About: "replace every occurrence", InDiff: true},
		), editFile},
	}
}
