package confine

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"

	"toolpipe/mcp/builtin/protected"
)

// git treats any directory with HEAD, objects and refs, or with HEAD and commondir, as a
// repository, whatever its name (gitrepository-layout(5)). In and below such a directory,
// every git command runs programs that its configuration names (safe.bareRepository in
// git-config(1)).

var errGitDirectory = errors.New("protected: it belongs to git, as HEAD, objects and refs in it say; file tools neither read nor write it")

// isGitDirectory reports whether an open directory is a git directory, or would be one if the
// name was added.
func isGitDirectory(dir *os.Root, added string) bool {
	return looksLikeRepository(func(name string) bool {
		_, err := dir.Lstat(name)
		return name == added || err == nil
	})
}

func looksLikeRepository(has func(name string) bool) bool {
	return has("HEAD") && (has("commondir") || has("objects") && has("refs"))
}

// enclosingGitDirectory returns the git directory that an absolute path is or is in; "" for
// none. A worktree, which has its own .git, may be in one.
func enclosingGitDirectory(path string) string {
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(path, name))
		return err == nil
	}
	for ; !has(".git"); path = filepath.Dir(path) {
		if looksLikeRepository(has) {
			return path
		}
		if path == filepath.Dir(path) {
			return ""
		}
	}
	return ""
}

// gitDirectoryMadeBy returns the directory that a write at a path from the root would turn
// into a git directory; "" for none. Otherwise the parts could be written one after the
// other, together with a configuration.
func (a *Access) gitDirectoryMadeBy(rel string) string {
	names := strings.Split(rel, "/")
	for i, name := range names {
		added := protected.Fold(name)
		switch added {
		case "head":
			added = "HEAD"
		case "objects", "refs", "commondir":
		default:
			continue
		}
		at := strings.Join(append([]string{"."}, names[:i]...), "/")
		if dir, err := a.Root.OpenRoot(at); err == nil {
			makes := isGitDirectory(dir, added)
			dir.Close()
			if makes {
				return path.Clean(at)
			}
		}
	}
	return ""
}
