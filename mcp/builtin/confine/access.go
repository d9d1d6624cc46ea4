package confine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"toolpipe/mcp/process"
)

// Bounds limit a call of a built-in tool to what was approved. Its paths were resolved for
// the decision, and links may change before the call runs. Bounds travel in the context,
// separate from the arguments, which are sent as received.
type Bounds struct {
	// Places maps the text of a path argument to its target at the time of the approval:
	// absolute and free of links. If the path now leads elsewhere, it is not opened. A path
	// that is not in Places was not resolved.
	Places map[string]string
	// Denied are absolute paths without links. Files at and below them are neither opened nor
	// shown.
	Denied []string
	// Matches reports whether a file is denied by one of its names: its path from the root,
	// or its absolute path. It may be nil.
	Matches func(names ...string) bool
	// Known records which files the call shows and writes. It may be nil.
	Known *Known
	Call  string // the id of the call, used to make Known forget what it showed
	// Staged has contents that the call sees instead of those on the disk. A file in it is
	// not written. It may be nil.
	Staged *StagedFiles
	// Stage gets the call's change, which goes to Staged. nil: the call writes to the disk.
	Stage *StagedChange
	// Change gets the call's change for the events of the run. It may be nil.
	Change *Change
	Programs
	// Client ends when the client of the call disconnects; nil: the client is the run itself.
	Client context.Context
}

// Programs are what the programs that a call starts can use.
type Programs struct {
	// Results is the directory with the results that the model does not have whole; "" for none.
	Results string
	// Door starts the program of the call so that it can call tools (see mcp/local, Door.Start).
	// nil: it cannot.
	Door func(cmd *exec.Cmd, start func(*exec.Cmd) (*process.Process, error)) (p *process.Process, close func(), err error)
}

// ResultsVariable is the variable of commands with Bounds.Results.
const ResultsVariable = "TOOLPIPE_RESULTS"

// Change is what a call wrote to a file.
type Change struct {
	Path string // of the file, or of the first one of several: absolute, free of links; "" for none
	Diff string // unified; "" if the file was or is not text, or has more than MaxPreview bytes
	New  bool   // the file did not exist before
}

type boundsKey struct{}

// WithBounds returns a context in which calls of a built-in server keep to b.
func WithBounds(ctx context.Context, b Bounds) context.Context {
	return context.WithValue(ctx, boundsKey{}, b)
}

// BoundsOf returns the bounds of a call; empty ones if none were set.
func BoundsOf(ctx context.Context) Bounds {
	b, _ := ctx.Value(boundsKey{}).(Bounds)
	return b
}

// Check returns an error if a path leads elsewhere than when the call was approved.
func (b Bounds) Check(asked, real string) error {
	if place := b.Places[asked]; place != "" && place != filepath.Clean(real) {
		return fmt.Errorf("%q leads elsewhere since the call was approved; call again", asked)
	}
	return nil
}

// An Access is an area with the limits of one call.
type Access struct {
	*Area
	Bounds  Bounds
	Ignored bool     // the call also shows what ignore files exclude
	leftOut []string // denied paths that the call met and did not show
	walked  bool     // the call read a directory

	ignoredFiles, ignoredDirs int // entries that were left out because of ignore files

	// Files that no call opens or shows: toolpipe's own files (config, policy, log,
	// recordings) and those that the bounds deny. A file is identified by its path, and by
	// its device and inode, so that no link leads to it.
	refused      []string // absolute paths, links in their directories resolved
	refusedFiles []fs.FileInfo
}

// Access prepares one call. Toolpipe's own files are looked up for each call: a log may be
// created after the area was opened.
func (a *Area) Access(bounds Bounds) *Access {
	access := &Access{Area: a, Bounds: bounds}
	for _, path := range a.spec.Protected {
		if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			path = filepath.Join(dir, filepath.Base(path))
		}
		access.refuse(path, os.Stat)
	}
	for _, path := range bounds.Denied { // the decision resolved the links in it
		access.refuse(path, os.Lstat)
	}
	return access
}

func (a *Access) refuse(path string, stat func(string) (fs.FileInfo, error)) {
	a.refused = append(a.refused, path)
	if info, err := stat(path); err == nil {
		a.refusedFiles = append(a.refusedFiles, info)
	}
}

// Absolute returns the absolute form of a path from the root.
func (a *Access) Absolute(rel string) string { return filepath.Join(a.Real, rel) }

// hides reports whether a name in a directory must not be shown, because it is secret,
// toolpipe's own, or denied.
func (a *Access) hides(dir, name string) bool {
	return a.Secret(dir, name) != "" || a.Withholds(dir, name)
}

// Withholds reports whether a name in a directory must not be shown because it is toolpipe's
// own or denied. It remembers denied paths for LeftOutText.
func (a *Access) Withholds(dir, name string) bool {
	if len(a.refused) == 0 && a.Bounds.Matches == nil {
		return false
	}
	path := a.refusedAbove(filepath.Join(a.Real, dir, name))
	if a.denies(path) && !slices.Contains(a.leftOut, path) {
		a.leftOut = append(a.leftOut, path)
	}
	return path != ""
}

// denies reports whether a rule is the reason for a result of refusedAbove.
func (a *Access) denies(path string) bool {
	return path != "" && (slices.Contains(a.Bounds.Denied, path) || !slices.Contains(a.refused, path))
}

// maxLeftOut limits how many omitted paths are named.
const maxLeftOut = 20

// LeftOutText counts the ignored entries that were left out. It lists the denied paths, a line
// each, and the staged contents that were not seen. Files that a rule denies by a pattern are
// only counted: the rule does not name them, so it may be meant to hide their names.
func (a *Access) LeftOutText() (text string) {
	if a.walked {
		text = a.Bounds.Staged.UnseenText()
	}
	if a.ignoredFiles+a.ignoredDirs > 0 {
		text += fmt.Sprintf("[toolpipe] %d files and %d directories are left out because .gitignore or .ignore excludes them; \"ignored\": true shows them\n", a.ignoredFiles, a.ignoredDirs)
	}
	slices.Sort(a.leftOut)
	named, more := 0, 0
	for _, path := range a.leftOut {
		if named == maxLeftOut || !slices.Contains(a.Bounds.Denied, path) {
			more++
			continue
		}
		if rel, err := filepath.Rel(a.Real, path); err == nil {
			path = rel
		}
		named++
		text += fmt.Sprintf("[toolpipe] %q is left out: a rule denies it\n", path)
	}
	if more > 0 {
		text += fmt.Sprintf("[toolpipe] left out because rules deny them: %d\n", more)
	}
	return text
}

// Refuses reports whether a file is toolpipe's own or denied, under any name.
func (a *Access) Refuses(info fs.FileInfo) bool {
	return slices.ContainsFunc(a.refusedFiles, func(refused fs.FileInfo) bool { return os.SameFile(refused, info) })
}

// refusedAbove returns the refused path that equals an absolute path or contains it, or the
// path itself if a rule denies its name; "" for none.
func (a *Access) refusedAbove(path string) string {
	for _, refused := range a.refused {
		dir := strings.TrimSuffix(refused, "/")
		if n := len(dir); len(path) >= n && strings.EqualFold(dir, path[:n]) && (len(path) == n || path[n] == '/') {
			return refused
		}
	}
	if matches := a.Bounds.Matches; matches != nil {
		rel, err := filepath.Rel(a.Real, path)
		if err == nil && matches(rel, path) {
			return path
		}
	}
	return ""
}

// refusesFile is Refuses for the result of a stat call.
func (a *Access) refusesFile(info *syscall.Stat_t) bool {
	return slices.ContainsFunc(a.refusedFiles, func(refused fs.FileInfo) bool {
		other := stat(refused)
		return other.Dev == info.Dev && other.Ino == info.Ino
	})
}

var errDenied = errors.New("a rule denies it")

// checkRefused returns an error if a location is toolpipe's own or denied.
func (a *Access) checkRefused(l *Location) error {
	path := a.refusedAbove(a.Absolute(l.Rel))
	switch {
	case a.denies(path):
		return fmt.Errorf("%q: %w", l.Asked, errDenied)
	case path != "", l.Info != nil && a.Refuses(l.Info):
		return a.protectedError(l.Asked, "it belongs to toolpipe")
	}
	return nil
}

// protectedError is the error for a path that may be neither read nor written.
func (a *Access) protectedError(path, why string) error {
	return fmt.Errorf("%q is protected: %s; file tools neither read nor write it; the allowed root is %q", path, why, a.Path)
}

// OutsideError is the error for a path that leads out of the area.
func (a *Access) OutsideError(path string) error {
	if a.Only != "" {
		return fmt.Errorf("%q is not offered; the only file is %q in %q", path, a.Only, a.Path)
	}
	return fmt.Errorf("%q is outside the allowed root %q", path, a.Path)
}
