// Package confine opens paths that cannot leave a directory. The directory is
// held open, every name on the way is looked up below an open directory, and
// what is secret, protected or denied is refused.
package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"

	"toolpipe/stream/nearest"
)

// tree is the part of the file system that a file server offers. The root is
// opened once: what its path comes to mean later does not matter. No path
// leaves it, because every name is looked up below an open directory.
type Tree struct {
	spec Spec
	Root *os.Root
	Info fs.FileInfo // the root's
	Path string      // as given, absolute
	Real string      // links resolved
	Only string      // the one file that is offered; "" for all

	Sealed struct{ Name, Why string } // what in real keeps all below from being written

	Writing sync.Mutex // one change at a time
}

// Place is where a path leads: a name in an open directory that is below the
// root, no link on the way.
type Place struct {
	V     *View
	chain []*os.Root // from the root's subdirectory down to dir; closed by close
	Dir   *os.Root
	Name  string      // in dir; "." for the root itself
	Rel   string      // from the root, with slashes
	Info  fs.FileInfo // nil when there is nothing of that name
	Asked string      // as the caller wrote it
	links int         // symbolic links followed
}

func (p *Place) Close() {
	for _, d := range p.chain {
		d.Close()
	}
}

const (
	MaxPath  = 4096 // bytes of a path
	maxNames = 256  // names of a path: a file to be written is looked up anew below each
	maxLinks = 40   // links on the way, as Linux counts
)

// ErrChanged is a file that is another one each time it is looked at.
var ErrChanged = errors.New("it keeps being replaced")

// Find follows a path. The last name need not exist. The caller closes the place.
func (v *View) Find(path string) (*Place, error) {
	names, err := v.Split(path)
	if err != nil {
		return nil, err
	}
	return v.Approved(v.Lookup(path, names))
}

// Lookup is find for names that are some of a path's.
func (v *View) Lookup(path string, names []string) (p *Place, err error) {
	for range 16 {
		if p, err = v.follow(path, names); !errors.Is(err, ErrChanged) {
			if err == nil && v.Only != "" && p.Rel != v.Only && p.Rel != "." {
				p.Close()
				return nil, v.Outside(path)
			}
			return p, err
		}
	}
	return nil, fmt.Errorf("%q: %w", path, err)
}

// Split gives the names of a path from the root on.
func (v *View) Split(path string) ([]string, error) {
	switch {
	case path == "":
		return nil, fmt.Errorf("the path is empty; \".\" is the root %q", v.Path)
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
		for _, root := range [...]string{v.Path, v.Real} {
			if r, ok := strings.CutPrefix(filepath.ToSlash(path), strings.TrimSuffix(filepath.ToSlash(root), "/")); ok && (r == "" || r[0] == '/') {
				rest = "." + r
				break
			}
		}
		if v.Only != "" && filepath.Clean(path) == filepath.Join(v.Path, v.Only) {
			rest = v.Only
		}
		if rest == "" {
			return nil, v.Outside(path)
		}
	}
	if v.Only != "" { // what else there is no error may tell
		clean := filepath.ToSlash(filepath.Clean(rest))
		if clean != v.Only && clean != "." {
			return nil, v.Outside(path)
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

func (v *View) Outside(path string) error {
	if v.Only != "" {
		return fmt.Errorf("%q is not offered; the only file is %q in %q", path, v.Only, v.Path)
	}
	return fmt.Errorf("%q is outside the allowed root %q", path, v.Path)
}

// follow goes down name by name. Each directory is opened below the one
// before, and is the very one that was looked at.
func (v *View) follow(path string, names []string) (_ *Place, err error) {
	p := &Place{V: v, Dir: v.Root, Asked: path}
	defer func() {
		if err != nil {
			p.Close()
		}
	}()
	var done []string
	names = slices.Clone(names)
	for len(names) > 0 {
		name := names[0]
		names = names[1:]
		if name == "" || name == "." {
			continue
		}
		if name == ".." {
			if len(done) == 0 {
				return nil, v.Outside(path)
			}
			done = done[:len(done)-1]
			p.up()
			continue
		}
		if why := Secret(name); why != "" {
			return nil, v.Refusal(path, why)
		}
		info, err := p.Dir.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(names) == 0:
			p.Name, p.Rel = name, strings.Join(append(done, name), "/")
			return p, v.checkOwn(p)
		case err != nil:
			return nil, v.lookupError(p, done, name, err)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := p.target(name)
			if err != nil {
				return nil, err
			}
			names = append(strings.Split(target, "/"), names...)
			continue
		case len(names) == 0:
			p.Name, p.Rel, p.Info = name, strings.Join(append(done, name), "/"), info
			return p, v.checkOwn(p)
		case !info.IsDir():
			return nil, fmt.Errorf("%q: %q is not a directory", path, strings.Join(append(done, name), "/"))
		}
		if err := p.down(name, info, strings.Join(append(done, name), "/")); err != nil {
			return nil, err
		}
		done = append(done, name)
	}
	p.Name, p.Rel = ".", strings.Join(done, "/")
	if p.Rel == "" {
		p.Rel = "."
	}
	if p.Info, err = p.Dir.Stat("."); err == nil {
		err = v.checkOwn(p)
	}
	return p, err
}

// target is where a symbolic link leads, seen from its directory.
func (p *Place) target(name string) (string, error) {
	target, err := p.Dir.Readlink(name)
	p.links++
	switch {
	case p.links > maxLinks:
		return "", fmt.Errorf("%q: too many symbolic links", p.Asked)
	case err != nil:
		return "", ErrChanged
	case filepath.IsAbs(target):
		return "", fmt.Errorf("%q leads over a symbolic link with an absolute target: only relative ones inside the allowed root %q are followed", p.Asked, p.V.Path)
	}
	return filepath.ToSlash(target), nil
}

func (p *Place) up() {
	last := len(p.chain) - 1
	p.chain[last].Close()
	p.chain = p.chain[:last]
	p.Dir = p.V.Root
	if last > 0 {
		p.Dir = p.chain[last-1]
	}
}

// down opens the subdirectory that info was taken of.
func (p *Place) down(name string, info fs.FileInfo, rel string) error {
	if p.V.Own.Has(info) {
		return fmt.Errorf("%q: %w", p.Asked, ErrDenied)
	}
	sub, err := p.V.Subdirectory(p.Dir, name, rel, info)
	if err != nil {
		if errors.Is(err, ErrChanged) {
			return err
		}
		return fmt.Errorf("%q: %w", p.Asked, err)
	}
	p.chain = append(p.chain, sub)
	p.Dir = sub
	return nil
}

// Subdirectory opens a directory unless it is another one than info's by now,
// or the kernel's.
func (v *View) Subdirectory(dir *os.Root, name, rel string, info fs.FileInfo) (*os.Root, error) {
	if Kernels(v.Absolute(rel)) {
		return nil, v.pseudo()
	}
	sub, err := dir.OpenRoot(name)
	if err != nil {
		return nil, Reason(err)
	}
	now, err := sub.Stat(".")
	switch {
	case err != nil:
		err = Reason(err)
	case info != nil && !os.SameFile(info, now):
		err = ErrChanged
	case device(now) != device(v.Info) && pseudo(sub):
		err = v.pseudo()
	case isGitDirectory(sub, "") && SecretPath(rel) == "": // get_git_diff opens .git on purpose
		err = errGitDirectory
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

var errPseudo = errors.New("the file systems of the kernel (/proc, /sys, /dev) are not offered")

func (v *View) pseudo() error { return fmt.Errorf("%w; the allowed root is %q", errPseudo, v.Path) }

// Kernels says whether an absolute path is in the kernel's directories.
func Kernels(path string) bool {
	for _, dir := range [...]string{"/proc", "/sys", "/dev"} {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return false
}

// lookupError says what is wrong with a name on the way, and what is near it.
func (v *View) lookupError(p *Place, done []string, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		at := strings.Join(done, "/")
		return v.missing(p.Dir, p.Asked, at, name)
	}
	return fmt.Errorf("%q: %w", p.Asked, Reason(err))
}

// missing is the error for a name that is not in dir, which is at a path from
// the root.
func (v *View) missing(dir *os.Root, asked, at, name string) error {
	hint := ""
	if near := nearest.Nearest(name, v.names(dir, at)); near != "" {
		if at != "" && at != "." {
			near = at + "/" + near
		}
		hint = fmt.Sprintf("; did you mean %q?", near)
	} else if at != "" && at != "." {
		hint = fmt.Sprintf("; %q has no %q", at, name)
	}
	return &NotFound{fmt.Sprintf("no file %q in the allowed root %q%s", asked, v.Path, hint)}
}

// NotFound is a path that leads to nothing.
type NotFound struct{ message string }

func (e *NotFound) Error() string { return e.message }

// names are some names of a directory, those that may be shown.
func (v *View) names(dir *os.Root, at string) []string {
	if v.Only != "" {
		return []string{v.Only}
	}
	f, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	all, _ := f.Readdirnames(10_000)
	return slices.DeleteFunc(all, func(name string) bool { return v.Hides(at, name) })
}

// Reason is what the system said, without the path it said it of.
func Reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e
	}
	return err
}

// RelPath is a name in a directory that is "." or a path.
func RelPath(at, name string) string {
	if at == "." {
		return name
	}
	return at + "/" + name
}
