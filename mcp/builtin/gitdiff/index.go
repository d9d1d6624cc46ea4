package gitdiff

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"toolpipe/mcp/builtin/confine"
)

const (
	untrackedTimeout = 5 * time.Second
	maxUntracked     = 100 // untracked files that are named
)

// allowSubmodules lets git read which commit is checked out in each submodule: its file .git, or
// its directory .git. Git opens no file of a submodule itself. A submodule with a git directory
// outside the root is left out.
func (r *repository) allowSubmodules(ctx context.Context) error {
	list, err := r.run(ctx, nil, maxList, "ls-files", "-z", "--stage")
	for entry := range strings.SplitSeq(string(list), "\x00") {
		about, name, _ := strings.Cut(entry, "\t")
		if !strings.HasPrefix(about, "160000 ") || !localName(name) || r.hides(name) {
			continue
		}
		if strings.HasPrefix(r.path, name+"/") {
			return fmt.Errorf("%q is a submodule: the diff of this repository compares its commits, not its files", name)
		}
		if err := r.allowSubmodule(ctx, name); err != nil {
			return err
		}
	}
	return err
}

// allowSubmodule returns an error if git could wait for a part of the submodule.
func (r *repository) allowSubmodule(ctx context.Context, name string) error {
	at := path.Join(name, ".git")
	info, err := r.access.Root.Lstat(at)
	switch {
	case err != nil: // it is not checked out
		return nil
	case info.IsDir():
		if err := r.check(ctx, at, neededHead, true); err != nil {
			r.leave(name, err)
		}
		return context.Cause(ctx)
	}
	dir, err := r.openBelow(name)
	if err != nil {
		return refused(at, err)
	}
	defer dir.Close()
	f, _, err := confine.OpenRegular(dir, ".git")
	if err != nil {
		return refused(at, err)
	}
	r.may.Read = append(r.may.Read, r.hold(f))
	target, err := r.pointer(dir, name, ".git", "gitdir: ")
	if err != nil {
		r.leave(name, fmt.Errorf("its git directory cannot be read: %w", err))
		return nil
	}
	return r.check(ctx, target, neededHead, true)
}

// neededHead reports whether the commit that is checked out depends on a part of a git directory.
func neededHead(rel string) bool { return needed(rel) && !strings.HasPrefix(rel, "objects") }

// untracked names the files that are neither in the index nor ignored. Git reads the directories
// of the working tree and the files .gitignore.
func (r *repository) untracked(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, untrackedTimeout)
	defer cancel()
	tree, err := r.access.Root.Open(".")
	if err != nil {
		return ""
	}
	list, err := r.run(ctx, []string{r.hold(tree)}, maxList, "ls-files", "-z", "--others", "--exclude-standard", "--", r.path)
	if err != nil {
		return "[toolpipe] the untracked files could not be listed\n"
	}
	names, count := "", 0
	for name := range strings.SplitSeq(string(list), "\x00") {
		if !fs.ValidPath(strings.TrimSuffix(name, "/")) || r.hides(strings.TrimSuffix(name, "/")) {
			continue
		}
		if count++; count <= maxUntracked {
			names += "  " + confine.ShownName(name) + "\n"
		}
	}
	switch {
	case count == 0:
		return ""
	case count == 1:
		return "[toolpipe] untracked: 1 file\n" + names
	case count > maxUntracked:
		names += fmt.Sprintf("  and %d more\n", count-maxUntracked)
	}
	return fmt.Sprintf("[toolpipe] untracked: %d files\n%s", count, names)
}
