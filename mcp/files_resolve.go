package mcp

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
)

// tree is the part of the file system that a file server offers. The root is
// opened once: what its path comes to mean later does not matter. No path
// leaves it, because every name is looked up below an open directory.
type tree struct {
	spec rootSpec
	root *os.Root
	info fs.FileInfo // the root's
	path string      // as given, absolute
	real string      // links resolved
	only string      // the one file that is offered; "" for all

	sealed struct{ name, why string } // what in real keeps all below from being written

	writing sync.Mutex // one change at a time
}

// place is where a path leads: a name in an open directory that is below the
// root, no link on the way.
type place struct {
	v     *view
	chain []*os.Root // from the root's subdirectory down to dir; closed by close
	dir   *os.Root
	name  string      // in dir; "." for the root itself
	rel   string      // from the root, with slashes
	info  fs.FileInfo // nil when there is nothing of that name
	asked string      // as the caller wrote it
	links int         // symbolic links followed
}

func (p *place) close() {
	for _, d := range p.chain {
		d.Close()
	}
}

const (
	maxPath  = 4096 // bytes of a path
	maxNames = 256  // names of a path: a file to be written is looked up anew below each
	maxLinks = 40   // links on the way, as Linux counts
)

// errChanged is a file that is another one each time it is looked at.
var errChanged = errors.New("it keeps being replaced")

// find follows a path. The last name need not exist. The caller closes the place.
func (v *view) find(path string) (*place, error) {
	names, err := v.split(path)
	if err != nil {
		return nil, err
	}
	return v.approved(v.lookup(path, names))
}

// lookup is find for names that are some of a path's.
func (v *view) lookup(path string, names []string) (p *place, err error) {
	for range 16 {
		if p, err = v.follow(path, names); !errors.Is(err, errChanged) {
			if err == nil && v.only != "" && p.rel != v.only && p.rel != "." {
				p.close()
				return nil, v.outside(path)
			}
			return p, err
		}
	}
	return nil, fmt.Errorf("%q: %w", path, err)
}

// split gives the names of a path from the root on.
func (v *view) split(path string) ([]string, error) {
	switch {
	case path == "":
		return nil, fmt.Errorf("the path is empty; \".\" is the root %q", v.path)
	case len(path) > maxPath:
		return nil, fmt.Errorf("the path has %d bytes, at most %d are allowed", len(path), maxPath)
	case strings.Count(path, "/") > maxNames:
		return nil, fmt.Errorf("the path has more than %d names", maxNames)
	case strings.IndexByte(path, 0) >= 0:
		return nil, errors.New("the path has a NUL byte")
	}
	rest := filepath.ToSlash(path)
	if filepath.IsAbs(path) {
		rest = ""
		for _, root := range [...]string{v.path, v.real} {
			if r, ok := strings.CutPrefix(filepath.ToSlash(path), strings.TrimSuffix(filepath.ToSlash(root), "/")); ok && (r == "" || r[0] == '/') {
				rest = "." + r
				break
			}
		}
		if v.only != "" && filepath.Clean(path) == filepath.Join(v.path, v.only) {
			rest = v.only
		}
		if rest == "" {
			return nil, v.outside(path)
		}
	}
	if v.only != "" { // what else there is no error may tell
		clean := filepath.ToSlash(filepath.Clean(rest))
		if clean != v.only && clean != "." {
			return nil, v.outside(path)
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

func (v *view) outside(path string) error {
	if v.only != "" {
		return fmt.Errorf("%q is not offered; the only file is %q in %q", path, v.only, v.path)
	}
	return fmt.Errorf("%q is outside the allowed root %q", path, v.path)
}

// follow goes down name by name. Each directory is opened below the one
// before, and is the very one that was looked at.
func (v *view) follow(path string, names []string) (_ *place, err error) {
	p := &place{v: v, dir: v.root, asked: path}
	defer func() {
		if err != nil {
			p.close()
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
				return nil, v.outside(path)
			}
			done = done[:len(done)-1]
			p.up()
			continue
		}
		if why := secret(name); why != "" {
			return nil, v.refusal(path, why)
		}
		info, err := p.dir.Lstat(name)
		switch {
		case errors.Is(err, fs.ErrNotExist) && len(names) == 0:
			p.name, p.rel = name, strings.Join(append(done, name), "/")
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
			p.name, p.rel, p.info = name, strings.Join(append(done, name), "/"), info
			return p, v.checkOwn(p)
		case !info.IsDir():
			return nil, fmt.Errorf("%q: %q is not a directory", path, strings.Join(append(done, name), "/"))
		}
		if err := p.down(name, info, strings.Join(append(done, name), "/")); err != nil {
			return nil, err
		}
		done = append(done, name)
	}
	p.name, p.rel = ".", strings.Join(done, "/")
	if p.rel == "" {
		p.rel = "."
	}
	if p.info, err = p.dir.Stat("."); err == nil {
		err = v.checkOwn(p)
	}
	return p, err
}

// target is where a symbolic link leads, seen from its directory.
func (p *place) target(name string) (string, error) {
	target, err := p.dir.Readlink(name)
	p.links++
	switch {
	case p.links > maxLinks:
		return "", fmt.Errorf("%q: too many symbolic links", p.asked)
	case err != nil:
		return "", errChanged
	case filepath.IsAbs(target):
		return "", fmt.Errorf("%q leads over a symbolic link with an absolute target: only relative ones inside the allowed root %q are followed", p.asked, p.v.path)
	}
	return filepath.ToSlash(target), nil
}

func (p *place) up() {
	last := len(p.chain) - 1
	p.chain[last].Close()
	p.chain = p.chain[:last]
	p.dir = p.v.root
	if last > 0 {
		p.dir = p.chain[last-1]
	}
}

// down opens the subdirectory that info was taken of.
func (p *place) down(name string, info fs.FileInfo, rel string) error {
	if p.v.own.has(info) {
		return fmt.Errorf("%q: %w", p.asked, errDenied)
	}
	sub, err := p.v.subdirectory(p.dir, name, rel, info)
	if err != nil {
		if errors.Is(err, errChanged) {
			return err
		}
		return fmt.Errorf("%q: %w", p.asked, err)
	}
	p.chain = append(p.chain, sub)
	p.dir = sub
	return nil
}

// subdirectory opens a directory unless it is another one than info's by now,
// or the kernel's.
func (v *view) subdirectory(dir *os.Root, name, rel string, info fs.FileInfo) (*os.Root, error) {
	if kernels(v.absolute(rel)) {
		return nil, v.pseudo()
	}
	sub, err := dir.OpenRoot(name)
	if err != nil {
		return nil, reason(err)
	}
	now, err := sub.Stat(".")
	switch {
	case err != nil:
		err = reason(err)
	case info != nil && !os.SameFile(info, now):
		err = errChanged
	case device(now) != device(v.info) && pseudo(sub):
		err = v.pseudo()
	case isGitDirectory(sub, "") && secretPath(rel) == "": // get_git_diff opens .git on purpose
		err = errGitDirectory
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

var errPseudo = errors.New("the file systems of the kernel (/proc, /sys, /dev) are not offered")

func (v *view) pseudo() error { return fmt.Errorf("%w; the allowed root is %q", errPseudo, v.path) }

// kernels says whether an absolute path is in the kernel's directories.
func kernels(path string) bool {
	for _, dir := range [...]string{"/proc", "/sys", "/dev"} {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return false
}

// lookupError says what is wrong with a name on the way, and what is near it.
func (v *view) lookupError(p *place, done []string, name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		at := strings.Join(done, "/")
		return v.missing(p.dir, p.asked, at, name)
	}
	return fmt.Errorf("%q: %w", p.asked, reason(err))
}

// missing is the error for a name that is not in dir, which is at a path from
// the root.
func (v *view) missing(dir *os.Root, asked, at, name string) error {
	hint := ""
	if near := Nearest(name, v.names(dir, at)); near != "" {
		if at != "" && at != "." {
			near = at + "/" + near
		}
		hint = fmt.Sprintf("; did you mean %q?", near)
	} else if at != "" && at != "." {
		hint = fmt.Sprintf("; %q has no %q", at, name)
	}
	return &noFile{fmt.Sprintf("no file %q in the allowed root %q%s", asked, v.path, hint)}
}

// noFile is a path that leads to nothing.
type noFile struct{ message string }

func (e *noFile) Error() string { return e.message }

// names are some names of a directory, those that may be shown.
func (v *view) names(dir *os.Root, at string) []string {
	if v.only != "" {
		return []string{v.only}
	}
	f, err := dir.Open(".")
	if err != nil {
		return nil
	}
	defer f.Close()
	all, _ := f.Readdirnames(10_000)
	return slices.DeleteFunc(all, func(name string) bool { return v.hides(at, name) })
}

// reason is what the system said, without the path it said it of.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e
	}
	return err
}
