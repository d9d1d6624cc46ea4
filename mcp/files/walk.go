package files

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync/atomic"

	"toolpipe/mcp/confine"
)

// entries reads a directory: of the names that may be shown the keep first
// ones in order, and how many there are.
func entries(v *confine.View, ctx context.Context, dir *os.Root, at string, keep int) (list []entry, total int, err error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, 0, confine.Reason(err)
	}
	defer f.Close()
	err = readDirectory(dir, f, func(some []entry) error {
		for _, e := range some {
			if !hidesEntry(v, dir, at, e) {
				list = append(list, e)
				total++
			}
		}
		if len(list) > 2*keep+confine.ReadAtOnce {
			sortEntries(list)
			list = slices.Clip(list[:keep])
		}
		return context.Cause(ctx)
	})
	if err != nil {
		return nil, 0, confine.Reason(err)
	}
	sortEntries(list)
	return list[:min(keep, len(list))], total, nil
}

func sortEntries(list []entry) {
	slices.SortFunc(list, func(a, b entry) int { return strings.Compare(a.name, b.name) })
}

func hidesEntry(v *confine.View, dir *os.Root, at string, e entry) bool {
	if v.Only != "" && e.Name() != v.Only || v.Hides(at, e.Name()) {
		return true
	}
	if !ownHasLinks(v) || !e.Type().IsRegular() {
		return false
	}
	info, err := dir.Lstat(e.Name())
	return err == nil && v.Own.Has(info)
}

// ownHasLinks says whether another name may lead to one of toolpipe's own files.
func ownHasLinks(v *confine.View) bool {
	return slices.ContainsFunc(v.Own.Infos, func(info fs.FileInfo) bool { return !info.IsDir() && confine.Aliased(info) })
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
func (w *walked) rel(name string) string { return confine.RelPath(w.at, name) }

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
		b = fmt.Appendf(b, "[toolpipe] %d entries were not looked at: of a directory only the first %d are\n", l.beyond, confine.MaxKept)
	}
	if l.deep > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d directories were not looked into, being %d levels down; give a path further down\n", l.deep, confine.MaxDepthWalked)
	}
	return b
}

// enter opens a directory that was among the entries of dir. What has become
// a link since is not followed: it may lead to what is protected.
func enter(v *confine.View, dir *os.Root, name, rel string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, confine.Reason(err)
	}
	switch {
	case !info.IsDir():
		return nil, confine.ErrChanged
	case v.Own.Has(info):
		return nil, confine.ErrDenied
	}
	return v.Subdirectory(dir, name, rel, info)
}

// walk visits a directory, then those in it, in order of their names. It
// follows no links and stays out of the kernel's file systems. What it leaves
// out is counted.
func walk(v *confine.View, ctx context.Context, dir *os.Root, at string, visit func(*walked) error) (leftOut, error) {
	var left leftOut
	err := walkFrom(v, ctx, &walked{dir: dir, at: at, depth: 1}, visit, &left)
	return left, err
}

func walkFrom(v *confine.View, ctx context.Context, w *walked, visit func(*walked) error, left *leftOut) error {
	w.retain()
	defer w.release()
	entries, total, err := entries(v, ctx, w.dir, w.at, confine.MaxKept)
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
		case w.depth == confine.MaxDepthWalked:
			left.deep++
			continue
		}
		rel := w.rel(e.Name())
		sub, err := enter(v, w.dir, e.Name(), rel)
		if err != nil {
			left.unread++
			continue
		}
		if err := walkFrom(v, ctx, &walked{dir: sub, at: rel, depth: w.depth + 1}, visit, left); err != nil {
			return err
		}
	}
	return nil
}
