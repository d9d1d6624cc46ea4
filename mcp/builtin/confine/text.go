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

// IsBelow reports whether a path is that of a directory, or of something below it. It
// looks at the names alone.
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

// ShownName returns a file name for a line of an answer: as it is, or quoted
// where it could be taken for something else.
func ShownName(name string) string {
	isOdd := func(r rune) bool { return r == unicode.ReplacementChar || !unicode.IsGraphic(r) }
	if name != "" && name == strings.TrimSpace(name) && name[0] != '"' && !strings.ContainsFunc(name, isOdd) {
		return name
	}
	return strconv.Quote(name)
}

// Reason returns what the system said, without the path, which an error gives
// as the caller wrote it.
func Reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e
	}
	return err
}
