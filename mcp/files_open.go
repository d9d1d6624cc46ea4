package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// open opens the file at p for reading: a regular one, the one that was
// looked at.
func (p *place) open() (*os.File, fs.FileInfo, error) {
	if p.info == nil {
		return nil, nil, p.absent()
	}
	for range 16 {
		if err := p.regular(); err != nil {
			return nil, nil, err
		}
		f, err := p.dir.OpenFile(p.name, openFlags, 0)
		if err == nil {
			info, err := f.Stat()
			if err == nil && os.SameFile(info, p.info) {
				return f, info, nil
			}
			f.Close()
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("%q: %w", p.asked, reason(err))
		}
		if p.info, err = p.dir.Lstat(p.name); err != nil {
			return nil, nil, fmt.Errorf("%q: %w", p.asked, reason(err))
		}
		if err := p.v.checkOwn(p); err != nil {
			return nil, nil, err
		}
	}
	return nil, nil, fmt.Errorf("%q: %w", p.asked, errChanged)
}

func (p *place) absent() error {
	at, _ := parentOf(p.rel)
	return p.v.missing(p.dir, p.asked, at, p.name)
}

func parentOf(rel string) (dir, name string) {
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		return rel[:i], rel[i+1:]
	}
	return "", rel
}

// regular refuses what is no regular file.
func (p *place) regular() error {
	switch mode := p.info.Mode(); {
	case mode.IsDir():
		return fmt.Errorf("%q is a directory, not a file; list_directory shows what is in it", p.asked)
	case !mode.IsRegular():
		return fmt.Errorf("%q is a %s, not a file", p.asked, kindOf(mode))
	}
	return nil
}

// directory opens the directory at p. The caller closes it.
func (p *place) directory() (*os.Root, error) {
	switch {
	case p.info == nil:
		return nil, p.absent()
	case !p.info.IsDir():
		return nil, fmt.Errorf("%q is a %s, not a directory", p.asked, kindOf(p.info.Mode()))
	}
	info := p.info
	if p.name == "." {
		info = nil
	}
	sub, err := p.v.subdirectory(p.dir, p.name, p.rel, info)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", p.asked, err)
	}
	return sub, nil
}

// kindOf is one word for what a directory entry is.
func kindOf(mode fs.FileMode) string {
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
