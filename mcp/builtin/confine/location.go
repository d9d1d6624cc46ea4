package confine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/stream/text/readable"
)

// A Location is the target of a path after its links are followed: a name in an open
// directory at or below the root.
type Location struct {
	Access *Access
	Name   string      // in the last directory of above; "." for that directory itself
	Rel    string      // from the root, with slashes
	Info   fs.FileInfo // nil if nothing has that name
	Asked  string      // the path as the caller wrote it

	edited  []byte // the content that Change edits; nil if the whole file is written
	above   []step // the open directories from the root on
	links   int    // symbolic links followed
	written bool   // keep the directories that were made
}

// A step is an open directory on the path to a location.
type step struct {
	dir  *os.Root
	rel  string // its path from the root
	made bool   // FindNew made it
}

// Close closes the directories of the location. It removes directories that FindNew made if
// the file was not written.
func (l *Location) Close() {
	for len(l.above) > 1 {
		l.up()
	}
}

const (
	MaxPath  = 4096 // bytes of a path
	maxNames = 256  // names of a path: each may be an open directory
	maxLinks = 40   // links on the path, as on Linux
	attempts = 16   // lookups of a file that is replaced each time
)

// ErrChanged means that a file was replaced between two looks at it.
var ErrChanged = errors.New("it keeps being replaced")

// NotFoundError means that nothing exists at a path.
type NotFoundError struct {
	Rel     string // the target of the path, from the root; links in the missing names are not followed
	message string
}

func (e *NotFoundError) Error() string { return e.message }

// Find follows a path from a caller. It refuses a path that leads elsewhere than when the
// call was approved. The last name need not exist. The caller closes the location.
func (a *Access) Find(path string) (*Location, error) { return a.find(path, false) }

// FindNew is Find for a file that will be written. It also makes missing directories, unless
// the file may not be written there, or the call is a preview or staged.
func (a *Access) FindNew(ctx context.Context, path string) (*Location, error) {
	return a.find(path, previewOf(ctx) == nil && a.Bounds.Stage == nil)
}

func (a *Access) find(path string, makes bool) (*Location, error) {
	names, err := a.Split(path)
	if err != nil {
		return nil, err
	}
	for range attempts {
		l := &Location{Access: a, Asked: path, above: []step{{dir: a.Root, rel: "."}}}
		if err = l.follow(names, makes); err == nil {
			return l, nil
		}
		l.Close()
		if !errors.Is(err, ErrChanged) {
			break
		}
	}
	return a.stagedLocation(path, err)
}

// stagedLocation is the location of a file in a missing directory, if the file is staged or
// about to be staged. err is the reason why the path has no location; it is returned for
// other files.
func (a *Access) stagedLocation(asked string, err error) (*Location, error) {
	missing, ok := errors.AsType[*NotFoundError](err)
	if !ok || a.Bounds.Staged == nil || slices.Contains(strings.Split(asked, "/"), "..") {
		return nil, err
	}
	if _, exists := a.Bounds.Staged.Content(a.Absolute(missing.Rel)); !exists && a.Bounds.Stage == nil {
		return nil, err
	}
	return a.within(asked, missing)
}

// within is the location of a file in a missing directory. It can be checked but not written.
func (a *Access) within(asked string, missing *NotFoundError) (*Location, error) {
	l := &Location{Access: a, Asked: asked, Name: path.Base(missing.Rel), Rel: missing.Rel, above: []step{{dir: a.Root, rel: "."}}}
	return l, l.check()
}

// Split returns the names of a path from the root.
func (a *Access) Split(path string) ([]string, error) {
	switch {
	case path == "":
		return nil, fmt.Errorf("the path is empty; \".\" is the root %q", a.Path)
	case len(path) > MaxPath:
		return nil, fmt.Errorf("the path has %d bytes, at most %d are allowed", len(path), MaxPath)
	case strings.Count(path, "/") > maxNames:
		return nil, fmt.Errorf("the path has more than %d names", maxNames)
	case strings.IndexByte(path, 0) >= 0:
		return nil, errors.New("the path has a NUL byte")
	}
	rest, inside := path, !filepath.IsAbs(path)
	for _, root := range [...]string{a.Path, a.Real} {
		if below, ok := strings.CutPrefix(path, strings.TrimSuffix(root, "/")); !inside && ok && (below == "" || below[0] == '/') {
			rest, inside = "."+below, true
		}
	}
	if !inside {
		return nil, a.OutsideError(path)
	}
	if a.Only != "" { // refused here, so that no error shows which other files exist
		clean := filepath.Clean(rest)
		if clean != a.Only && clean != "." {
			return nil, a.OutsideError(path)
		}
		if strings.HasSuffix(rest, "/") {
			clean += "/"
		}
		rest = clean
	}
	names := strings.Split(rest, "/")
	if last := len(names) - 1; names[last] == "" {
		names[last] = "." // a trailing slash: it must be a directory
	}
	return names, nil
}

// follow goes from the root down the names. It opens each directory in the previous one, and
// checks that it is the same directory that Lstat found. ErrChanged asks for another attempt.
func (l *Location) follow(names []string, makes bool) error {
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		switch {
		case name == "" || name == ".":
			continue
		case name == ".." && len(l.above) == 1:
			return l.Access.OutsideError(l.Asked)
		case name == "..":
			l.up()
			continue
		}
		if why := l.Access.Secret(l.here().rel, name); why != "" {
			return l.Access.protectedError(l.Asked, why)
		}
		l.Name, l.Rel = name, path.Join(l.here().rel, name)
		info, err := l.here().dir.Lstat(name)
		absent, made := errors.Is(err, fs.ErrNotExist), false
		if absent && len(names) > 0 {
			if made, err = l.makeDirectory(names, makes); err != nil {
				return err
			}
			info, err = l.here().dir.Lstat(name)
		}
		switch {
		case len(names) == 0 && absent:
			return l.check()
		case err != nil:
			return l.fail(err)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := l.linkTarget()
			if err != nil {
				return err
			}
			names = slices.Concat(strings.Split(target, "/"), names)
			continue
		case len(names) == 0:
			l.Info = info
			return l.check()
		case !info.IsDir():
			return fmt.Errorf("%q: %q is not a directory", l.Asked, l.Rel)
		}
		if err := l.down(made); err != nil {
			return err
		}
	}
	l.Name, l.Rel = ".", l.here().rel
	info, err := l.here().dir.Stat(".")
	if err != nil {
		return l.fail(err)
	}
	l.Info = info
	return l.check()
}

// check returns an error if the call may not use the location.
func (l *Location) check() error {
	a := l.Access
	if err := a.checkRefused(l); err != nil {
		return err
	}
	if a.Only != "" && l.Rel != a.Only && l.Rel != "." {
		return a.OutsideError(l.Asked)
	}
	return a.Bounds.Check(l.Asked, a.Absolute(l.Rel))
}

// fail is the error for a system error at the location.
func (l *Location) fail(err error) error { return fmt.Errorf("%q: %w", l.Asked, Reason(err)) }

// linkTarget reads the symbolic link at the location. Its target is relative to the link's
// directory.
func (l *Location) linkTarget() (string, error) {
	target, err := l.here().dir.Readlink(l.Name)
	l.links++
	switch {
	case l.links > maxLinks:
		return "", fmt.Errorf("%q: too many symbolic links", l.Asked)
	case err != nil:
		return "", l.fail(ErrChanged)
	case filepath.IsAbs(target):
		return "", fmt.Errorf("%q leads through a symbolic link with an absolute target: only relative ones inside the allowed root %q are followed", l.Asked, l.Access.Path)
	}
	return target, nil
}

// makeDirectory makes the missing directory at the location, for a file with the names rest
// below it, or returns an error. made is false if somebody else made the directory meanwhile.
func (l *Location) makeDirectory(rest []string, makes bool) (made bool, err error) {
	a, file := l.Access, path.Join(l.Rel, strings.Join(rest, "/"))
	if !makes || rest[len(rest)-1] == "." || slices.Contains(rest, "..") {
		return false, l.notFound(file)
	}
	if err := a.Bounds.Check(l.Asked, a.Absolute(file)); err != nil {
		return false, err
	}
	if err := a.checkWritable(l.Asked, file); err != nil {
		return false, err
	}
	err = l.here().dir.Mkdir(l.Name, 0o777)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return false, l.fail(err)
	}
	return err == nil, nil
}

// here is the last directory that was opened.
func (l *Location) here() step { return l.above[len(l.above)-1] }

// up goes back to the parent directory.
func (l *Location) up() {
	left := l.here()
	l.above = l.above[:len(l.above)-1]
	if left.made && !l.written {
		name, dir := path.Base(left.rel), l.here().dir
		info, err := left.dir.Stat(".")
		if now, nowErr := dir.Lstat(name); err == nil && nowErr == nil && os.SameFile(now, info) {
			dir.Remove(name) // if it is empty
		}
	}
	left.dir.Close()
}

// down goes into the directory at the location.
func (l *Location) down(made bool) error {
	dir, err := l.Access.OpenDirectory(l.here().dir, l.Name, l.Rel, false)
	if _, other := errors.AsType[*WrongKindError](err); other {
		err = ErrChanged // it was a directory a moment ago
	}
	if err != nil {
		return l.fail(err)
	}
	l.above = append(l.above, step{dir, l.Rel, made})
	return nil
}

// notFound is the error for a location where nothing exists, on the way to the path rel from
// the root. It suggests a file with a similar name.
func (l *Location) notFound(rel string) error {
	at, hint := l.here().rel, ""
	if near := readable.Nearest(l.Name, l.Access.shownNames(l.here().dir, at)); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", path.Join(at, near))
	} else if at != "." {
		hint = fmt.Sprintf("; %q has no %q", at, l.Name)
	}
	return &NotFoundError{rel, fmt.Sprintf("no file %q in the allowed root %q%s", l.Asked, l.Access.Path, hint)}
}

// shownNames returns the names in a directory that may be shown; for a very large directory,
// some of them.
func (a *Access) shownNames(dir *os.Root, at string) []string {
	if a.Only != "" {
		return []string{a.Only}
	}
	f, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	all, _ := f.Readdirnames(10_000)
	return slices.DeleteFunc(all, func(name string) bool { return a.hides(at, name) })
}
