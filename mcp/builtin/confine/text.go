package confine

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

// IsBelow reports whether path is dir or below it. It compares only the names.
func IsBelow(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// KindOf is the word for a kind of directory entry.
func KindOf(mode fs.FileMode) string {
	switch mode.Type() {
	case 0:
		return "file"
	case fs.ModeDir:
		return "directory"
	case fs.ModeSymlink:
		return "link"
	case fs.ModeNamedPipe:
		return "fifo"
	case fs.ModeSocket:
		return "socket"
	case fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice:
		return "device"
	}
	return "special file"
}

// ShownName returns a file name for a line of an answer: unchanged, or quoted if it could be
// mistaken for something else.
func ShownName(name string) string {
	isOdd := func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsGraphic(r) }
	if name != "" && name == strings.TrimSpace(name) && name[0] != '"' && !strings.ContainsFunc(name, isOdd) {
		return name
	}
	return strconv.Quote(name)
}

// Reason returns the system's error without the path, because callers add the path as the
// user wrote it.
func Reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e
	}
	return err
}
