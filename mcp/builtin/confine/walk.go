package confine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

const (
	MaxDepth   = 256     // nested directories that a walk enters
	MaxEntries = 200_000 // entries of one directory that a walk checks
	readBatch  = 1024    // extra entries that are read before some are dropped
)

// Entries reads the directory of a walk. It returns the first entries that may be shown, at
// most keep in order of their names, and the total number.
func (a *Access) Entries(ctx context.Context, w *Walked, keep int) (list []fs.DirEntry, total int, err error) {
	f, err := openListed(w.Dir)
	if err != nil {
		return nil, 0, Reason(err)
	}
	defer f.Close()
	at := a.Absolute(w.At)
	for first := true; err == nil; first = false {
		var some []fs.DirEntry
		some, err = f.ReadDir(readBatch)
		if first {
			a.readIgnoring(w, at, some)
		}
		for _, e := range some {
			if ctx.Err() == nil && !a.hidesEntry(w.Dir, w.At, e) && !a.ignores(w, at, e) {
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
		return nil, 0, Reason(err)
	}
	sortEntries(list)
	return list[:min(keep, len(list))], total, nil
}

// openListed opens a directory to read its entries. For a file from an os.Root, ReadDir makes
// a system call for each entry. A reopened file avoids that, so openListed reopens it by its
// descriptor if the system can do that.
func openListed(dir *os.Root) (*os.File, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	again, err := os.Open(DescriptorPath(f.Fd()))
	if err != nil {
		return f, nil
	}
	if there, _ := isFile(dir, ".", again); !there { // this is not a path of a descriptor
		again.Close()
		return f, nil
	}
	f.Close()
	return again, nil
}

func sortEntries(list []fs.DirEntry) {
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
}

func (a *Access) hidesEntry(dir *os.Root, at string, e fs.DirEntry) bool {
	if a.Only != "" && e.Name() != a.Only || a.hides(at, e.Name()) {
		return true
	}
	isLinked := func(info fs.FileInfo) bool { return !info.IsDir() && stat(info).Nlink > 1 }
	if !e.Type().IsRegular() || !slices.ContainsFunc(a.refusedFiles, isLinked) {
		return false // its name alone decides whether it is refused
	}
	info, err := dir.Lstat(e.Name())
	return err == nil && a.Refuses(info)
}

// Walked is a directory on a walk. It is open during the visit.
type Walked struct {
	Dir     *os.Root
	At      string // its path from the root; "." for the root
	Depth   int    // 0 for the first directory
	Entries []fs.DirEntry

	ignoring ignoring // the ignore files above it, and its own after Entries
}

// Rel is the path of an entry from the root.
func (w *Walked) Rel(name string) string { return path.Join(w.At, name) }

// Enter opens a directory from the entries of another. It returns nil and counts the
// directory if it may not be entered.
func (a *Access) Enter(w *Walked, name string, skipped *Skipped) *Walked {
	if w.Depth == MaxDepth-1 {
		skipped.Deep++
		return nil
	}
	dir, err := a.OpenDirectory(w.Dir, name, w.Rel(name), false)
	if err != nil {
		skipped.Unreadable++
		return nil
	}
	return &Walked{Dir: dir, At: w.Rel(name), Depth: w.Depth + 1, ignoring: w.ignoring}
}

// A Batch is a directory of a walk that stays open after the visit, for reading files among
// its entries. Only one goroutine at a time may call its methods.
type Batch struct {
	access *Access
	at     string // its path from the root
	dir    batchDirectory
}

// Batch keeps a directory of a walk open until Close.
func (a *Access) Batch(w *Walked) (*Batch, error) {
	dir, err := openBatch(w.Dir)
	if err != nil {
		return nil, err
	}
	return &Batch{a, w.At, dir}, nil
}

// Close closes the directory.
func (b *Batch) Close() { b.dir.Close() }

// Rel is the path of an entry from the root.
func (b *Batch) Rel(name string) string { return path.Join(b.at, name) }

// Open opens a regular file among the entries for reading, and returns its size. It follows
// no link and does not wait for the other end of a FIFO. The file is nil if it is gone or may
// not be shown.
func (b *Batch) Open(name string) (f io.ReadCloser, size int64, err error) {
	f, info, err := b.dir.open(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, 0, nil
	case err != nil:
		return nil, 0, Reason(err)
	case b.access.refusesFile(&info):
		f.Close()
		return nil, 0, nil
	}
	return f, info.Size, nil
}

// Skipped counts what a walk skipped, so that an answer does not look complete.
type Skipped struct {
	Unreadable int // files and directories that could not be opened
	Beyond     int // entries of directories with more than MaxEntries
	Deep       int // directories at MaxDepth
}

// AppendTo appends a line for each kind.
func (l Skipped) AppendTo(b []byte) []byte {
	if l.Unreadable > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d directories or files could not be read\n", l.Unreadable)
	}
	if l.Beyond > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d entries were not read: only the first %d of a directory are\n", l.Beyond, MaxEntries)
	}
	if l.Deep > 0 {
		b = fmt.Appendf(b, "[toolpipe] %d directories were not read because they are %d levels down; give a deeper path\n", l.Deep, MaxDepth)
	}
	return b
}

// Walk visits the directory at a location, then the directories in it, in order of their
// names. It follows no links, and counts what it skips.
func (l *Location) Walk(ctx context.Context, visit func(*Walked) error) (skipped Skipped, err error) {
	w, err := l.Directory()
	if err != nil {
		return skipped, err
	}
	err = l.Access.walk(ctx, w, visit, &skipped)
	return skipped, err
}

func (a *Access) walk(ctx context.Context, w *Walked, visit func(*Walked) error, skipped *Skipped) error {
	entries, total, err := a.Entries(ctx, w, MaxEntries)
	if err != nil {
		skipped.Unreadable++
		return context.Cause(ctx)
	}
	skipped.Beyond += total - len(entries)
	w.Entries = entries
	if err := visit(w); err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if sub := a.Enter(w, e.Name(), skipped); sub != nil {
			err := a.walk(ctx, sub, visit, skipped)
			sub.Dir.Close()
			if err != nil {
				return err
			}
		}
	}
	return nil
}
