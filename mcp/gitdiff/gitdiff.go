// Package gitdiff shows what changed in a repository, as git diff does. Git runs
// on a private git directory with a config of ours, so that nothing in the
// repository can make it run a program or read a file outside the root.
package gitdiff

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

const gitTimeout = 30 * time.Second

// Tool is the definition of the tool that Diff is.
var Tool = &toolserver.Builtin{Name: "get_git_diff", About: "Show what changed, as git diff does: the working tree against base_rev, or base_rev against head_rev.", Params: []toolserver.Parameter{
	{Name: "path", Kind: "string", About: "file or directory to show; all when absent"},
	{Name: "base_rev", Kind: "string", About: "commit to start from; HEAD when absent"},
	{Name: "head_rev", Kind: "string", About: "commit to end with; the working tree when absent"},
}, Annotations: toolserver.ReadsOnly}

// A Program is what git is started with.
type Program struct {
	Environ   []string // toolpipe's environment, of which git gets what ChildEnv passes
	Processes *process.Processes
}

func Diff(ctx context.Context, v *confine.Access, program Program, args toolserver.Arguments) (*wire.Result, error) {
	base, head := args.Text("base_rev"), args.Text("head_rev")
	for _, rev := range [...]string{base, head} {
		if err := checkRevision(rev); err != nil {
			return nil, err
		}
	}
	if base == "" {
		base = "HEAD"
	}
	path, err := diffPath(v, args)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, gitTimeout, fmt.Errorf("git diff did not end within %v", gitTimeout))
	defer cancel()
	repo, err := openRepository(ctx, v, program)
	if err != nil {
		return nil, err
	}
	defer repo.remove()
	tree, err := repo.snapshot(path)
	if err != nil {
		return nil, err
	}
	defer tree.close()
	if head == "" {
		err = tree.compare(ctx)
	} else {
		head += "^{commit}"
	}
	if err != nil {
		return nil, err
	}
	return tree.diff(ctx, base+"^{commit}", head)
}

// checkRevision refuses what git would take for an option, for a range, or
// for a file's content.
func checkRevision(rev string) error {
	switch {
	case len(rev) > 250:
		return fmt.Errorf("a revision of %d bytes is none", len(rev))
	case strings.HasPrefix(rev, "-"):
		return fmt.Errorf("revision %q begins with -", rev)
	case strings.ContainsFunc(rev, func(r rune) bool { return r <= ' ' || r == 0x7F }):
		return fmt.Errorf("%q is no revision", rev)
	case strings.Contains(rev, ".."), strings.ContainsRune(rev, ':'):
		return fmt.Errorf("revision %q must name one commit; base_rev and head_rev are the two ends", rev)
	}
	return nil
}

// diffPath is the path argument from the root, what it names being there or not.
func diffPath(v *confine.Access, args toolserver.Arguments) (string, error) {
	if v.Only != "" {
		return "", errNoGit
	}
	if !args.Has("path") {
		return ".", nil
	}
	p, err := v.Find(args.Text("path"))
	if err == nil {
		defer p.Close()
		return p.Rel, nil
	}
	if _, absent := errors.AsType[*confine.NotFoundError](err); !absent {
		return "", err
	}
	names, err := v.Split(args.Text("path")) // it may be there in a commit
	if err != nil {
		return "", err
	}
	path := filepath.Clean(strings.Join(names, "/"))
	if !filepath.IsLocal(path) {
		return "", v.OutsideError(args.Text("path"))
	}
	return filepath.ToSlash(path), v.Bounds.Check(args.Text("path"), v.Absolute(path))
}

// diff shows the difference between a commit and another, or the working tree
// when head is "". What differs is asked first, as git looks for attributes
// beside each file, wherever a name leads.
func (s *snapshot) diff(ctx context.Context, base, head string) (*wire.Result, error) {
	revisions := []string{"--end-of-options", base}
	list := []string{"diff-index"}
	if head != "" {
		revisions, list = append(revisions, head), []string{"diff-tree", "-r"}
	}
	if revisions = append(revisions, "--"); s.path != "." {
		revisions = append(revisions, s.path)
	}
	var names []string
	err := s.g.run(ctx, os.DevNull, func(r io.Reader) (err error) {
		names, err = readChanges(r)
		return err
	}, slices.Concat(list, []string{"-z", "--raw", "--no-renames", "--ignore-submodules=all"}, revisions)...)
	if err == nil {
		err = s.attributes(ctx, names)
	}
	if err != nil {
		return nil, err
	}
	var text []byte
	var cut bool
	err = s.g.run(ctx, os.DevNull, func(r io.Reader) (err error) {
		if text, cut, err = s.shown(r); cut {
			err = errCut
		}
		return err
	}, slices.Concat([]string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=all", "--src-prefix=a/", "--dst-prefix=b/"}, revisions)...)
	if err != nil && !cut {
		return nil, err
	}
	return toolserver.TextResult(s.report(text, cut)), nil
}

// report says of a diff what is not in it.
func (s *snapshot) report(text []byte, cut bool) []byte {
	switch {
	case cut, s.end != "":
		if text = toolserver.WholeRunes(text); len(text) > 0 && text[len(text)-1] != '\n' {
			text = append(text, '\n')
		}
		text = append(text, "[toolpipe] the diff goes on and is cut here; a path shows less of it\n"...)
	case len(text) == 0 && (s.passed || len(s.left) > 0):
		text = []byte("no differences in what is shown\n")
	case len(text) == 0:
		text = []byte("no differences\n")
	}
	for _, note := range s.left[:min(maxLeft, len(s.left))] {
		text = append(text, note...)
	}
	if more := len(s.left) - maxLeft; more > 0 {
		text = fmt.Appendf(text, "[toolpipe] %d more files are left out\n", more)
	}
	return text
}

// gitFailure says why git failed, in words of ours: git quotes lines that it
// cannot read, and a file of .git may be a second name of any other file.
func gitFailure(said string, args []string) error {
	if !strings.Contains(said, "bad revision") {
		return errors.New("git diff failed: an object, a reference or the index cannot be read; git fsck says more")
	}
	for _, arg := range args {
		rev, is := strings.CutSuffix(arg, "^{commit}")
		switch {
		case !is || !strings.Contains(said, "bad revision '"+arg+"'"):
		case rev == "HEAD":
			return errors.New("there is no commit yet: HEAD names none")
		default:
			return fmt.Errorf("a revision names no commit: %q", rev)
		}
	}
	return errors.New("a revision names no commit")
}

// errCut ends git when enough of a diff is there.
var errCut = errors.New("the diff is too long")

// readChanges reads the names in ":MODE MODE ID ID LETTER\x00NAME\x00" again
// and again.
func readChanges(r io.Reader) (names []string, err error) {
	in := bufio.NewReaderSize(r, toolserver.ReadChunk)
	for {
		head, err := in.ReadString(0)
		if err == io.EOF && head == "" {
			return names, nil
		}
		name, err2 := in.ReadString(0)
		if err = errors.Join(err, err2); err != nil || !strings.HasPrefix(head, ":") {
			return nil, errors.Join(errIndex, err)
		}
		if name = strings.TrimSuffix(name, "\x00"); !localName(name) {
			return nil, fmt.Errorf("a commit has a file whose name %q leads out of the root: no diff is made", name)
		}
		names = append(names, name)
	}
}

// shown reads a diff and leaves out the files that may not be read. Every
// line of content begins with a blank, a sign or a backslash, so that nothing
// in a file looks like the beginning of another.
func (s *snapshot) shown(r io.Reader) (text []byte, cut bool, err error) {
	in := bufio.NewReaderSize(r, toolserver.ReadChunk)
	shown, fresh := true, true // fresh: at the beginning of a line
	for {
		piece, err := in.ReadSlice('\n')
		if line := bytes.TrimSuffix(piece, []byte("\n")); fresh {
			if names, ok := bytes.CutPrefix(line, []byte("diff --git ")); ok {
				name := headerName(string(names))
				if s.end != "" && name >= s.end {
					return text, true, nil
				}
				shown = s.mayShow(name)
			} else if name, ok := bytes.CutPrefix(line, []byte("* Unmerged path ")); ok {
				shown = s.mayShow(string(name))
			}
		}
		fresh = bytes.HasSuffix(piece, []byte("\n"))
		s.passed = s.passed || !shown
		if shown {
			text = append(text, piece...)
		}
		switch {
		case len(text) > toolserver.MaxText:
			return text[:toolserver.MaxText], true, nil
		case err == io.EOF:
			return text, false, nil
		case err != nil && err != bufio.ErrBufferFull:
			return text, false, err
		}
	}
}

// headerName is the name in "a/NAME b/NAME"; "" when it is not to be known.
func headerName(names string) string {
	half := len(names) / 2
	if len(names)%2 == 0 || names[half] != ' ' {
		return ""
	}
	first := names[:half]
	if strings.HasPrefix(first, `"`) {
		first, _ = strconv.Unquote(first) // git quotes as C does
	}
	if name, ok := strings.CutPrefix(first, "a/"); ok {
		return name
	}
	return ""
}

// unquoteC undoes git's quoting of names, which is that of C.
func unquoteC(s string) string {
	u, _ := strconv.Unquote(s)
	return u
}

var errNoGit = errors.New("git diffs are not offered for a single file")
