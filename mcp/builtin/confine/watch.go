package confine

import (
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"toolpipe/mcp/builtin/protected"
)

const (
	maxPlaces = 2000  // directories that are checked
	maxListed = 4000  // directories that are searched
	maxFiles  = 10000 // files that are recorded
)

// How deep below a root a directory is a place, and is searched for secrets.
const watchedDepth, searchedDepth = 2, 3

// A Watch is the list of files below writable directories that other programs run or obey
// without being asked, such as git's hooks and the definitions of CI. It reports which have
// changed. Its methods are safe for concurrent use.
//
// A place is a directory in which certain names matter. Places are the roots, the directories
// directly in them, the working trees of submodules and worktrees, directories such as .github
// in those, git's own directories, and everything below a protected directory. Deeper directories
// are not checked: installed packages are full of such files, which nothing obeys there. For the
// same reason a directory that is made later is a place only because of its name.
type Watch struct {
	scopes []Scope
	ask    AskGitFunc // nil once the list is made

	mu     sync.Mutex
	places map[string]place
	files  map[string]note
	reading
	found
}

// A Scope is where the programs of one sandbox may write: below Roots, which are absolute and
// without links. Below Except, which are in a root, the user allows every change.
type Scope struct{ Roots, Except []string }

// Holds reports whether the programs may write a path, and must not change what is protected.
func (s *Scope) Holds(path string) bool {
	contains := func(dir string) bool { return IsBelow(path, dir) }
	return slices.ContainsFunc(s.Roots, contains) && !slices.ContainsFunc(s.Except, contains)
}

// A found is what the making of the list found.
type found struct {
	top    []string // the protected files and directories, without links
	secret []string
	git    map[string]bool // git directories
	trees  []string        // working trees that are places, and not added yet
	listed int             // directories
	gaps   []string        // what the list lacks
}

// A place is a directory, and which names in it matter.
type place struct {
	protects func(name string) bool
	depth    int // below the root; watchedDepth if directories in it are not places
	seen     note
	whole    bool // all names in it were read
	all      bool // everything below it is protected
}

// NewWatch makes the list before any program of the scopes starts. If deeper, which is called late,
// says so, it also searches the directories in which only secrets count. ask may be nil.
func NewWatch(scopes []Scope, deeper func() bool, ask AskGitFunc) *Watch {
	w := &Watch{scopes: scopes, ask: ask, places: map[string]place{}, files: map[string]note{}, reading: newReading(makingTime), found: found{git: map[string]bool{}}}
	level := w.roots() // directories near a root come first, so that a large directory cannot use up the limits
	for depth := range searchedDepth {
		if depth == watchedDepth && !deeper() {
			break
		}
		var below []string
		for _, dir := range level {
			below = append(below, w.add(dir, depth)...)
		}
		level = below
	}
	for len(w.trees) > 0 {
		tree := w.trees[0]
		w.trees = w.trees[1:]
		if _, known := w.places[tree]; !known && w.holds(tree) {
			w.add(tree, 1)
		}
	}
	w.ask = nil
	w.readAll()
	return w
}

func (w *Watch) roots() (all []string) {
	for i := range w.scopes {
		all = append(all, w.scopes[i].Roots...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// outermost are the paths that are not below another one.
func outermost(paths []string) (all []string) {
	for _, path := range slices.Compact(slices.Sorted(slices.Values(paths))) {
		if !slices.ContainsFunc(all, func(other string) bool { return IsBelow(path, other) }) {
			all = append(all, path)
		}
	}
	return all
}

// holds reports whether a change of a path counts: a sandbox that may make it does not allow it.
func (w *Watch) holds(path string) bool {
	return slices.ContainsFunc(w.scopes, func(s Scope) bool { return s.Holds(path) })
}

// Protected are the existing files and directories that are protected, without links.
func (w *Watch) Protected() []string { return outermost(w.top) }

// Secret are the files and directories with secret names (as for file tools) in the roots and
// two levels of directories below. Git's own are not included.
func (w *Watch) Secret() []string { return slices.Sorted(slices.Values(w.secret)) }

// Gaps says what the list lacks.
func (w *Watch) Gaps() []string { return w.gaps }

func (w *Watch) lacks(what string) {
	if !slices.Contains(w.gaps, what) {
		w.gaps = append(w.gaps, what)
	}
}

func (w *Watch) isFull() {
	w.lacks("there are more directories and files than are searched for files that other programs run")
}

// isPlace reports whether a directory at this depth below a root is a place.
func isPlace(dir string, depth int) bool {
	return depth < watchedDepth || depth == watchedDepth && protected.HoldsReadOnly(filepath.Base(dir))
}

// put makes a directory a place, if there is room, and returns the entries of the directory.
func (w *Watch) put(dir string, p place) []fs.DirEntry {
	if w.listed++; len(w.places) >= maxPlaces || w.listed > maxListed {
		w.isFull()
		return nil
	}
	p.seen = noteOf(dir)
	entries, err := w.list(dir)
	if p.whole = err == nil; err == errTooMuch {
		w.isFull()
	}
	if p.protects == nil {
		return entries
	}
	if old, known := w.places[dir]; known {
		added := p.protects
		p.protects = func(name string) bool { return old.protects(name) || added(name) }
		p.depth, p.all = min(p.depth, old.depth), p.all || old.all
	}
	w.places[dir] = p
	return entries
}

// protecting decides which names in a directory are protected.
func protecting(dir string) func(name string) bool {
	return func(name string) bool { return protected.ReadOnly(dir, name) != "" }
}

// add adds a directory that is depth levels below a root, and returns the directories in it
// that must be searched next.
func (w *Watch) add(dir string, depth int) (below []string) {
	p := place{depth: depth}
	if isPlace(dir, depth) {
		p.protects = protecting(dir)
	}
	for _, entry := range w.put(dir, p) {
		name, path := entry.Name(), filepath.Join(dir, entry.Name())
		secret := name != ".git" && protected.Secret("", dir, name) != ""
		if secret {
			w.secret = append(w.secret, path)
		}
		switch {
		case name == ".git":
			if p.protects != nil {
				w.addGit(path, dir)
			}
		case p.protects != nil && p.protects(name):
			w.protect(path)
		case secret || !entry.IsDir():
		case depth < watchedDepth && protected.HoldsReadOnly(name): // places come before directories that are only searched
			below = append(below, w.add(path, depth+1)...)
		default:
			below = append(below, path)
		}
	}
	return below
}

// protect puts a file, or everything below a directory, on the list, also if it does not exist
// yet. A link and its target are both on the list.
func (w *Watch) protect(path string) {
	real, err := filepath.EvalSymlinks(path)
	if real != path && w.holds(path) {
		w.files[path] = noteOf(path)
	}
	if err == nil && slices.ContainsFunc(outermost(w.roots()), func(root string) bool { return IsBelow(root, real) }) {
		w.lacks(strconv.Quote(path) + " is or contains a writable directory, so not everything in it is protected")
		return
	}
	if err == nil && w.holds(real) {
		w.top = append(w.top, real)
		w.noteAll(real)
	}
}

// noteAll records a file, or all files below a directory, and protects the targets of links.
func (w *Watch) noteAll(path string) {
	n := noteOf(path)
	_, known := w.files[path]
	switch {
	case known || w.places[path].all || n.info == nil || !w.holds(path):
	case len(w.files) >= maxFiles || !w.spend(entryCost):
		w.isFull()
	case n.info.IsDir():
		whole := place{protects: func(string) bool { return true }, depth: watchedDepth, all: true}
		for _, entry := range w.put(path, whole) {
			w.noteAll(filepath.Join(path, entry.Name()))
		}
	default:
		w.files[path] = n
		if n.target != "" {
			w.protect(path)
		}
	}
}

// Changed are the protected files that have changed, disappeared or appeared since the last
// check. Without last, a file with an unchanged state is not read again. With last every file is
// read: no program may run in a sandbox any more. Neither takes longer than a constant time, and
// a file that cannot be read in this time counts as changed.
func (w *Watch) Changed(last bool) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading = newReading(lookTime)
	changed := map[string]bool{}
	var stale []string
	for path, was := range w.files {
		if last && !was.unread || !was.same(path) {
			stale = append(stale, path)
		}
	}
	for _, path := range w.smallFirst(slices.Values(stale)) {
		was := w.files[path]
		now := noteOf(path)
		if !w.equal(path, &was, &now) {
			changed[path] = true
		}
		w.files[path] = now
	}
	for _, dir := range slices.Sorted(maps.Keys(w.places)) {
		p := w.places[dir]
		if !last && p.seen.same(dir) {
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
	p.seen = noteOf(dir)
	entries, err := w.list(dir)
	if p.whole && err != nil {
		p.whole = false
		found = append(found, dir)
	}
	w.places[dir] = p
	for _, entry := range entries {
		name, path := entry.Name(), filepath.Join(dir, entry.Name())
		_, file := w.files[path]
		_, isPlace := w.places[path]
		switch {
		case file || isPlace || !w.holds(path):
		case name == ".git" && p.depth < watchedDepth:
			w.addGit(path, dir)
			found = append(found, path)
		case p.protects(name):
			w.noteAll(path)
			found = append(found, path)
		case entry.IsDir() && p.depth < watchedDepth && protected.HoldsReadOnly(name) && len(w.places) < maxPlaces:
			found = append(found, w.look(path, place{protects: protecting(path), depth: p.depth + 1, whole: true})...)
		}
	}
	return found
}
