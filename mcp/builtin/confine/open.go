package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// WrongKindError is the error for a name that is not a regular file or, if a directory is
// opened, not a directory.
type WrongKindError struct{ Mode fs.FileMode }

func (e *WrongKindError) Error() string { return "it is a " + KindOf(e.Mode) }

// OpenRegular opens a file in a directory for reading. It follows no link and does not wait
// for the other end of a FIFO: both give a *WrongKindError. A file that was replaced
// meanwhile gives ErrChanged.
func OpenRegular(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, &WrongKindError{before.Mode()}
	}
	f, err := dir.OpenFile(name, OpenFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err != nil || !os.SameFile(before, info) {
		f.Close()
		return nil, nil, ErrChanged
	}
	return f, info, nil
}

// Open opens the regular file at a location for reading.
func (l *Location) Open() (f *os.File, info fs.FileInfo, err error) {
	if content, ok := l.staged(); ok {
		return openStaged(content)
	}
	if l.Info == nil {
		return nil, nil, l.notFound(l.Rel)
	}
	if err := l.checkRegular(); err != nil {
		return nil, nil, err
	}
	for range attempts {
		if f, info, err = OpenRegular(l.here().dir, l.Name); !errors.Is(err, ErrChanged) {
			break
		}
	}
	if err != nil {
		return nil, nil, l.fail(err)
	}
	l.Info = info
	if err := l.Access.checkRefused(l); err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

func (l *Location) checkRegular() error {
	switch mode := l.Info.Mode(); {
	case mode.IsDir():
		return fmt.Errorf("%q is a directory, not a file; list_directory shows what is in it", l.Asked)
	case !mode.IsRegular():
		return fmt.Errorf("%q is a %s, not a file", l.Asked, KindOf(mode))
	}
	return nil
}

// Directory opens the directory at a location, to begin a walk there. Close closes it.
func (l *Location) Directory() (*Walked, error) {
	l.Access.walked, l.Access.ignoredFiles, l.Access.ignoredDirs = true, 0, 0
	switch {
	case l.Info == nil:
		return nil, l.notFound(l.Rel)
	case !l.Info.IsDir():
		return nil, fmt.Errorf("%q is a %s, not a directory", l.Asked, KindOf(l.Info.Mode()))
	}
	if err := l.down(false); err != nil {
		return nil, err
	}
	l.Name = "."
	return &Walked{Dir: l.here().dir, At: l.Rel, ignoring: l.Access.ignoringAbove(l)}, nil
}

// OpenDirectory opens a directory in another; rel is its path from the root. It follows no
// link and opens no directory of the kernel. Unless forGit, it also refuses directories that
// are refused or that git treats as a repository.
func (a *Access) OpenDirectory(dir *os.Root, name, rel string, forGit bool) (*os.Root, error) {
	a.walked = a.walked || forGit // git looks at the disk, whatever file it is asked for
	if inKernelDirectory(a.Absolute(rel)) {
		return nil, a.kernelError()
	}
	before, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !before.IsDir() {
		return nil, &WrongKindError{before.Mode()}
	}
	sub, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	now, err := sub.Stat(".")
	switch {
	case err != nil:
	case !os.SameFile(before, now):
		err = ErrChanged
	case !forGit && a.Refuses(now):
		err = errDenied
	case stat(now).Dev != stat(a.Info).Dev && isKernelFileSystem(sub):
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

// inKernelDirectory reports whether an absolute path is in /proc, /sys or /dev.
func inKernelDirectory(path string) bool {
	return IsBelow(path, "/proc") || IsBelow(path, "/sys") || IsBelow(path, "/dev")
}
