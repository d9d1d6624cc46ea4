package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"unicode"
)

// Open opens the file at p for reading: a regular one, the one that was
// looked at.
func (p *Place) Open() (*os.File, fs.FileInfo, error) {
	if p.Info == nil {
		return nil, nil, p.absent()
	}
	for range 16 {
		if err := p.Regular(); err != nil {
			return nil, nil, err
		}
		f, err := p.Dir.OpenFile(p.Name, OpenFlags, 0)
		if err == nil {
			info, err := f.Stat()
			if err == nil && os.SameFile(info, p.Info) {
				return f, info, nil
			}
			f.Close()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("%q: %w", p.Asked, Reason(err))
		}
		if p.Info, err = p.Dir.Lstat(p.Name); err != nil {
			return nil, nil, fmt.Errorf("%q: %w", p.Asked, Reason(err))
		}
		if err := p.V.checkOwn(p); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("%q: %w", p.Asked, ErrChanged)
}

func (p *Place) absent() error {
	at, _ := ParentOf(p.Rel)
	return p.V.missing(p.Dir, p.Asked, at, p.Name)
}

func ParentOf(rel string) (dir, name string) {
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		return rel[:i], rel[i+1:]
	}
	return "", rel
}

// Regular refuses what is no regular file.
func (p *Place) Regular() error {
	switch mode := p.Info.Mode(); {
	case mode.IsDir():
		return fmt.Errorf("%q is a directory, not a file; list_directory shows what is in it", p.Asked)
	case !mode.IsRegular():
		return fmt.Errorf("%q is a %s, not a file", p.Asked, KindOf(mode))
	}
	return nil
}

// Directory opens the directory at p. The caller closes it.
func (p *Place) Directory() (*os.Root, error) {
	switch {
	case p.Info == nil:
		return nil, p.absent()
	case !p.Info.IsDir():
		return nil, fmt.Errorf("%q is a %s, not a directory", p.Asked, KindOf(p.Info.Mode()))
	}
	info := p.Info
	if p.Name == "." {
		info = nil
	}
	sub, err := p.V.Subdirectory(p.Dir, p.Name, p.Rel, info)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", p.Asked, err)
	}
	return sub, nil
}

// KindOf is one word for what a directory entry is.
func KindOf(mode fs.FileMode) string {
	switch {
	case mode.IsRegular():
		return "file"
	case mode.IsDir():
		return "directory"
	case mode&fs.ModeSymlink != 0:
		return "link"
	case mode&fs.ModeNamedPipe != 0:
		return "fifo"
	case mode&fs.ModeSocket != 0:
		return "socket"
	case mode&fs.ModeDevice != 0:
		return "device"
	}
	return "special file"
}

// ShownName is a name on a line of its own: as it is, or quoted where it
// would not look like what it is.
func ShownName(name string) string {
	plain := name != "" && name == strings.TrimSpace(name) && name[0] != '"'
	for _, r := range name {
		plain = plain && r != unicode.ReplacementChar && unicode.IsGraphic(r)
	}
	if plain {
		return name
	}
	return strconv.Quote(name)
}

const (
	MaxDepthWalked = 256     // directories inside each other
	MaxKept        = 200_000 // entries of one directory that a walk looks at
	ReadAtOnce     = 1024    // entries more than are kept before some are dropped
)

// Descriptor is the name that an open file has for the process itself.
func Descriptor(fd uintptr) string { return fmt.Sprintf("/proc/self/fd/%d", fd) }
