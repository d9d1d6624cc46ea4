package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// Open opens the regular file at a location for reading.
func (l *Location) Open() (*os.File, fs.FileInfo, error) {
	if l.Info == nil {
		return nil, nil, l.notFound()
	}
	for range attempts {
		if err := l.CheckRegular(); err != nil {
			return nil, nil, err
		}
		f, err := l.Dir.OpenFile(l.Name, OpenFlags, 0)
		if err == nil {
			info, err := f.Stat()
			if err == nil && os.SameFile(info, l.Info) {
				return f, info, nil
			}
			f.Close()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("%q: %w", l.Asked, Reason(err))
		}
		if l.Info, err = l.Dir.Lstat(l.Name); err != nil {
			return nil, nil, fmt.Errorf("%q: %w", l.Asked, Reason(err))
		}
		if err := l.Access.checkRefused(l); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("%q: %w", l.Asked, ErrChanged)
}

func (l *Location) notFound() error {
	return l.Access.notFound(l.Dir, l.Asked, path.Dir(l.Rel), l.Name)
}

// CheckRegular returns an error when the location is not a regular file.
func (l *Location) CheckRegular() error {
	switch mode := l.Info.Mode(); {
	case mode.IsDir():
		return fmt.Errorf("%q is a directory, not a file; list_directory shows what is in it", l.Asked)
	case !mode.IsRegular():
		return fmt.Errorf("%q is a %s, not a file", l.Asked, KindOf(mode))
	}
	return nil
}

// Directory opens the directory at a location. The caller closes it.
func (l *Location) Directory() (*os.Root, error) {
	switch {
	case l.Info == nil:
		return nil, l.notFound()
	case !l.Info.IsDir():
		return nil, fmt.Errorf("%q is a %s, not a directory", l.Asked, KindOf(l.Info.Mode()))
	}
	info := l.Info
	if l.Name == "." {
		info = nil
	}
	sub, err := l.Access.OpenDirectory(l.Dir, l.Name, l.Rel, info)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", l.Asked, err)
	}
	return sub, nil
}

// OpenDirectory opens a directory in another. rel is its path from the root, and
// info, unless nil, what a look at it gave: a directory that has taken its place
// since is not opened. Nor is one that is refused, that belongs to the kernel, or
// that git takes for a repository.
func (a *Access) OpenDirectory(dir *os.Root, name, rel string, info fs.FileInfo) (*os.Root, error) {
	return a.openDirectory(dir, name, rel, info, false)
}

// OpenGitDirectory is OpenDirectory for what git takes for a repository, and for
// the directories in it.
func (a *Access) OpenGitDirectory(dir *os.Root, name, rel string, info fs.FileInfo) (*os.Root, error) {
	return a.openDirectory(dir, name, rel, info, true)
}

func (a *Access) openDirectory(dir *os.Root, name, rel string, info fs.FileInfo, forGit bool) (*os.Root, error) {
	if InKernelDirectory(a.Absolute(rel)) {
		return nil, a.kernelError()
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
	case !forGit && a.Refuses(now):
		err = errDenied
	case device(now) != device(a.Info) && isKernelFileSystem(sub):
		err = a.kernelError()
	case !forGit && isGitDirectory(sub, ""):
		err = errGitDirectory
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

var errKernel = errors.New("the file systems of the kernel (/proc, /sys, /dev) are not offered")

func (a *Access) kernelError() error {
	return fmt.Errorf("%w; the allowed root is %q", errKernel, a.Path)
}

// InKernelDirectory says whether an absolute path is in /proc, /sys or /dev.
func InKernelDirectory(path string) bool {
	for _, dir := range [...]string{"/proc", "/sys", "/dev"} {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return false
}
