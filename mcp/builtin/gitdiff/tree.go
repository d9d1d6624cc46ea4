package gitdiff

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
)

// list makes git list the names of files that differ. Unless isExact, git compares only the
// state of the files with the index. It then reads no file of the working tree, so it never
// waits for the other end of a FIFO.
func (r *repository) list(ctx context.Context, revisions []string, isExact bool) (names []string, err error) {
	command, read := []string{"diff-tree", "-r"}, []string(nil)
	if len(revisions) == 1 {
		command[0] = "diff-index"
	}
	if isExact {
		tree, err := r.access.Root.Open(".")
		if err != nil {
			return nil, confine.Reason(err)
		}
		command, read = []string{"diff"}, []string{r.hold(tree)}
	}
	list, err := r.run(ctx, read, maxList, slices.Concat(command, flags, []string{"-z", "--name-status", "--end-of-options"}, revisions, []string{"--", r.path})...)
	if len(list) > maxList {
		err = errors.New("git lists more than 256 MiB of files")
	}
	words := strings.Split(string(list), "\x00")
	for i := 1; i < len(words) && err == nil; i += 2 {
		switch status, name := words[i-1], words[i]; {
		case localName(name):
			names = append(names, name)
		case status == "A" && len(revisions) == 1: // it is in the index, and in no commit
			r.leave(name, errors.New("its name leads out of the root"))
		default:
			err = fmt.Errorf("a commit has a file with the name %q, which leads out of the root: no diff is made", name)
		}
	}
	return slices.Compact(names), err // an unmerged file is listed twice
}

// shown are the changed files that the diff shows, and what git may read for them. cut means
// that there are more than it can show.
func (r *repository) shown(names []string, isTree bool) (shown, read []string, cut bool) {
	var hidden []string
	size := 0
	for _, name := range names {
		if !r.hides(name) {
			if size += len(name); size > toolserver.MaxText || len(shown) == maxNames {
				cut = true
				break
			}
			file, err := "", error(nil)
			if isTree {
				file, err = r.open(name)
			}
			if err == nil {
				shown, read = append(shown, name), append(read, file)
				continue
			}
			r.leave(name, err)
		}
		hidden, r.unshown = append(hidden, name), true
	}
	// For git the name of a file also means everything below it.
	shown = slices.DeleteFunc(shown, func(name string) bool {
		return slices.ContainsFunc(hidden, func(h string) bool { return strings.HasPrefix(h, name+"/") })
	})
	return shown, append(read, r.attributes(shown)...), cut
}

// leave leaves a file out of the diff, with a note about the reason.
func (r *repository) leave(name string, why error) {
	if !r.left[name] {
		r.left[name] = true
		r.notes = append(r.notes, fmt.Sprintf("[toolpipe] %q is left out: %v\n", name, why))
	}
}

// hides reports whether the file of that name must not be shown.
func (r *repository) hides(name string) bool {
	if r.left[name] || r.access.Secret(".", name) != "" || r.access.Withholds(".", name) {
		return true
	}
	info, err := r.access.Root.Lstat(name)
	return err == nil && r.access.Refuses(info)
}

// open opens a file for git, and returns its path for the cage. The path is "" if git reads
// no file: there is none, it is a link or a directory, or its path has a link. The error is
// the reason why the file cannot be compared.
func (r *repository) open(name string) (string, error) {
	info, err := r.access.Root.Lstat(name)
	switch {
	case err != nil, info.Mode()&(fs.ModeSymlink|fs.ModeDir) != 0:
		return "", nil
	case !info.Mode().IsRegular():
		return "", &confine.WrongKindError{Mode: info.Mode()}
	case info.Size() > maxCompared:
		return "", fmt.Errorf("it has %d bytes, at most %d are read", info.Size(), maxCompared)
	}
	l, err := r.access.Find(name)
	if err != nil {
		return "", err
	}
	defer l.Close()
	if l.Rel != name {
		return "", nil
	}
	f, _, err := l.Open()
	if err != nil {
		return "", err
	}
	return r.hold(f), nil
}

// attributes are the files .gitattributes that apply to names. If one cannot be read, git
// uses the index.
func (r *repository) attributes(names []string) (files []string) {
	seen := map[string]bool{}
	for _, name := range names {
		for at := path.Dir(name); !seen[at]; at = path.Dir(at) {
			seen[at] = true
			if file, err := r.open(path.Join(at, ".gitattributes")); err == nil {
				files = append(files, file)
			}
		}
	}
	return files
}
