package gitdiff

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"toolpipe/mcp/confine"
)

// git opens by path, and a path may lead anywhere by the time it is opened. So
// git gets copies of files that are opened here, name by name. Only the objects
// it reads where they are, after a look that none of them is a link or a special
// file: who exchanges one for a link at that moment can have git read objects of
// another repository, if these have the very ids that git looks for.

// wrongKind is a name that is no regular file.
type wrongKind struct{ mode fs.FileMode }

func (e *wrongKind) Error() string { return "it is a " + confine.KindOf(e.mode) }

var errOwn = errors.New("it belongs to toolpipe")

// openPlain opens the regular file of that name in dir. It follows no link and
// waits for nobody.
func openPlain(v *confine.Access, dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	before, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, nil, err
	case !before.Mode().IsRegular():
		return nil, nil, &wrongKind{before.Mode()}
	case v.Refuses(before):
		return nil, nil, errOwn
	}
	f, err := dir.OpenFile(name, confine.OpenFlags, 0)
	if err != nil {
		return nil, nil, err
	}
	if now, err := f.Stat(); err == nil && os.SameFile(before, now) {
		return f, now, nil
	}
	f.Close()
	return nil, nil, confine.ErrChanged
}

// openBelow opens the directory of that name in dir, which is at a path from
// the root. A link is none.
func openBelow(v *confine.Access, dir *os.Root, name, rel string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, &wrongKind{info.Mode()}
	}
	return v.OpenDirectory(dir, name, rel, info)
}

// descent opens directories below the root. Those on the way stay open, as the
// next directory is often near.
type descent struct {
	v     *confine.Access
	git   bool // git directories are opened on purpose, whatever their names
	names []string
	dirs  []*os.Root
}

func (d *descent) close() { d.cut(0) }

func (d *descent) cut(depth int) {
	for _, dir := range d.dirs[depth:] {
		dir.Close()
	}
	d.names, d.dirs = d.names[:depth], d.dirs[:depth]
}

const maxDescent = 256 // directories open inside each other

// to opens the directory at a path from the root, "" for the root. It is open
// until the next call, and is closed by the descent.
func (d *descent) to(path string) (*os.Root, error) {
	if path == "" {
		return d.v.Root, nil
	}
	names := strings.Split(path, "/")
	if len(names) > maxDescent {
		return nil, errors.New("it is too deep")
	}
	same := 0
	for same < len(names) && same < len(d.names) && names[same] == d.names[same] {
		same++
	}
	d.cut(same)
	for i := same; i < len(names); i++ {
		dir := d.v.Root
		if i > 0 {
			dir = d.dirs[i-1]
		}
		rel := strings.Join(names[:i+1], "/")
		if d.git && !confine.InKernelDirectory(d.v.Absolute(rel)) {
			rel = ".git/" + rel
		}
		sub, err := openBelow(d.v, dir, names[i], rel)
		if err != nil {
			return nil, err
		}
		d.names, d.dirs = append(d.names, names[i]), append(d.dirs, sub)
	}
	return d.dirs[len(d.dirs)-1], nil
}

// nowhere says whether an error means that there is nothing of that name, as
// git sees it: no way leads over a file or a link.
func nowhere(err error) bool {
	_, wrong := errors.AsType[*wrongKind](err)
	return wrong || errors.Is(err, fs.ErrNotExist)
}

// localName says whether a path from git names something below the root.
func localName(name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return filepath.IsLocal(filepath.FromSlash(name))
}

// contextReader reads until a context ends.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r contextReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}
