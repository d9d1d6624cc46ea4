package mcp

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// git opens by path, and a path may lead anywhere by the time it is opened. So
// git is never let near the root: what it needs is opened here, name by name,
// and handed to it (security.md C7.01 to C7.05).

// wrongKind is a name that is no regular file.
type wrongKind struct{ mode fs.FileMode }

func (e *wrongKind) Error() string { return "it is a " + kindOf(e.mode) }

var errOwn = errors.New("it belongs to toolpipe")

// openPlain opens the regular file of that name in dir. It follows no link and
// waits for nobody.
func (v *view) openPlain(dir *os.Root, name string) (*os.File, fs.FileInfo, error) {
	err := errChanged
	for range 16 {
		before, e := dir.Lstat(name)
		switch {
		case e != nil:
			return nil, nil, e
		case !before.Mode().IsRegular():
			return nil, nil, &wrongKind{before.Mode()}
		case v.own.has(before):
			return nil, nil, errOwn
		}
		f, e := dir.OpenFile(name, openFlags, 0)
		if e != nil {
			err = e
			continue
		}
		if now, e := f.Stat(); e == nil && os.SameFile(before, now) {
			return f, now, nil
		}
		f.Close()
		err = errChanged
	}
	return nil, nil, err
}

// openBelow opens the directory of that name in dir, which is at a path from
// the root. A link is none.
func (v *view) openBelow(dir *os.Root, name, rel string) (*os.Root, error) {
	err := errChanged
	for range 16 {
		info, e := dir.Lstat(name)
		switch {
		case e != nil:
			return nil, e
		case !info.IsDir():
			return nil, &wrongKind{info.Mode()}
		}
		var sub *os.Root
		if sub, err = v.subdirectory(dir, name, rel, info); err == nil {
			return sub, nil
		}
	}
	return nil, err
}

// descent opens one directory below the root after the other and keeps those
// on the way open, for the next is often near.
type descent struct {
	v     *view
	names []string
	dirs  []*os.Root
	bad   string // where there is no way on, with a slash; "" for nowhere
	why   error
}

func (d *descent) close() { d.cut(0) }

func (d *descent) cut(depth int) {
	for _, dir := range d.dirs[depth:] {
		dir.Close()
	}
	d.names, d.dirs = d.names[:depth], d.dirs[:depth]
}

const maxDescent = 256 // directories open inside each other

// to opens the directory at a path from the root, "" for the root. It stays
// the descent's.
func (d *descent) to(path string) (*os.Root, error) {
	if path == "" {
		return d.v.root, nil
	}
	if d.bad != "" && strings.HasPrefix(path+"/", d.bad) {
		return nil, d.why
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
		dir := d.v.root
		if i > 0 {
			dir = d.dirs[i-1]
		}
		rel := strings.Join(names[:i+1], "/")
		sub, err := d.v.openBelow(dir, names[i], rel)
		if err != nil {
			d.bad, d.why = rel+"/", err
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

// attentive reads until a context ends.
type attentive struct {
	ctx context.Context
	r   io.Reader
}

func (a attentive) Read(p []byte) (int, error) {
	if a.ctx.Err() != nil {
		return 0, context.Cause(a.ctx)
	}
	return a.r.Read(p)
}
