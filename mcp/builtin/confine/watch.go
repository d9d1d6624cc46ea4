package confine

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

	"toolpipe/mcp/builtin/protected"
)

const (
	maxPlaces = 2000    // directories that are checked
	maxListed = 4000    // directories that are searched
	maxFiles  = 10000   // files that are recorded
	maxDigest = 4 << 20 // bytes of a file; for larger ones only size and times are compared
)

// How deep below a root a directory is a place, and is searched for secrets.
const watchedDepth, searchedDepth = 2, 3

// A Watch checks files below its roots that other programs run or obey without being asked,
// such as git's hooks and the definitions of CI, and reports which have changed. Its methods
// are safe for concurrent use.
//
// A place is a directory in which certain names matter. Places are the roots, the directories
// directly in them, directories such as .github in those, git's own hooks and configuration,
// and everything below a protected directory. Deeper directories are not checked: installed
// packages are full of such files, which nothing obeys there. For the same reason a directory
// that is made later is a place only because of its name.
type Watch struct {
	except  []string // nothing below these is protected
	secrets bool     // also search for secrets

	mu     sync.Mutex
	places map[string]place
	files  map[string]note
	top    []string // the protected files and directories that are not in another one
	secret []string
	full   bool // there is more than the limits allow
}

// A place is a directory, and which names in it matter.
type place struct {
	protects func(name string, dir bool) bool
	depth    int // below the root; watchedDepth if directories in it are not places
	seen     note
}

// A note is the state of a file.
type note struct {
	info   fs.FileInfo
	target string // of a symbolic link
	sum    [sha256.Size]byte
	recent bool // it had changed so shortly before that a further change may have the same times
}

// NewWatch records what is protected below roots, except below a path of except. Roots are
// absolute and without links. It searches for secrets only if secrets is set, since they may
// be deeper.
func NewWatch(roots, except []string, secrets bool) *Watch {
	w := &Watch{except: except, secrets: secrets, places: map[string]place{}, files: map[string]note{}}
	listed := 0
	levels := watchedDepth
	if secrets {
		levels = searchedDepth
	}
	level := slices.Clone(roots) // directories near a root come first, so that a large directory cannot use up the limits
	for depth := range levels {
		var below []string
		for _, dir := range level {
			if listed++; listed > maxListed {
				w.full = true
				break
			}
			below = append(below, w.add(dir, depth)...)
		}
		level = below
	}
	return w
}

// Protected are the existing files and directories that are protected.
func (w *Watch) Protected() []string { return slices.Compact(slices.Sorted(slices.Values(w.top))) }

// Secret are the files and directories with secret names (as for file tools) in the roots and
// two levels of directories below. Git's own are not included.
func (w *Watch) Secret() []string { return slices.Sorted(slices.Values(w.secret)) }

// Full reports whether there is more below the roots than the limits allow.
func (w *Watch) Full() bool { return w.full }

// isPlace reports whether a directory at this depth below a root is a place.
func isPlace(dir string, depth int) bool {
	return depth < watchedDepth || depth == watchedDepth && protected.HoldsReadOnly(filepath.Base(dir))
}

// put makes a directory a place, if there is room.
func (w *Watch) put(dir string, p place) {
	if _, known := w.places[dir]; !known && len(w.places) >= maxPlaces {
		w.full = true
		return
	}
	p.seen = noteOf(dir)
	w.places[dir] = p
}

// protecting decides which names in a directory are protected. A file .git points to a git
// directory.
func protecting(dir string) func(name string, isDir bool) bool {
	return func(name string, isDir bool) bool {
		return protected.ReadOnly(dir, name) != "" || name == ".git" && !isDir
	}
}

// add adds a directory that is depth levels below a root, and returns the directories in it
// that must be searched next.
func (w *Watch) add(dir string, depth int) (below []string) {
	protects, placed := protecting(dir), isPlace(dir, depth)
	if placed {
		w.put(dir, place{protects: protects, depth: depth})
	}
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		name, path := entry.Name(), filepath.Join(dir, entry.Name())
		secret := w.secrets && name != ".git" && protected.Secret("", dir, name) != ""
		if secret && !w.excepts(path) {
			w.secret = append(w.secret, path)
		}
		switch {
		case placed && protects(name, entry.IsDir()):
			w.protect(path)
		case name == ".git":
			if placed {
				w.addGit(path, dir)
			}
		case secret:
		case entry.IsDir() && depth < watchedDepth && protected.HoldsReadOnly(name): // places come before directories that are only searched
			below = append(below, w.add(path, depth+1)...)
		case entry.IsDir():
			below = append(below, path)
		}
	}
	return below
}

func (w *Watch) excepts(path string) bool {
	return slices.ContainsFunc(w.except, func(dir string) bool { return IsBelow(path, dir) })
}

// protect records a protected file, or everything below a protected directory.
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
		case entry.IsDir():
			w.put(path, place{protects: func(string, bool) bool { return true }, depth: watchedDepth})
		case len(w.files) >= maxFiles:
			w.full = true
			return filepath.SkipAll
		default:
			w.files[path] = noteOf(path)
		}
		return nil
	})
}

// gitObeys are the files of a git directory that git runs or obeys (gitrepository-layout(5)).
// commondir and gitdir name another git directory.
var gitObeys = []string{"config", "config.worktree", "hooks", "commondir", "gitdir"}

// addGit adds a git directory, the git directories of submodules in it, and the directory of
// hooks in its configuration. tree is the working tree.
func (w *Watch) addGit(dir, tree string) {
	protects := func(name string, _ bool) bool { return slices.Contains(gitObeys, name) }
	w.put(dir, place{protects: protects, depth: watchedDepth})
	for _, name := range gitObeys {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			w.protect(filepath.Join(dir, name))
		}
	}
	if hooks := hooksPath(filepath.Join(dir, "config"), tree); hooks != "" {
		w.protect(hooks)
	}
	for _, inner := range slices.Concat(directories(filepath.Join(dir, "modules")), directories(filepath.Join(dir, "worktrees"))) {
		for _, inner := range append(directories(inner), inner) { // the name of a submodule may have a slash
			if _, err := os.Lstat(filepath.Join(inner, "HEAD")); err == nil && len(w.places) < maxPlaces {
				w.addGit(inner, tree)
			}
		}
	}
}

// directories are the directories in a directory, without links, which may lead in a circle.
func directories(dir string) (paths []string) {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return nil
	}
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		if entry.IsDir() {
			paths = append(paths, filepath.Join(dir, entry.Name()))
		}
	}
	return paths
}

// hooksPath is the directory core.hooksPath of a configuration, if it is in the tree; "" for
// none.
func hooksPath(config, tree string) string {
	f, err := os.OpenFile(config, OpenFlags, 0) // it may be a FIFO
	if err != nil {
		return ""
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxDigest))
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
		if _, err := os.Lstat(value); err == nil && value != tree && IsBelow(value, tree) {
			return filepath.Clean(value)
		}
	}
	return ""
}

// noteOf records the present state of a file, a link or a directory.
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
		if f, err := os.OpenFile(path, OpenFlags, 0); err == nil { // another file may have replaced it
			defer f.Close()
			h := sha256.New()
			_, _ = io.Copy(h, io.LimitReader(f, maxDigest))
			h.Sum(n.sum[:0])
		}
	}
	return n
}

// same reports whether a file is unchanged, without reading it.
func (n *note) same(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || n.info == nil {
		return err != nil && n.info == nil
	}
	then, known := changeTime(n.info)
	now, _ := changeTime(info)
	return known && !n.recent && then.Equal(now) && os.SameFile(n.info, info) && info.Size() == n.info.Size() && info.ModTime().Equal(n.info.ModTime())
}

// equal reports whether two notes have the same content.
func (n *note) equal(m *note) bool {
	if n.info == nil || m.info == nil {
		return n.info == m.info
	}
	return n.info.Mode() == m.info.Mode() && n.info.Size() == m.info.Size() && n.target == m.target && n.sum == m.sum &&
		(n.info.Size() <= maxDigest || n.info.ModTime().Equal(m.info.ModTime()))
}

// Changed are the protected files that have changed, disappeared or appeared since the last
// check.
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
		for _, path := range w.look(dir, p) {
			changed[path] = true
		}
	}
	return slices.Sorted(maps.Keys(changed))
}

// look checks the names in a place again, and returns the new protected ones.
func (w *Watch) look(dir string, p place) (found []string) {
	w.put(dir, p)
	entries, _ := os.ReadDir(dir)
	for _, entry := range entries {
		path := filepath.Join(dir, entry.Name())
		switch {
		case w.known(path) || w.excepts(path):
		case entry.Name() == ".git" && entry.IsDir():
			w.addGit(path, dir)
			found = append(found, path)
		case p.protects(entry.Name(), entry.IsDir()):
			w.noteAll(path)
			found = append(found, path)
		case entry.IsDir() && p.depth < watchedDepth && protected.HoldsReadOnly(entry.Name()):
			found = append(found, w.look(path, place{protects: protecting(path), depth: p.depth + 1})...)
		}
	}
	return found
}

func (w *Watch) known(path string) bool {
	_, file := w.files[path]
	_, dir := w.places[path]
	return file || dir
}
