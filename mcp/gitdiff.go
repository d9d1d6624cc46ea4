package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const gitTimeout = 30 * time.Second

// A gitProgram is what git is started with.
type gitProgram struct {
	environ   []string // toolpipe's environment, of which git gets what ChildEnv passes
	processes *Processes
}

func (v *view) getGitDiff(ctx context.Context, program gitProgram, args arguments) (*Result, error) {
	base, head := args.text("base_rev"), args.text("head_rev")
	for _, rev := range [...]string{base, head} {
		if err := checkRevision(rev); err != nil {
			return nil, err
		}
	}
	if base == "" {
		base = "HEAD"
	}
	path, err := v.diffPath(args)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, gitTimeout, fmt.Errorf("git diff did not end within %v", gitTimeout))
	defer cancel()
	repo, err := v.borrowRepository(ctx, program, base, head)
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
func (v *view) diffPath(args arguments) (string, error) {
	if v.only != "" {
		return "", errNoGit
	}
	if !args.has("path") {
		return ".", nil
	}
	p, err := v.find(args.text("path"))
	if err == nil {
		defer p.close()
		return p.rel, nil
	}
	if _, absent := errors.AsType[*noFile](err); !absent {
		return "", err
	}
	names, err := v.split(args.text("path")) // it may be there in a commit
	if err != nil {
		return "", err
	}
	path := filepath.Clean(strings.Join(names, "/"))
	if !filepath.IsLocal(path) {
		return "", v.outside(args.text("path"))
	}
	return filepath.ToSlash(path), v.bounds.check(args.text("path"), v.absolute(path))
}

// diff shows the difference between a commit and another, or what there is now
// when head is "". What differs is asked first: git looks for attributes
// beside each file, wherever a name leads.
func (s *snapshot) diff(ctx context.Context, base, head string) (*Result, error) {
	revisions := []string{"--end-of-options", base}
	list := []string{"diff-index", "--cached"}
	if head != "" {
		revisions, list = append(revisions, head), []string{"diff-tree", "-r"}
	}
	if revisions = append(revisions, "--"); s.path != "." {
		revisions = append(revisions, s.path)
	}
	if err := s.prepare(ctx, slices.Concat(list, []string{"-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=all"}, revisions)); err != nil {
		return nil, err
	}
	var text []byte
	var cut bool
	err := s.b.run(ctx, func(r io.Reader) (err error) {
		if text, cut, err = s.shown(r); cut {
			err = errCut
		}
		return err
	}, slices.Concat([]string{"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=all", "--src-prefix=a/", "--dst-prefix=b/"}, revisions)...)
	switch {
	case cut, s.end != "" && ctx.Err() == nil: // git may miss what was not prepared
		if text = wholeRunes(text); len(text) > 0 && text[len(text)-1] != '\n' {
			text = append(text, '\n')
		}
		text = append(text, "[toolpipe] the diff goes on and is cut here; a path shows less of it\n"...)
	case err != nil:
		return nil, err
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
	return textResult(text), nil
}

// prepare has git find what it needs to show the changes that list lists: the
// contents that differ, and the attributes. Of many changes that is as much as
// is shown.
func (s *snapshot) prepare(ctx context.Context, list []string) error {
	names := slices.Clone(s.copied)
	least := 0
	err := s.b.run(ctx, func(r io.Reader) error {
		return readChanges(r, func(name string, ids [2][]byte) error {
			if least > maxText && !s.ends(name) {
				s.end = name
			}
			if _, copied := slices.BinarySearch(s.copied, name); !copied && s.ends(name) {
				return nil
			}
			if names = append(names, name); !s.hidden[name] && !s.b.v.protects(name) {
				least += leastShown(name)
			}
			return errors.Join(s.b.content(ctx, ids[0]), s.b.content(ctx, ids[1]))
		})
	}, list...)
	if err != nil {
		return err
	}
	return errors.Join(s.b.finish(), s.attributes(ctx, names))
}

// gitFailure says why git failed, in words of ours: git quotes lines that it
// cannot read, and a file of .git may be a second name of any other file.
func gitFailure(said string, args []string) error {
	if !strings.Contains(said, "bad revision") {
		for _, c := range [...][2]string{
			{"packed-refs", "packed-refs has a line that is no reference"},
			{"index", "the index cannot be read"},
			{"object", "an object is missing or damaged"},
			{"unable to read", "an object is missing or damaged"},
			{"HEAD", "HEAD cannot be read"},
			{"refs/", "a reference cannot be read"},
		} {
			if strings.Contains(said, c[0]) {
				return fmt.Errorf("git diff failed: %s; git fsck says more", c[1])
			}
		}
		return errors.New("git diff failed; git fsck says more")
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

// readChanges reads ":MODE MODE ID ID LETTER\x00NAME\x00" again and again.
func readChanges(r io.Reader, each func(name string, ids [2][]byte) error) error {
	in := bufio.NewReaderSize(r, readChunk)
	for {
		head, err := in.ReadString(0)
		if err == io.EOF && head == "" {
			return nil
		}
		name, err2 := in.ReadString(0)
		words := strings.Fields(head)
		if errors.Join(err, err2) != nil || len(words) != 5 {
			return errors.Join(errIndex, err, err2)
		}
		if name = name[:len(name)-1]; !localName(name) {
			return fmt.Errorf("a commit has a file whose name %q leads out of the root: no diff is made", name)
		}
		before, err := hex.DecodeString(words[2])
		after, err2 := hex.DecodeString(words[3])
		if errors.Join(err, err2) != nil {
			return errIndex
		}
		if err := each(name, [2][]byte{before, after}); err != nil {
			return err
		}
	}
}

// shown reads a diff and leaves out the files that may not be read. Every
// line of content begins with a blank, a sign or a backslash, so that nothing
// in a file looks like the beginning of another.
func (s *snapshot) shown(r io.Reader) (text []byte, cut bool, err error) {
	in := bufio.NewReaderSize(r, readChunk)
	shown, fresh := true, true // fresh: at the beginning of a line
	for {
		piece, err := in.ReadSlice('\n')
		if line := bytes.TrimSuffix(piece, []byte("\n")); fresh {
			if names, ok := bytes.CutPrefix(line, []byte("diff --git ")); ok {
				name := headerName(string(names))
				if s.ends(name) {
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
		case len(text) > maxText:
			return text[:maxText], true, nil
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
		first = unquoteC(first)
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

// ends says whether the file of that name is among those that are not prepared.
func (s *snapshot) ends(name string) bool { return s.end != "" && name >= s.end }

// mayShow says whether the file of that name may be read.
func (s *snapshot) mayShow(name string) bool {
	if !localName(name) || s.hidden[name] || s.b.v.protects(name) {
		return false
	}
	info, err := s.b.v.root.Lstat(filepath.FromSlash(name))
	return err != nil || !s.b.v.own.has(info)
}

// protects says whether a path from the root is one that is not read.
func (v *view) protects(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if secret(part) != "" {
			return true
		}
	}
	return v.conceals(".", name)
}
