// Package confine opens files by paths that cannot lead out of a directory. The
// directory is held open, each name of a path is looked up below a directory
// that is open, and links are followed only inside. It refuses secret files,
// toolpipe's own files and what a rule denies, and knows which files are never
// written. The built-in tools that take paths use it.
//
// An Area is the directory, an Access is the area as one call may use it, and a
// Location is where a path leads in it. A Known is what a conversation knows of files.
// StagedFiles keep changes for a review. A Watch reports changes of protected files.
package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// A Spec says which part of the file system an area is.
type Spec struct {
	Root      string   // a directory, or a single file
	Anyway    bool     // the root may be / or a home directory
	Home      string   // the user's home directory; "" when unknown
	Protected []string // absolute paths of toolpipe's own files, existing or not
}

// An Area is a directory, or a single file in one, that file tools may use. The
// directory is opened once: what its path comes to mean later does not matter.
type Area struct {
	spec Spec
	Root *os.Root    // the directory
	Info fs.FileInfo // of the directory
	Path string      // of the directory as the user named it, absolute
	Real string      // of the directory, links resolved
	Only string      // the name of the single file; "" for all files

	ReadOnly string // why nothing in the area is written; "" where files may be written
}

// ErrBroadRoot ends the error for a root that holds far more than a task needs, unless
// Spec.Anyway is set.
var ErrBroadRoot = errors.New("name a directory in it")

// Open opens an area. An error is about the root, which the user named.
func Open(spec Spec) (*Area, error) {
	path, err := filepath.Abs(spec.Root)
	if err != nil {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", spec.Root, Reason(err))
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", spec.Root, Reason(err))
	}
	a := &Area{spec: spec, Path: path, Real: real}
	switch {
	case info.Mode().IsRegular():
		a.Only = filepath.Base(real)
		a.Path, a.Real = filepath.Dir(path), filepath.Dir(real)
		if filepath.Base(path) != a.Only {
			a.Path = a.Real
		}
	case !info.IsDir():
		return nil, fmt.Errorf("%q is a %s, not a directory or file", spec.Root, KindOf(info.Mode()))
	}
	if err := a.checkRoot(path, real); err != nil {
		return nil, err
	}
	a.ReadOnly = readOnlyRoot(a.Real)
	if a.Root, err = os.OpenRoot(a.Real); err != nil {
		return nil, fmt.Errorf("%q: %w", spec.Root, Reason(err))
	}
	if a.Info, err = a.Root.Stat("."); err == nil && isKernelFileSystem(a.Root) {
		err = errKernel
	}
	if err != nil {
		a.Root.Close()
		return nil, fmt.Errorf("%q: %w", spec.Root, Reason(err))
	}
	return a, nil
}

// checkRoot refuses a root that is protected, or that is too broad. real is path
// with links resolved.
func (a *Area) checkRoot(path, real string) error {
	if inKernelDirectory(real) {
		return fmt.Errorf("%q: %w", a.spec.Root, errKernel)
	}
	for _, way := range [...]string{path, real} {
		names := strings.Split(way, "/")
		for i, name := range names {
			isFile := a.Only != "" && i == len(names)-1
			if why := secretReason(names[max(0, i-1)], name, !isFile); why != "" {
				return fmt.Errorf("%q is protected because of %q: %s; file tools neither read nor write it", a.spec.Root, name, why)
			}
		}
	}
	switch dir := enclosingGitDirectory(a.Real); dir {
	case "":
	case a.Real:
		return fmt.Errorf("%q is %w", a.spec.Root, errGitDirectory)
	default:
		return fmt.Errorf("%q is in %q, which is %w", a.spec.Root, dir, errGitDirectory)
	}
	if what := broadDirectory(a.Real, a.spec.Home); what != "" && a.Only == "" && !a.spec.Anyway {
		return fmt.Errorf("%q is %s; %w", a.spec.Root, what, ErrBroadRoot)
	}
	return nil
}

// broadDirectory says what a directory is that holds all files of a user or of
// the machine; "" for any other.
func broadDirectory(dir, home string) string {
	if dir == filepath.Dir(dir) {
		return "the whole file system"
	}
	if home != "" {
		if real, err := filepath.EvalSymlinks(home); err == nil {
			home = real
		}
		if dir == filepath.Clean(home) {
			return "your home directory"
		}
		if strings.HasPrefix(filepath.Clean(home), dir+"/") {
			return "above your home directory"
		}
	}
	switch parent := filepath.Dir(dir); {
	case dir == "/root", parent == "/home", parent == "/Users":
		return "a home directory"
	case dir == "/home", dir == "/Users":
		return "above the home directories"
	}
	return ""
}
