package confine

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/stream/text/glob"
)

// maxIgnoreFile is how many bytes of an ignore file count.
const maxIgnoreFile = 256 << 10

// An ignoring is the ignore files that apply to a directory, the nearest first. As in ripgrep,
// a pattern in .ignore wins over one in a file of git.
type ignoring struct {
	own *ignoreFile // .ignore
	git *ignoreFile // .gitignore and .git/info/exclude
}

// An ignoreFile is the patterns of a file as described in gitignore(5).
type ignoreFile struct {
	above    *ignoreFile // applies where no pattern of this file matches
	base     string      // the absolute path of its directory, with a slash at the end
	patterns []ignorePattern
	paths    bool // some patterns are for paths, not only for names
}

type ignorePattern struct {
	glob.Pattern
	includes bool // it begins with !
}

// ignoringIn adds the ignore files of a directory with an absolute path to those above it. has
// reports whether the directory has an entry of a name. Patterns of git do not apply in another
// repository.
func (a *Access) ignoringIn(above ignoring, dir *os.Root, path string, has func(name string) bool) (r ignoring) {
	read := func(name string, above *ignoreFile) *ignoreFile {
		if a.refusedAbove(filepath.Join(path, name)) != "" {
			return above
		}
		return readIgnoreFile(dir, path, name, above)
	}
	r = above
	if has(".git") {
		r.git = read(".git/info/exclude", nil)
	}
	if has(".gitignore") {
		r.git = read(".gitignore", r.git)
	}
	if has(".ignore") {
		r.own = read(".ignore", r.own)
	}
	return r
}

// hasEntry returns a function that looks for an entry of a directory.
func hasEntry(dir *os.Root) func(name string) bool {
	return func(name string) bool {
		_, err := dir.Lstat(name)
		return err == nil
	}
}

// readIgnoreFile reads an ignore file. It returns above if there is none.
func readIgnoreFile(dir *os.Root, path, name string, above *ignoreFile) *ignoreFile {
	f, _, err := OpenRegular(dir, name)
	if err != nil {
		return above
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	file := &ignoreFile{above: above, base: strings.TrimSuffix(path, "/") + "/"}
	for line := range strings.Lines(strings.TrimPrefix(string(text), "\ufeff")) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		pattern, includes := strings.CutPrefix(trimIgnored(line), "!")
		if pattern == "" {
			continue
		}
		p := ignorePattern{glob.New(pattern), includes}
		file.patterns = append(file.patterns, p)
		file.paths = file.paths || !p.NameOnly
	}
	return file
}

// trimIgnored removes the line end, and the spaces before it that no \ precedes.
func trimIgnored(line string) string {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	trimmed := strings.TrimRight(line, " ")
	if escapes := len(trimmed) - len(strings.TrimRight(trimmed, `\`)); escapes%2 == 1 {
		return line[:min(len(line), len(trimmed)+1)]
	}
	return trimmed
}

// excludes reports whether an entry of a directory with an absolute path is ignored.
func (r *ignoring) excludes(dir, name string, isDir bool) bool {
	full := ""
	for _, f := range [...]*ignoreFile{r.own, r.git} {
		for ; f != nil; f = f.above {
			rel := ""
			if f.paths {
				if full == "" {
					full = strings.TrimSuffix(dir, "/") + "/" + name
				}
				rel = full[len(f.base):]
			}
			for i := len(f.patterns) - 1; i >= 0; i-- { // the last one wins
				if p := &f.patterns[i]; p.Matches(rel, name, isDir) {
					return !p.includes
				}
			}
		}
	}
	return false
}

// ignoringAbove returns the ignore files from the root of the area down to a location. If the root
// is in a repository, it begins at the top of the repository.
func (a *Access) ignoringAbove(l *Location) (r ignoring) {
	if a.Ignored || a.Only != "" {
		return r
	}
	for _, path := range repositoryAbove(a.Real) {
		if dir, err := os.OpenRoot(path); err == nil {
			r = a.ignoringIn(r, dir, path, hasEntry(dir))
			dir.Close()
		}
	}
	for _, step := range l.above {
		if step.rel != l.Rel {
			r = a.ignoringIn(r, step.dir, a.Absolute(step.rel), hasEntry(step.dir))
		}
	}
	return r
}

// repositoryAbove returns the directories from the working tree of a repository down to a
// directory in it, without the directory itself; nil if that is in no repository or is the
// tree itself.
func repositoryAbove(dir string) (above []string) {
	for {
		if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return nil
		}
		above = append([]string{parent}, above...)
		dir = parent
	}
	return above
}

// readIgnoring adds the ignore files of a directory. names are its first entries: if it may
// have more, the system is asked for each file.
func (a *Access) readIgnoring(w *Walked, path string, names []fs.DirEntry) {
	if a.Ignored || a.Only != "" {
		return
	}
	has := func(name string) bool {
		return slices.ContainsFunc(names, func(e fs.DirEntry) bool { return e.Name() == name })
	}
	if len(names) == readBatch {
		has = hasEntry(w.Dir)
	}
	w.ignoring = a.ignoringIn(w.ignoring, w.Dir, path, has)
}

// ignores reports whether an entry of a directory with an absolute path is ignored, and counts
// it for LeftOutText.
func (a *Access) ignores(w *Walked, path string, e fs.DirEntry) bool {
	switch {
	case !w.ignoring.excludes(path, e.Name(), e.IsDir()):
		return false
	case e.IsDir():
		a.ignoredDirs++
	default:
		a.ignoredFiles++
	}
	return true
}
