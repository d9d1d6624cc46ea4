package confine

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// git takes any directory for a repository that holds HEAD, objects and refs,
// or HEAD and commondir: it need not be called .git. In such a directory, and
// in those below it, git runs what its configuration says, whatever command a
// person gives (gitrepository-layout(5); safe.bareRepository in git-config(1)).

var errGitDirectory = errors.New("protected: it belongs to git, as HEAD, objects and refs in it say; file tools neither read nor write it")

// isGitDirectory says whether a directory is one, when it holds added too.
func isGitDirectory(dir *os.Root, added string) bool {
	return gitHolds(func(name string) bool {
		_, err := dir.Lstat(name)
		return name == added || err == nil
	})
}

func gitHolds(has func(name string) bool) bool {
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

// aroundGit is the git directory that an absolute path is or is in; "" for
// none. A worktree, which has a .git of its own, may be in one.
func aroundGit(path string) string {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(path, name))
		return err == nil
	}
	for ; !has(".git"); path = filepath.Dir(path) {
		if gitHolds(has) {
			return path
		}
		if path == filepath.Dir(path) {
			return ""
		}
	}
	return ""
}

// MakesGit is the directory that would be a git directory if something were
// written at a path from the root; "" for none. Whoever wrote its parts one
// after the other would have a repository whose configuration is theirs.
func (v *View) MakesGit(rel string) string {
	names := strings.Split(rel, "/")
	for i, name := range names {
		added := foldName(name)
		switch added {
		case "head":
			added = "HEAD"
		case "objects", "refs", "commondir":
		default:
			continue
		}
		at := strings.Join(append([]string{"."}, names[:i]...), "/")
		if dir, err := v.Root.OpenRoot(filepath.FromSlash(at)); err == nil {
			makes := isGitDirectory(dir, added)
			dir.Close()
			if makes {
				return RelPath(".", strings.TrimPrefix(at, "./"))
			}
		}
	}
	return ""
}
