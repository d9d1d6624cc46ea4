package gitdiff

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"toolpipe/mcp/confine"
)

// wrongKind is the error for a name that is neither a regular file nor, where one
// is asked for, a directory.
type wrongKind struct{ mode fs.FileMode }

func (e *wrongKind) Error() string { return "it is a " + confine.KindOf(e.mode) }

// isAbsent says whether an error means that no file of that name exists, as git
// sees it: the path to a file leads over directories alone.
func isAbsent(err error) bool {
	_, wrong := errors.AsType[*wrongKind](err)
	return wrong || errors.Is(err, fs.ErrNotExist)
}

// localName says whether a path from git names something below the root.
func localName(name string) bool {
	return name != "." && path.Clean(name) == name && filepath.IsLocal(filepath.FromSlash(name))
}

// readPlain reads the regular file of that name in dir. It follows no link and
// never waits for the other end of a FIFO.
func readPlain(v *confine.Access, dir *os.Root, name string, limit int64) ([]byte, fs.FileInfo, error) {
	before, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, nil, err
	case !before.Mode().IsRegular():
		return nil, nil, &wrongKind{before.Mode()}
	case v.Refuses(before):
		return nil, nil, errors.New("it belongs to toolpipe")
	}
	f, err := dir.OpenFile(name, confine.OpenFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil || !os.SameFile(before, info):
		return nil, nil, confine.ErrChanged
	case info.Size() > limit:
		return nil, nil, fmt.Errorf("it has %d bytes, at most %d are read", info.Size(), limit)
	}
	content, err := io.ReadAll(io.LimitReader(f, info.Size()))
	return content, info, err
}

// openBelow opens the directory at a path from the root, with open for each name
// of it. A link on the way is an error.
func openBelow(v *confine.Access, path string, open func(dir *os.Root, name, rel string, info fs.FileInfo) (*os.Root, error)) (*os.Root, error) {
	dir, err := v.Root.OpenRoot(".")
	for end := 0; err == nil && path != "." && end < len(path); end++ {
		name, _, _ := strings.Cut(path[end:], "/")
		end += len(name)
		above := dir
		info, lookErr := above.Lstat(name)
		switch {
		case lookErr != nil:
			err = lookErr
		case !info.IsDir():
			err = &wrongKind{info.Mode()}
		default:
			dir, err = open(above, name, path[:end], info)
		}
		above.Close()
	}
	return dir, err
}
