package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// FilesSpec says which files a built-in file server offers.
type FilesSpec struct {
	Name      string                     // the server's
	Root      string                     // a directory, or one single file
	Anyway    bool                       // the root may be / or a home directory
	Home      string                     // the user's home directory; "" when unknown
	Protected []string                   // absolute paths of toolpipe's own files, existing or not
	Warn      func(code, message string) // tells the user at once; may be nil
	Environ   []string                   // toolpipe's environment, of which git gets what ChildEnv passes
	Processes *Processes
	Version   string
}

// Files makes a server whose tools see the files below Root and no others
// (issue 6). The root is held open as long as the server is in use. An error
// is about the root, which the user named.
func Files(spec FilesSpec) (*Server, error) {
	t, err := openTree(rootSpec{spec.Root, spec.Anyway, spec.Home, spec.Protected})
	if err != nil {
		return nil, err
	}
	if t.sealed.why != "" && spec.Warn != nil {
		spec.Warn("files_read_only", fmt.Sprintf("nothing is written below %q because of %q in its path: %s", t.path, t.sealed.name, t.sealed.why))
	}
	s := NewServer(spec.Name, spec.Version)
	for _, b := range filesTools(gitProgram{spec.Environ, spec.Processes}) {
		s.Add(b.tool.tool(), func(ctx context.Context, raw json.RawMessage, _ func(Progress)) (*Result, error) {
			args, err := b.tool.read(raw)
			if err != nil {
				return nil, err
			}
			v := t.view(boundsOf(ctx))
			result, err := b.do(v, ctx, args)
			if err == nil && len(v.left) > 0 {
				answer := &result.Content[0] // two literals are put together without the quotes between
				answer.Text = append(answer.Text[:len(answer.Text)-1], quoted(v.leftText())[1:]...)
			}
			return result, err
		})
	}
	return s, nil
}

// A rootSpec says what a tree is of; its fields are those of FilesSpec.
type rootSpec struct {
	Root      string
	Anyway    bool
	Home      string
	Protected []string
}

func openTree(spec rootSpec) (*tree, error) {
	path, err := filepath.Abs(spec.Root)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", spec.Root, reason(err))
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", spec.Root, reason(err))
	}
	t := &tree{spec: spec, path: path, real: real}
	switch {
	case info.Mode().IsRegular():
		t.only = filepath.Base(real)
		t.path, t.real = filepath.Dir(path), filepath.Dir(real)
		if filepath.Base(path) != t.only {
			t.path = t.real
		}
	case !info.IsDir():
		return nil, fmt.Errorf("%q is a %s, not a directory or file", spec.Root, kindOf(info.Mode()))
	}
	if err := t.checkRoot(path, real); err != nil {
		return nil, err
	}
	t.sealed.name, t.sealed.why = sealed(filepath.ToSlash(t.real))
	if t.root, err = os.OpenRoot(t.real); err != nil {
		return nil, fmt.Errorf("%q: %w", spec.Root, reason(err))
	}
	if t.info, err = t.root.Stat("."); err == nil && pseudo(t.root) {
		err = errPseudo
	}
	if err != nil {
		t.root.Close()
		return nil, fmt.Errorf("%q: %w", spec.Root, reason(err))
	}
	return t, nil
}

// checkRoot refuses roots that offer more than anybody means to: named by
// path, which leads to real.
func (t *tree) checkRoot(path, real string) error {
	if kernels(real) {
		return fmt.Errorf("%q: %w", t.spec.Root, errPseudo)
	}
	for _, way := range [...]string{path, real} {
		names := strings.Split(filepath.ToSlash(way), "/")
		for i, name := range names {
			judge := secretDirectory
			if t.only != "" && i == len(names)-1 {
				judge = secret
			}
			if why := judge(name); why != "" {
				return fmt.Errorf("%q is protected because of %q: %s; file tools neither read nor write it", t.spec.Root, name, why)
			}
		}
	}
	switch dir := aroundGit(t.real); dir {
	case "":
	case t.real:
		return fmt.Errorf("%q is %w", t.spec.Root, errGitDirectory)
	default:
		return fmt.Errorf("%q is in %q, which is %w", t.spec.Root, dir, errGitDirectory)
	}
	if what := wide(t.real, t.spec.Home); what != "" && t.only == "" && !t.spec.Anyway {
		return fmt.Errorf("%q is %s; name a directory in it, or add --files-anyway", t.spec.Root, what)
	}
	return nil
}

// wide says what a directory is that holds a user's whole life.
func wide(dir, home string) string {
	if dir == filepath.Dir(dir) {
		return "the whole file system"
	}
	if home != "" {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
		if dir == filepath.Clean(home) {
			return "your home directory"
		}
		if strings.HasPrefix(filepath.Clean(home), dir+string(filepath.Separator)) {
			return "above your home directory"
		}
	}
	switch parent := filepath.Dir(dir); {
	case dir == "/root", parent == "/home", parent == "/Users":
		return "a home directory"
	case dir == "/home", dir == "/Users":
		return "above the home directories"
	}
	return ""
}

// filesTool is a tool with what it does.
type filesTool struct {
	tool *builtin
	do   func(*view, context.Context, arguments) (*Result, error)
}

var errNoGit = errors.New("git diffs are not offered for a single file")

// filesTools are the tools of DESIGN part 4.
func filesTools(git gitProgram) []filesTool {
	path := parameter{"path", "string", "file, relative to the root", true}
	dir := parameter{"path", "string", "directory, relative to the root; the root when absent", false}
	return []filesTool{
		{&builtin{"read_file", "Read a text file, whole or a range of its bytes.", []parameter{path,
			{"offset", "integer", "first byte to read, from 0", false},
			{"length", "integer", "number of bytes to read; to the end when absent", false}}, readsOnly}, (*view).readFile},
		{&builtin{"get_file_slice", "Read a range of a text file's lines.", []parameter{path,
			{"start_line", "integer", "first line, from 1; 1 when absent", false},
			{"end_line", "integer", "last line, included; the file's last when absent", false}}, readsOnly}, (*view).getFileSlice},
		{&builtin{"list_directory", "List a directory: kind, size and name of each entry.", []parameter{dir}, readsOnly}, (*view).listDirectory},
		{&builtin{"get_tree", "Show a directory and those in it as an indented tree.", []parameter{dir,
			{"max_depth", "integer", "levels to show, from 1; 3 when absent", false}}, readsOnly}, (*view).getTree},
		{&builtin{"search_files", "Find files and directories by name. A pattern without a slash is for the name at any depth, one with a slash for the whole path.", []parameter{
			{"pattern", "string", "glob: * ? [a-z] within a name, ** over directories, {a,b} for either; such as *.go or src/**/*_test.go", true}, dir}, readsOnly}, (*view).searchFiles},
		{&builtin{"grep_files", "Find lines by a regular expression; answers path:line:text. Binary files are left out.", []parameter{
			{"pattern", "string", "RE2 regular expression, for one line at a time", true},
			{"path", "string", "directory or file to search; the root when absent", false},
			{"include", "string", "glob of the files to search, such as *.go", false},
			{"ignore_case", "boolean", "upper and lower case are the same", false},
			{"context", "integer", "lines to show before and after each match; 0 when absent", false}}, readsOnly}, (*view).grepFiles},
		{&builtin{"get_file_summary", "Say what a file is: kind, size, lines, headings or top-level names.", []parameter{path}, readsOnly}, (*view).getFileSummary},
		{&builtin{"get_git_diff", "Show what changed, as git diff does: the working tree against base_rev, or base_rev against head_rev.", []parameter{
			{"path", "string", "file or directory to show; all when absent", false},
			{"base_rev", "string", "commit to start from; HEAD when absent", false},
			{"head_rev", "string", "commit to end with; the working tree when absent", false}}, readsOnly}, func(v *view, ctx context.Context, args arguments) (*Result, error) {
			return v.getGitDiff(ctx, git, args)
		}},
		{&builtin{"write_file", "Write a whole file, new or in the place of an old one. Missing directories are made.", []parameter{path,
			{"content", "string", "the whole new content", true}}, destroys}, (*view).writeFile},
		{&builtin{"set_file_slice", "Replace a range of a text file's lines. end_line one less than start_line inserts before start_line; empty new_content deletes.", []parameter{path,
			{"start_line", "integer", "first line to replace, from 1", true},
			{"end_line", "integer", "last line to replace, included", true},
			{"new_content", "string", "lines to put in their place", true}}, destroys}, (*view).setFileSlice},
		{&builtin{"edit_file", "Replace an exact piece of a text file by another. It must be there once, or replace_all be set.", []parameter{path,
			{"old_string", "string", "the text to replace, exactly as it is in the file", true},
			{"new_string", "string", "the text to put in its place", true},
			{"replace_all", "boolean", "replace every occurrence", false}}, destroys}, (*view).editFile},
	}
}
