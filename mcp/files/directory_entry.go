package files

import (
	"io/fs"
	"os"
)

// entry is a name in a directory with its kind. os.File.ReadDir is not used on
// Linux: below an os.Root it makes a system call for each entry.
type entry struct {
	name string
	mode fs.FileMode // the type bits
}

func (e entry) Name() string      { return e.name }
func (e entry) IsDir() bool       { return e.mode.IsDir() }
func (e entry) Type() fs.FileMode { return e.mode }

// statEntry makes the entry of a name when the directory does not tell its kind.
func statEntry(dir *os.Root, name string) (entry, bool) {
	info, err := dir.Lstat(name)
	if err != nil {
		return entry{}, false
	}
	return entry{name, info.Mode().Type()}, true
}
