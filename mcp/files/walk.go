package files

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"

	"toolpipe/mcp/confine"
)

const (
	maxDepth   = 256     // directories inside each other that a walk enters
	maxEntries = 200_000 // entries of one directory that a walk looks at
	readBatch  = 1024    // entries read beyond those that are kept, before some are dropped
)

// entries reads a directory. It returns the first entries that may be shown, in
// order of their names and at most keep, and how many there are.
func entries(ctx context.Context, a *confine.Access, dir *os.Root, at string, keep int) (list []fs.DirEntry, total int, err error) {
	f, err := openListed(dir)
	if err != nil {
		return nil, 0, confine.Reason(err)
	}
	defer f.Close()
	for err == nil {
		var some []fs.DirEntry
		some, err = f.ReadDir(readBatch)
		for _, e := range some {
			if !hidesEntry(a, dir, at, e) {
				list = append(list, e)
				total++
			}
		}
		if len(list) > 2*keep+readBatch {
			sortEntries(list)
			list = slices.Clip(list[:keep])
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
	}
	if err != io.EOF {
		return nil, 0, confine.Reason(err)
	}
	sortEntries(list)
	return list[:min(keep, len(list))], total, nil
}

// openListed opens a directory to read its entries. Of a file that was opened in
// an os.Root, ReadDir makes a system call for each entry; of the same file opened
// anew by its descriptor, where the system can do that, it does not.
func openListed(dir *os.Root) (*os.File, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	again, err := os.Open(confine.DescriptorPath(f.Fd()))
	if err != nil {
		return f, nil
	}
	if !confine.IsFile(dir, ".", again) { // this is no path of a descriptor
		again.Close()
		return f, nil
	}
	f.Close()
	return again, nil
}

func sortEntries(list []fs.DirEntry) {
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
}

func hidesEntry(a *confine.Access, dir *os.Root, at string, e fs.DirEntry) bool {
	if a.Only != "" && e.Name() != a.Only || a.Hides(at, e.Name()) {
		return true
	}
	if !a.RefusesHardLinks() || !e.Type().IsRegular() {
		return false
	}
	info, err := dir.Lstat(e.Name())
	return err == nil && a.Refuses(info)
}

// walked is an open directory on a walk. Code that uses it after the visit
// retains it, and releases it afterwards.
type walked struct {
	dir     *os.Root
	at      string // its path from the root; "." for the root
	depth   int    // 1 where the walk began
	entries []fs.DirEntry
	users   atomic.Int32
}

func (w *walked) retain() { w.users.Add(1) }

func (w *walked) release() {
	if w.users.Add(-1) == 0 {
		w.dir.Close()
	}
}

// rel is the path of an entry from the root.
func (w *walked) rel(name string) string { return path.Join(w.at, name) }

// skipped counts what a walk did not look at, so that an answer does not read as
// if there were nothing.
type skipped struct {
	unreadable int // files and directories that could not be opened
	beyond     int // entries of directories with more than maxEntries
	deep       int // directories at maxDepth
}

func (l *skipped) add(m skipped) {
	l.unreadable += m.unreadable
	l.beyond += m.beyond
	l.deep += m.deep
}

// appendTo appends a line for each kind.
func (l skipped) appendTo(b []byte) []byte {
	if l.unreadable > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d directories or files could not be read\n", l.unreadable)
	}
	if l.beyond > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d entries were not looked at: of a directory only the first %d are\n", l.beyond, maxEntries)
	}
	if l.deep > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d directories were not looked into, being %d levels down; give a path further down\n", l.deep, maxDepth)
	}
	return b
}

// enter opens a directory that was among the entries of dir. If a link has taken
// its place since, the link is not followed: it may lead to a protected directory.
func enter(a *confine.Access, dir *os.Root, name, rel string) (*os.Root, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return nil, confine.Reason(err)
	}
	if !info.IsDir() {
		return nil, confine.ErrChanged
	}
	return a.OpenDirectory(dir, name, rel, info)
}

// walk visits a directory, then the directories in it, in order of their names.
// It follows no links, and counts what it skips.
func walk(ctx context.Context, a *confine.Access, dir *os.Root, at string, visit func(*walked) error) (skipped, error) {
	var skipped skipped
	err := walkFrom(ctx, a, &walked{dir: dir, at: at, depth: 1}, visit, &skipped)
	return skipped, err
}

func walkFrom(ctx context.Context, a *confine.Access, w *walked, visit func(*walked) error, skipped *skipped) error {
	w.retain()
	defer w.release()
	entries, total, err := entries(ctx, a, w.dir, w.at, maxEntries)
	if err != nil {
		skipped.unreadable++
		return context.Cause(ctx)
	}
	skipped.beyond += total - len(entries)
	w.entries = entries
	if err := visit(w); err != nil {
		return err
	}
	for _, e := range entries {
		switch {
		case !e.IsDir():
			continue
		case w.depth == maxDepth:
			skipped.deep++
			continue
		}
		rel := w.rel(e.Name())
		sub, err := enter(a, w.dir, e.Name(), rel)
		if err != nil {
			skipped.unreadable++
			continue
		}
		if err := walkFrom(ctx, a, &walked{dir: sub, at: rel, depth: w.depth + 1}, visit, skipped); err != nil {
			return err
		}
	}
	return nil
}
