// Package gitdiff is the tool get_git_diff: it shows what changed in a repository, byte for
// byte like git diff. Git runs in a cage, with a private git directory and our own
// configuration. So nothing in the repository can make it run a program, write, or read a
// file that must not be shown. The file server offers the tool.
package gitdiff

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/process"
	"toolpipe/mcp/toolserver"
	"toolpipe/stream/text/readable"
)

// Tool is the definition of the tool.
func Tool() *toolserver.Builtin {
	return toolserver.Define("get_git_diff", "Show what changed, as git diff does: the working tree against base_rev, or base_rev against head_rev. Without a revision it also names the untracked files.", toolserver.ReadsOnly, toolserver.Effects{Reads: true, Path: "path", Private: true},
		toolserver.Parameter{Name: "path", Kind: "string", About: "file or directory to show; all when absent"},
		toolserver.Parameter{Name: "base_rev", Kind: "string", About: "commit to start from; HEAD when absent"},
		toolserver.Parameter{Name: "head_rev", Kind: "string", About: "commit to end with; the working tree when absent"},
	)
}

// A Program configures how git is started.
type Program struct {
	Environ   []string // toolpipe's environment; git gets the part that ChildEnv passes on
	Processes *process.Processes
}

const (
	gitTimeout  = 30 * time.Second
	maxAttempts = 3
	maxList     = 256 << 20 // bytes of a list that git prints
	maxCompared = 32 << 20  // bytes of a file; a larger one is left out, or is binary for git
	maxNames    = 1000      // changed files that are shown; their names together are limited like a text
	maxLeft     = 20        // omitted files that are named
)

// Diff answers a call of the tool.
func Diff(ctx context.Context, access *confine.Access, program Program, args toolserver.Arguments) ([]byte, error) {
	base, head := args.Text("base_rev"), args.Text("head_rev")
	if err := cmp.Or(checkRevision(base), checkRevision(head)); err != nil {
		return nil, err
	}
	path, err := diffPath(access, args)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, gitTimeout, fmt.Errorf("git diff did not end within %v", gitTimeout))
	defer cancel()
	r, err := openRepository(ctx, access, program, path)
	if err != nil {
		return nil, err
	}
	defer r.remove()
	if err := r.allowSubmodules(ctx); err != nil {
		return nil, err
	}
	if base == "" && head == "" {
		return r.now(ctx)
	}
	revisions := []string{cmp.Or(base, "HEAD") + "^{commit}"}
	if head != "" {
		revisions = append(revisions, head+"^{commit}")
	}
	return r.diff(ctx, revisions)
}

// now shows the working tree against HEAD, and names the untracked files. If HEAD names no
// commit, as before the first one, all files in the index are new.
func (r *repository) now(ctx context.Context) ([]byte, error) {
	text, err := r.diff(ctx, []string{"HEAD^{commit}"})
	note := ""
	if errors.Is(err, errNoCommit) {
		note = "[toolpipe] HEAD names no commit: all files in the index are new\n"
		empty, hashErr := r.run(ctx, nil, maxList, "hash-object", "-t", "tree", "--stdin")
		if hashErr != nil {
			return nil, err
		}
		text, err = r.diff(ctx, []string{strings.TrimSpace(string(empty))})
	}
	if err != nil {
		return nil, err
	}
	return append(text, note+r.untracked(ctx)...), nil
}

// checkRevision refuses a text that git would take for an option, a range, or a file's
// content.
func checkRevision(revision string) error {
	switch {
	case len(revision) > 250:
		return fmt.Errorf("a revision has at most 250 bytes, not %d", len(revision))
	case strings.HasPrefix(revision, "-"), strings.ContainsFunc(revision, func(r rune) bool { return r <= ' ' || r == 0x7F }):
		return fmt.Errorf("revision %q begins with -, or has a space or a control character", revision)
	case strings.Contains(revision, ".."), strings.ContainsRune(revision, ':'):
		return fmt.Errorf("revision %q must name one commit; base_rev and head_rev are the two ends", revision)
	}
	return nil
}

// diffPath is the argument path as a path from the root. The file need not exist now: it may
// exist in a commit.
func diffPath(access *confine.Access, args toolserver.Arguments) (string, error) {
	if access.Only != "" {
		return "", errors.New("git diffs are not offered for a single file")
	}
	asked := args.TextOr("path", ".")
	p, err := access.Find(asked)
	if absent, ok := errors.AsType[*confine.NotFoundError](err); ok && filepath.IsLocal(absent.Rel) {
		return absent.Rel, access.Bounds.Check(asked, access.Absolute(absent.Rel))
	}
	if err != nil {
		return "", err
	}
	defer p.Close()
	return p.Rel, nil
}

// diff shows the difference between two commits, or between one and the working tree. Git
// first lists the changed files. Only those that may be shown are named when git makes the
// text, and only they may be read. The list is made again by content if it is too long, as in
// a copied tree, or has files that are not shown, so that no file without a difference is
// reported as different.
func (r *repository) diff(ctx context.Context, revisions []string) ([]byte, error) {
	isTree := len(revisions) == 1
	names, err := r.list(ctx, revisions, false)
	isHidden := func(name string) bool { return !r.left[name] && r.hides(name) } // and no submodule
	if err == nil && isTree && (len(names) > maxNames || slices.ContainsFunc(names, isHidden)) {
		names, err = r.list(ctx, revisions, true)
	}
	for attempt := 1; err == nil; attempt++ {
		shown, read, cut := r.shown(names, isTree)
		if len(shown) == 0 {
			return r.report(nil, cut), nil
		}
		text, err := r.run(ctx, read, toolserver.MaxText, slices.Concat([]string{"diff", "--src-prefix=a/", "--dst-prefix=b/"}, flags, []string{"--find-renames", "--end-of-options"}, revisions, []string{"--"}, shown)...)
		if err == nil {
			return r.report(text[:min(len(text), toolserver.MaxText)], cut || len(text) > toolserver.MaxText), nil
		}
		if attempt == maxAttempts || ctx.Err() != nil { // a file may have been replaced before git read it
			return nil, err
		}
	}
	return nil, err
}

// flags are the options of all commands. Git compares the commit of a submodule, but not its
// files, because it would start another git there.
var flags = []string{"--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--ignore-submodules=dirty"}

// report is the answer: the diff, and notes on what is not in it.
func (r *repository) report(text []byte, cut bool) []byte {
	switch {
	case cut:
		if text = readable.WholeRunes(text); len(text) > 0 && text[len(text)-1] != '\n' {
			text = append(text, '\n')
		}
		text = append(text, "[toolpipe] the diff goes on and is cut here; a path shows less of it\n"...)
	case len(text) == 0 && (r.unshown || len(r.notes) > 0):
		text = []byte("no differences in what is shown\n")
	case len(text) == 0:
		text = []byte("no differences\n")
	}
	for _, note := range r.notes[:min(maxLeft, len(r.notes))] {
		text = append(text, note...)
	}
	if more := len(r.notes) - maxLeft; more > 0 {
		text = fmt.Appendf(text, "[toolpipe] %d more files are left out\n", more)
	}
	return text
}
