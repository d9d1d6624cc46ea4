package confine

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Obeyed are the files of a repository that git runs or obeys, as git says. They need not exist.
type Obeyed struct {
	Dirs  []string // the git directory, and the one that all its worktrees share
	Files []string // the directory of hooks, configuration files, and files that settings name
	Trees []string // of the repository and of its submodules
}

// An AskGitFunc asks git about a git directory, or a file .git. tree is the working tree; "": git
// knows it.
type AskGitFunc func(dir, tree string) (Obeyed, error)

// gitObeys are the files of a git directory that git runs or obeys (gitrepository-layout(5)).
// commondir and gitdir name another git directory.
var gitObeys = []string{"config", "config.worktree", "hooks", "commondir", "gitdir"}

// addGit adds a git directory, or the one that a file or link .git names, and what git obeys
// there. If git cannot be asked, only the usual files are added.
func (w *Watch) addGit(dir, tree string) {
	if info, err := os.Lstat(dir); err == nil && !info.IsDir() && w.holds(dir) {
		w.files[dir] = noteOf(dir)
		if info.Mode().IsRegular() {
			w.top = append(w.top, dir)
		}
	}
	named := pointed(dir)
	o := Obeyed{Dirs: []string{named}}
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(named, name))
		return err == nil
	}
	if w.ask != nil && looksLikeRepository(has) {
		began := time.Now()
		answer, err := w.ask(dir, tree)
		w.until = w.until.Add(time.Since(began)) // ask has its own limit
		if err == nil {
			o = answer
		} else {
			w.lacks("of what git obeys in " + strconv.Quote(named) + ", only the usual files are protected: " + err.Error())
		}
	}
	for _, dir := range o.Dirs {
		if real, err := filepath.EvalSymlinks(dir); err == nil && w.holds(real) {
			w.addGitDirectory(real)
		}
	}
	for _, path := range o.Files {
		w.protect(filepath.Clean(path))
	}
	w.trees = append(w.trees, o.Trees...)
}

// addGitDirectory adds a git directory, and the ones in it for submodules and worktrees.
func (w *Watch) addGitDirectory(dir string) {
	if w.git[dir] || w.listed > maxListed {
		return
	}
	w.git[dir] = true
	w.put(dir, place{protects: func(name string) bool { return slices.Contains(gitObeys, name) }, depth: watchedDepth})
	for _, name := range gitObeys {
		if path := filepath.Join(dir, name); w.exists(path) {
			w.protect(path)
		}
	}
	w.addModules(filepath.Join(dir, "modules"))
	for _, inner := range w.directories(filepath.Join(dir, "worktrees")) {
		tree := filepath.Dir(pointed(filepath.Join(inner, "gitdir")))
		w.trees = append(w.trees, tree)
		w.addGit(inner, tree)
	}
}

// addModules adds the git directories of submodules below dir. Their names may have slashes.
func (w *Watch) addModules(dir string) {
	for _, inner := range w.directories(dir) {
		if w.exists(filepath.Join(inner, "HEAD")) {
			w.addGit(inner, "")
		} else {
			w.addModules(inner)
		}
	}
}

func (w *Watch) exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// directories are the directories in a directory, without links, which may lead in a circle.
func (w *Watch) directories(dir string) (paths []string) {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return nil
	}
	for _, entry := range w.put(dir, place{}) {
		if entry.IsDir() {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths
}

// pointed is the path that a file such as .git or gitdir names, and any other path itself.
func pointed(path string) string {
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() {
		return path
	}
	f, err := os.OpenFile(path, OpenFlags, 0)
	if err != nil {
		return path
	}
	defer f.Close()
	b, _ := io.ReadAll(io.LimitReader(f, 64<<10))
	target := strings.TrimPrefix(strings.TrimRight(string(b), "\r\n"), "gitdir: ")
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	return target
}
