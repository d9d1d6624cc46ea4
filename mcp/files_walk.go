package mcp

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"
)

const (
	maxDepthWalked = 256     // directories inside each other
	maxKept        = 200_000 // entries of one directory that a walk looks at
	readAtOnce     = 1024    // entries more than are kept before some are dropped
)

// entries reads a directory: of the names that may be shown the keep first
// ones in order, and how many there are.
func (v *view) entries(ctx context.Context, dir *os.Root, at string, keep int) (list []entry, total int, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, 0, reason(err)
	}
	defer f.Close()
	err = readDirectory(dir, f, func(some []entry) error {
		for _, e := range some {
			if !v.hidesEntry(dir, at, e) {
				list = append(list, e)
				total++
			}
		}
		if len(list) > 2*keep+readAtOnce {
			sortEntries(list)
			list = slices.Clip(list[:keep])
		}
		return context.Cause(ctx)
	})
	if err != nil {
		return nil, 0, reason(err)
	}
	sortEntries(list)
	return list[:min(keep, len(list))], total, nil
}

func sortEntries(list []entry) {
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
}

func (v *view) hidesEntry(dir *os.Root, at string, e entry) bool {
	if v.only != "" && e.Name() != v.only || v.hides(at, e.Name()) {
		return true
	}
	if !v.ownHasLinks() || !e.Type().IsRegular() {
		return false
	}
	info, err := dir.Lstat(e.Name())
	return err == nil && v.own.has(info)
}

// ownHasLinks says whether another name may lead to one of toolpipe's own files.
func (v *view) ownHasLinks() bool {
	return slices.ContainsFunc(v.own.infos, func(info fs.FileInfo) bool { return !info.IsDir() && aliased(info) })
}

// walked is a directory on a walk. Whoever needs it longer than the visit
// retains it, and releases it.
type walked struct {
	dir     *os.Root
	at      string // from the root; "." for the root
	depth   int    // of what is in it; 1 where the walk began
	entries []entry
	users   atomic.Int32
}

func (w *walked) retain() { w.users.Add(1) }

func (w *walked) release() {
	if w.users.Add(-1) == 0 {
		w.dir.Close()
	}
}

// rel is where an entry is, from the root.
func (w *walked) rel(name string) string { return relPath(w.at, name) }

// relPath is a name in a directory that is "." or a path.
func relPath(at, name string) string {
	if at == "." {
		return name
	}
	return at + "/" + name
}

// leftOut is what a walk did not look at. A caller that shows nothing of it
// would say that there is nothing.
type leftOut struct {
	unread int // files and directories that could not be opened
	beyond int // entries of directories with more than maxKept
	deep   int // directories at maxDepthWalked
}

func (l *leftOut) add(m leftOut) {
	l.unread += m.unread
	l.beyond += m.beyond
	l.deep += m.deep
}

// appendTo appends a line for each kind.
func (l leftOut) appendTo(b []byte) []byte {
	if l.unread > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d directories or files could not be read\n", l.unread)
	}
	if l.beyond > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d entries were not looked at: of a directory only the first %d are\n", l.beyond, maxKept)
	}
	if l.deep > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d directories were not looked into, being %d levels down; give a path further down\n", l.deep, maxDepthWalked)
	}
	return b
}

// enter opens a directory that was among the entries of dir. What has become
// a link since is not followed: it may lead to what is protected.
func (v *view) enter(dir *os.Root, name, rel string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, reason(err)
	}
	switch {
	case !info.IsDir():
		return nil, errChanged
	case v.own.has(info):
		return nil, errDenied
	}
	return v.subdirectory(dir, name, rel, info)
}

// walk visits a directory, then those in it, in order of their names. It
// follows no links and stays out of the kernel's file systems. What it leaves
// out is counted.
func (v *view) walk(ctx context.Context, dir *os.Root, at string, visit func(*walked) error) (leftOut, error) {
	var left leftOut
	err := v.walkFrom(ctx, &walked{dir: dir, at: at, depth: 1}, visit, &left)
	return left, err
}

func (v *view) walkFrom(ctx context.Context, w *walked, visit func(*walked) error, left *leftOut) error {
	w.retain()
	defer w.release()
	entries, total, err := v.entries(ctx, w.dir, w.at, maxKept)
	if err != nil {
		left.unread++
		return context.Cause(ctx)
	}
	left.beyond += total - len(entries)
	w.entries = entries
	if err := visit(w); err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case !e.IsDir():
			continue
		case w.depth == maxDepthWalked:
			left.deep++
			continue
		}
		rel := w.rel(e.Name())
		sub, err := v.enter(w.dir, e.Name(), rel)
		if err != nil {
			left.unread++
			continue
		}
		if err := v.walkFrom(ctx, &walked{dir: sub, at: rel, depth: w.depth + 1}, visit, left); err != nil {
			return err
		}
	}
	return nil
}
