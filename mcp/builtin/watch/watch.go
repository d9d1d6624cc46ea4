// Package watch looks at files below a root that other programs run or obey without being
// asked, such as git's hooks and the definitions of CI, and says which have changed.
//
// A place is a directory of which certain names matter. Places are the root, the
// directories directly in it, what git obeys of its own, and all below a protected
// directory. What is deeper is not looked at: packages that a tool installs are full of
// such files, which nothing obeys there.
package watch

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"toolpipe/mcp/builtin/confine"
)

const (
	maxPlaces = 1000    // directories that are looked at
	maxFiles  = 10000   // files that are noted
	maxDigest = 4 << 20 // bytes of a file of which only size and times are compared beyond
)

// A Watch knows protected files, and how they were. Its methods are safe for concurrent
// use.
type Watch struct {
	except []string // what is below these is not protected

	mu     sync.Mutex
	places map[string]place
	files  map[string]note
	top    []string // the protected files and directories that no other one holds
	secret []string
}

// A place is a directory, and which names in it matter.
type place struct {
	protects func(name string, dir bool) bool
	seen     note
}

// A note is how a file was.
type note struct {
	info   fs.FileInfo
	target string // of a symbolic link
	sum    [sha256.Size]byte
	recent bool // it had changed so shortly before that another change may show the same times
}

// New notes what is protected below roots, which are absolute and without links, but not
// what is below one of except.
func New(roots, except []string) *Watch {
	w := &Watch{except: except, places: map[string]place{}, files: map[string]note{}}
	for _, root := range roots {
		w.add(root, 0)
	}
	return w
}

// Protected are the files and directories that are protected and exist.
func (w *Watch) Protected() []string { return slices.Compact(slices.Sorted(slices.Values(w.top))) }

// Secret are the files and directories whose names say that they hold secrets, as file tools
// take it, in the roots and two directories below. Git's own are not among them.
func (w *Watch) Secret() []string { return slices.Sorted(slices.Values(w.secret)) }

// add adds a directory that is depth directories below a root.
func (w *Watch) add(dir string, depth int) {
	const watched, searched = 2, 3
	if depth >= searched || len(w.places) >= maxPlaces {
		return
	}
	protects := func(name string, isDir bool) bool {
		return confine.ReadOnlyPath(filepath.Base(dir), name) != "" || name == ".git" && !isDir
	}
	if depth < watched {
		w.places[dir] = place{protects, noteOf(dir)}
	}
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		name, path := entry.Name(), filepath.Join(dir, entry.Name())
		switch {
		case depth < watched && protects(name, entry.IsDir()):
			w.protect(path)
		case depth < watched && name == ".git":
			w.addGit(path, dir)
		case name != ".git" && confine.SecretPath(filepath.Base(dir), name) != "":
			if !w.excepts(path) {
				w.secret = append(w.secret, path)
			}
		case entry.IsDir():
			w.add(path, depth+1)
		}
	}
}

func (w *Watch) excepts(path string) bool {
	return slices.ContainsFunc(w.except, func(dir string) bool { return confine.IsBelow(path, dir) })
}

// protect notes a protected file, or all below such a directory.
func (w *Watch) protect(path string) {
	if w.excepts(path) {
		return
	}
	w.top = append(w.top, path)
	w.noteAll(path)
}

func (w *Watch) noteAll(path string) {
	_ = filepath.WalkDir(path, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case len(w.files)+len(w.places) >= maxFiles+maxPlaces:
			return filepath.SkipAll
		case entry.IsDir():
			w.places[path] = place{func(string, bool) bool { return true }, noteOf(path)}
		default:
			w.files[path] = noteOf(path)
		}
		return nil
	})
}

// gitObeys are what git runs or obeys in a git directory (gitrepository-layout(5)).
// commondir and gitdir name another one.
var gitObeys = []string{"config", "config.worktree", "hooks", "commondir", "gitdir"}

// addGit adds a git directory, those of submodules in it, and the directory of hooks that
// its configuration names, from tree.
func (w *Watch) addGit(dir, tree string) {
	protects := func(name string, _ bool) bool { return slices.Contains(gitObeys, name) }
	w.places[dir] = place{protects, noteOf(dir)}
	for _, name := range gitObeys {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			w.protect(filepath.Join(dir, name))
		}
	}
	if hooks := hooksPath(filepath.Join(dir, "config"), tree); hooks != "" {
		w.protect(hooks)
	}
	for _, pattern := range [...]string{"modules/*", "modules/*/*", "worktrees/*"} {
		inner, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, dir := range inner {
			if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err == nil && len(w.places) < maxPlaces {
				w.addGit(dir, tree)
			}
		}
	}
}

// hooksPath is the directory core.hooksPath of a configuration, if that is in the tree; ""
// for none.
func hooksPath(config, tree string) string {
	b, err := os.ReadFile(config)
	if err != nil || !bytes.Contains(bytes.ToLower(b), []byte("hookspath")) {
		return ""
	}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		key, value, found := strings.Cut(lines.Text(), "=")
		if value = strings.Trim(strings.TrimSpace(value), `"`); !found || !strings.EqualFold(strings.TrimSpace(key), "hookspath") || value == "" {
			continue
		}
		if !filepath.IsAbs(value) {
			value = filepath.Join(tree, value)
		}
		if _, err := os.Lstat(value); err == nil && value != tree && confine.IsBelow(value, tree) {
			return filepath.Clean(value)
		}
	}
	return ""
}

// noteOf notes a file, a link or a directory as it is now.
func noteOf(path string) (n note) {
	info, err := os.Lstat(path)
	if err != nil {
		return n
	}
	n.info = info
	const tick = 50 * time.Millisecond // more than any step of a file system's clock
	changed, known := changeTime(info)
	n.recent = !known || time.Since(changed) < tick
	switch {
	case info.Mode().Type() == fs.ModeSymlink:
		n.target, _ = os.Readlink(path)
	case info.Mode().IsRegular() && info.Size() <= maxDigest:
		if f, err := os.OpenFile(path, confine.OpenFlags, 0); err == nil { // another file may have come there
			defer f.Close()
			h := sha256.New()
			_, _ = io.Copy(h, io.LimitReader(f, maxDigest))
			h.Sum(n.sum[:0])
		}
	}
	return n
}

// same reports whether a file is as it was, without reading it.
func (n *note) same(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || n.info == nil {
		return err != nil && n.info == nil
	}
	then, known := changeTime(n.info)
	now, _ := changeTime(info)
	return known && !n.recent && then.Equal(now) && os.SameFile(n.info, info) && info.Size() == n.info.Size() && info.ModTime().Equal(n.info.ModTime())
}

// equal reports whether two notes are of the same content.
func (n *note) equal(m *note) bool {
	if n.info == nil || m.info == nil {
		return n.info == m.info
	}
	return n.info.Mode() == m.info.Mode() && n.info.Size() == m.info.Size() && n.target == m.target && n.sum == m.sum &&
		(n.info.Size() <= maxDigest || n.info.ModTime().Equal(m.info.ModTime()))
}

// Changed are the protected files that are others than when they were last looked at, or
// gone, or new.
func (w *Watch) Changed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := map[string]bool{}
	for path, was := range w.files {
		if was.same(path) {
			continue
		}
		now := noteOf(path)
		if !was.equal(&now) {
			changed[path] = true
		}
		w.files[path] = now
	}
	for dir, p := range maps.Clone(w.places) {
		if p.seen.same(dir) {
			continue
		}
		w.places[dir] = place{p.protects, noteOf(dir)}
		entries, _ := os.ReadDir(dir)
		for _, entry := range entries {
			path := filepath.Join(dir, entry.Name())
			if w.known(path) || w.excepts(path) {
				continue
			}
			if entry.Name() == ".git" && entry.IsDir() {
				w.addGit(path, dir)
				changed[path] = true
			} else if p.protects(entry.Name(), entry.IsDir()) {
				w.noteAll(path)
				changed[path] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

func (w *Watch) known(path string) bool {
	_, file := w.files[path]
	_, dir := w.places[path]
	return file || dir
}
