// Package confine opens files by paths that cannot lead out of a directory. It keeps the
// directory open, looks up each name of a path in an open directory, and follows links only
// inside. It refuses secret files, toolpipe's own files and files that a rule denies, and
// knows which files are never written. The built-in tools with path arguments use it.
//
// An Area is the directory, an Access is the area with the limits of one call, and a Location
// is the target of a path in it. A Known is what a conversation knows about files.
// StagedFiles keep changes for a review. A Watch reports changes of protected files.
package confine

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"toolpipe/mcp/builtin/protected"
)

// A Spec describes an area of the file system.
type Spec struct {
	Root      string   // a directory, or a single file
	Anyway    bool     // allows / and home directories as the root
	Home      string   // the user's home directory; "" when unknown
	Protected []string // absolute paths of toolpipe's own files, existing or not
}

// An Area is a directory, or a single file in one, that file tools may use. The directory is
// opened once, so later changes of its path do not matter.
type Area struct {
	spec Spec
	Root *os.Root    // the directory
	Info fs.FileInfo // of the directory
	Path string      // of the directory as the user named it, absolute
	Real string      // of the directory, links resolved
	Only string      // the name of the single file; "" for all files

	home     string // the user's home directory, links resolved
	ReadOnly string // why nothing in the area is written; "" if files may be written
}

// Open opens an area. Errors are about the root, which the user named.
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
	if a.home, err = filepath.EvalSymlinks(spec.Home); err != nil {
		a.home = filepath.Clean(spec.Home)
	}
	if err := a.checkRoot(path, real); err != nil {
		return nil, err
	}
	a.ReadOnly = protected.ReadOnlyRoot(a.Real)
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

// checkRoot refuses a root that is protected or too broad. real is path with links resolved.
func (a *Area) checkRoot(path, real string) error {
	if inKernelDirectory(real) {
		return fmt.Errorf("%q: %w", a.spec.Root, errKernel)
	}
	for _, way := range [...]string{path, real} {
		dir, names := "/", strings.Split(way, "/")
		for i, name := range names {
			reason := protected.SecretRoot
			if a.Only != "" && i == len(names)-1 {
				reason = protected.Secret
			}
			if why := reason(a.home, dir, name); why != "" {
				return fmt.Errorf("%q is protected because of %q: %s; file tools neither read nor write it", a.spec.Root, name, why)
			}
			dir = filepath.Join(dir, name)
		}
	}
	switch dir := enclosingGitDirectory(a.Real); dir {
	case "":
	case a.Real:
		return fmt.Errorf("%q is %w", a.spec.Root, errGitDirectory)
	default:
		return fmt.Errorf("%q is in %q, which is %w", a.spec.Root, dir, errGitDirectory)
	}
	if a.Only != "" || a.spec.Anyway {
		return nil
	}
	return checkBroad(a.spec.Root, a.Real, a.spec.Home)
}

// Secret is the reason why a path from a directory of the area is secret; "" if it is not.
func (a *Area) Secret(dir, path string) string {
	dir = filepath.Join(a.Real, dir)
	if filepath.IsAbs(path) {
		dir = "/"
	}
	return protected.Secret(a.home, dir, path)
}
