package confine

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/stream/nearest"
)

// A Location is where a path leads once its links are followed: a name in an
// open directory at or below the root.
type Location struct {
	Access *Access
	Dir    *os.Root
	Name   string      // in Dir; "." for a directory itself
	Rel    string      // from the root, with slashes
	Info   fs.FileInfo // nil when there is nothing of that name
	Asked  string      // the path as the caller wrote it

	edited []byte     // the content that Change edits; nil for a write of the whole file
	opened []*os.Root // the directories from the one below the root to Dir
	links  int        // symbolic links followed
}

// Close closes the directories that lead to the location.
func (l *Location) Close() {
	for _, dir := range l.opened {
		dir.Close()
	}
}

const (
	MaxPath  = 4096 // bytes of a path
	maxNames = 256  // names of a path: a file to be written is looked up anew below each
	maxLinks = 40   // links on the way, as Linux counts
	attempts = 16   // lookups of a file that is replaced each time
)

// ErrChanged says that a file was replaced between two looks at it.
var ErrChanged = errors.New("it keeps being replaced")

// NotFoundError says that a path leads to nothing.
type NotFoundError struct{ message string }

func (e *NotFoundError) Error() string { return e.message }

// Find follows a path that a caller wrote, and refuses it when it leads
// elsewhere than when the call was approved. The last name need not exist. The
// caller closes the location.
func (a *Access) Find(path string) (*Location, error) {
	names, err := a.Split(path)
	if err != nil {
		return nil, err
	}
	return a.FindNames(path, names)
}

// FindNames is Find for a path that Split has split.
func (a *Access) FindNames(path string, names []string) (*Location, error) {
	l, err := a.Follow(path, names)
	if err != nil {
		return nil, err
	}
	if err = a.Bounds.Check(path, a.Absolute(l.Rel)); err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

// Follow goes from the root down the names, which are all or the first of a
// path's. It does not compare with what was approved.
func (a *Access) Follow(path string, names []string) (l *Location, err error) {
	for range attempts {
		if l, err = a.follow(path, names); !errors.Is(err, ErrChanged) {
			if err == nil && a.Only != "" && l.Rel != a.Only && l.Rel != "." {
				l.Close()
				return nil, a.OutsideError(path)
			}
			return l, err
		}
	}
	return nil, fmt.Errorf("%q: %w", path, err)
}

// Split returns the names of a path, from the root on.
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
	rest := filepath.ToSlash(path)
	if filepath.IsAbs(path) {
		rest = ""
		for _, root := range [...]string{a.Path, a.Real} {
			if r, ok := strings.CutPrefix(filepath.ToSlash(path), strings.TrimSuffix(filepath.ToSlash(root), "/")); ok && (r == "" || r[0] == '/') {
				rest = "." + r
				break
			}
		}
		if a.Only != "" && filepath.Clean(path) == filepath.Join(a.Path, a.Only) {
			rest = a.Only
		}
		if rest == "" {
			return nil, a.OutsideError(path)
		}
	}
	if a.Only != "" { // refused here, so that no error tells which other files exist
		clean := filepath.ToSlash(filepath.Clean(rest))
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

// follow opens each directory below the one before it, and checks that it is
// the directory that was looked at. ErrChanged asks for another attempt.
func (a *Access) follow(path string, names []string) (_ *Location, err error) {
	l := &Location{Access: a, Dir: a.Root, Asked: path}
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	var done []string
	names = slices.Clone(names)
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		switch {
		case name == "" || name == ".":
			continue
		case name == ".." && len(done) == 0:
			return nil, a.OutsideError(path)
		case name == "..":
			done = done[:len(done)-1]
			l.up()
			continue
		}
		if why := SecretName(name); why != "" {
			return nil, a.ProtectedError(path, why)
		}
		rel := strings.Join(append(done, name), "/")
		info, err := l.Dir.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(names) == 0:
			l.Name, l.Rel = name, rel
			return l, a.checkRefused(l)
		case errors.Is(err, fs.ErrNotExist):
			return nil, a.notFound(l.Dir, path, strings.Join(done, "/"), name)
		case err != nil:
			return nil, fmt.Errorf("%q: %w", path, Reason(err))
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := l.linkTarget(name)
			if err != nil {
				return nil, err
			}
			names = append(strings.Split(target, "/"), names...)
			continue
		case len(names) == 0:
			l.Name, l.Rel, l.Info = name, rel, info
			return l, a.checkRefused(l)
		case !info.IsDir():
			return nil, fmt.Errorf("%q: %q is not a directory", path, rel)
		}
		if err := l.down(name, info, rel); err != nil {
			return nil, err
		}
		done = append(done, name)
	}
	l.Name, l.Rel = ".", cmp.Or(strings.Join(done, "/"), ".")
	if l.Info, err = l.Dir.Stat("."); err == nil {
		err = a.checkRefused(l)
	}
	return l, err
}

// linkTarget reads a symbolic link. Its target is relative to the link's
// directory.
func (l *Location) linkTarget(name string) (string, error) {
	target, err := l.Dir.Readlink(name)
	l.links++
	switch {
	case l.links > maxLinks:
		return "", fmt.Errorf("%q: too many symbolic links", l.Asked)
	case err != nil:
		return "", ErrChanged
	case filepath.IsAbs(target):
		return "", fmt.Errorf("%q leads over a symbolic link with an absolute target: only relative ones inside the allowed root %q are followed", l.Asked, l.Access.Path)
	}
	return filepath.ToSlash(target), nil
}

// up goes to the directory above Dir.
func (l *Location) up() {
	last := len(l.opened) - 1
	l.opened[last].Close()
	l.opened = l.opened[:last]
	l.Dir = l.Access.Root
	if last > 0 {
		l.Dir = l.opened[last-1]
	}
}

// down goes to a directory in Dir, of which info was taken.
func (l *Location) down(name string, info fs.FileInfo, rel string) error {
	sub, err := l.Access.OpenDirectory(l.Dir, name, rel, info)
	if errors.Is(err, ErrChanged) {
		return err
	}
	if err != nil {
		return fmt.Errorf("%q: %w", l.Asked, err)
	}
	l.opened = append(l.opened, sub)
	l.Dir = sub
	return nil
}

// notFound is the error for a name that is not in a directory, whose path from
// the root is at.
func (a *Access) notFound(dir *os.Root, asked, at, name string) error {
	hint := ""
	if near := nearest.Nearest(name, a.shownNames(dir, at)); near != "" {
		if at != "" && at != "." {
			near = at + "/" + near
		}
		hint = fmt.Sprintf("; did you mean %q?", near)
	} else if at != "" && at != "." {
		hint = fmt.Sprintf("; %q has no %q", at, name)
	}
	return &NotFoundError{fmt.Sprintf("no file %q in the allowed root %q%s", asked, a.Path, hint)}
}

// shownNames returns the names in a directory that may be shown; of a very large
// directory, some of them.
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
	return slices.DeleteFunc(all, func(name string) bool { return a.Hides(at, name) })
}
