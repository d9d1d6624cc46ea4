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

// isAbsent says whether an error means that no file of that name exists, as git
// sees it: the path to a file leads over directories alone.
func isAbsent(err error) bool {
	_, wrong := errors.AsType[*confine.WrongKindError](err)
	return wrong || errors.Is(err, fs.ErrNotExist)
}

// localName says whether a path from git names something below the root.
func localName(name string) bool {
	return name != "." && path.Clean(name) == name && filepath.IsLocal(name)
}

// readPlain reads the regular file of that name in dir.
func (r *repository) readPlain(dir *os.Root, name string, limit int64) ([]byte, fs.FileInfo, error) {
	f, info, err := confine.OpenRegular(dir, name)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	switch {
	case r.access.Refuses(info):
		return nil, nil, errors.New("it belongs to toolpipe")
	case info.Size() > limit:
		return nil, nil, fmt.Errorf("it has %d bytes, at most %d are read", info.Size(), limit)
	}
	content, err := io.ReadAll(io.LimitReader(f, info.Size()))
	return content, info, err
}

// openBelow opens the directory at a path from the root, with open for each name
// of it. A link on the way is an error.
func (r *repository) openBelow(at string, open func(dir *os.Root, name, rel string) (*os.Root, error)) (*os.Root, error) {
	dir, err := r.access.Root.OpenRoot(".")
	rel := "."
	for name := range strings.SplitSeq(at, "/") {
		if err != nil || name == "." {
			break
		}
		above := dir
		rel = path.Join(rel, name)
		dir, err = open(above, name, rel)
		above.Close()
	}
	return dir, err
}
