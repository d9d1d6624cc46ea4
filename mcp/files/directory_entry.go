package files

import (
	"io/fs"
	"os"
)

// entry is a name in a directory with its kind. An fs.DirEntry of a directory
// that was opened in an os.Root costs a call to the system each.
type entry struct {
	name string
	mode fs.FileMode // the type bits
}

func (e entry) Name() string      { return e.name }
func (e entry) IsDir() bool       { return e.mode.IsDir() }
func (e entry) Type() fs.FileMode { return e.mode }

// lookAt is the entry of a name whose directory does not tell its kind.
func lookAt(dir *os.Root, name string) (entry, bool) {
	info, err := dir.Lstat(name)
	if err != nil {
		return entry{}, false
	}
	return entry{name, info.Mode().Type()}, true
}
