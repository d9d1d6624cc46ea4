package mcp

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

const (
	maxCompared = 32 << 20  // bytes of a file; one that is larger is left out, or for git is binary
	maxCopied   = 128 << 20 // bytes of the working tree that are copied
	maxHashed   = 1 << 30   // bytes that are read to see whether a file changed
	maxIndexed  = 2_000_000 // files in an index
	maxLeft     = 20        // files left out that are named
)

// snapshot is the part of the working tree that may differ from the index: a
// copy, and an index that says of the rest that it does not.
type snapshot struct {
	b       *borrowed
	at      descent
	to      *os.Root // the copy
	path    string   // what is to be shown; "." for all
	index   indexWriter
	room    int64           // bytes that may still be copied
	reading int64           // bytes that may still be read to compare
	copied  []string        // names
	hidden  map[string]bool // names that are not shown
	left    []string        // of those, what the caller is told
	passed  bool            // one that is not shown may differ
	least   int             // bytes that the diff has, if what was copied differs
	end     string          // from this name on nothing was prepared; "" for nowhere
}

// leastShown is how long the diff of a file is at least: a mode that changes
// takes the fewest lines.
func leastShown(name string) int {
	return len("diff --git a/ b/\nold mode 100644\nnew mode 100755\n") + 2*len(name)
}

func (b *borrowed) snapshot(path string) (*snapshot, error) {
	to, err := os.OpenRoot(b.tree())
	if err != nil {
		return nil, reason(err)
	}
	return &snapshot{b: b, at: descent{v: b.v}, to: to, path: path, room: maxCopied, reading: maxHashed, hidden: map[string]bool{}}, nil
}

func (s *snapshot) close() {
	s.at.close()
	s.to.Close()
}

// compare looks at each file in the index, and makes git's own index.
func (s *snapshot) compare(ctx context.Context) error {
	err := s.b.run(ctx, func(r io.Reader) error {
		return readIndex(r, func(e *indexEntry) error { return s.entry(ctx, e) })
	}, "ls-files", "-s", "-v", "-z", "--debug")
	if err != nil {
		return err
	}
	s.b.index = filepath.Join(s.b.dir, "index")
	if index := s.index.done(); index != nil {
		return reason(os.WriteFile(s.b.index, index, 0o600))
	}
	return nil
}

func (s *snapshot) entry(ctx context.Context, e *indexEntry) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !localName(e.name) {
		s.leave(e, "its name leads out of the root")
		return nil
	}
	if !below(e.name, s.path) && path.Base(e.name) != ".gitattributes" {
		return nil // git takes very long to find out that it is not asked for
	}
	if s.index.count == maxIndexed {
		return fmt.Errorf("more than %d files are in the index", maxIndexed)
	}
	if !e.settled && below(e.name, s.path) && s.b.v.protects(e.name) {
		s.passed = s.passed || s.touched(e)
	}
	if !e.settled && !s.settles(e) {
		if err := s.examine(ctx, e); err != nil {
			return err
		}
	}
	if !e.settled || path.Base(e.name) == ".gitattributes" { // git may read either from the index
		if err := s.b.content(ctx, e.id); err != nil {
			return err
		}
	}
	s.index.add(e)
	return nil
}

// examine looks at a file, unless those before it are all that is shown.
func (s *snapshot) examine(ctx context.Context, e *indexEntry) error {
	if s.least > maxText {
		e.settled = true
		if s.end == "" {
			s.end = e.name
		}
		return nil
	}
	id := e.id
	why, err := s.look(ctx, e)
	if why != "" {
		s.leave(e, why)
	}
	if !e.settled || !bytes.Equal(id, e.id) {
		s.least += leastShown(e.name)
	}
	return err
}

// settles says whether there is no need to look at the file.
func (s *snapshot) settles(e *indexEntry) bool {
	e.settled = e.mode != gitFile && e.mode != gitExecutable && e.mode != gitLink || !below(e.name, s.path) || s.b.v.protects(e.name) || s.hidden[e.name]
	return e.settled
}

// touched says whether a file that may not be read looks other than when it
// was added.
func (s *snapshot) touched(e *indexEntry) bool {
	at, name := parentOf(e.name)
	dir, err := s.at.to(at)
	if err != nil {
		return true
	}
	info, err := dir.Lstat(name)
	return err != nil || !e.stat.known || e.stat.size != uint32(info.Size()) || !e.stat.modified.is(info.ModTime())
}

// below says whether a name is that of a path or of something in it.
func below(name, path string) bool {
	return path == "." || name == path || len(name) > len(path) && name[len(path)] == '/' && name[:len(path)] == path
}

// leave leaves a file out of the diff.
func (s *snapshot) leave(e *indexEntry, why string) {
	e.settled = true
	if !s.hidden[e.name] {
		s.hidden[e.name] = true
		s.left = append(s.left, fmt.Sprintf("[toolpipe] %q is left out: %s\n", e.name, why))
	}
}

// look compares the file itself. why is for what cannot be compared.
func (s *snapshot) look(ctx context.Context, e *indexEntry) (why string, err error) {
	at, name := parentOf(e.name)
	dir, err := s.at.to(at)
	var info fs.FileInfo
	if err == nil {
		info, err = dir.Lstat(name)
	}
	switch {
	case err != nil && nowhere(err):
		return "", nil // deleted
	case err != nil:
		return reason(err).Error(), nil
	case s.b.v.own.has(info):
		s.hidden[e.name], e.settled, s.passed = true, true, true
		return "", nil
	case info.IsDir():
		return "", nil // also deleted
	case info.Mode()&fs.ModeSymlink != 0:
		return s.link(dir, name, e)
	case !info.Mode().IsRegular():
		return (&wrongKind{info.Mode()}).Error(), nil
	case e.stage == 0 && sameMode(e, info) && e.stat.is(info, s.b.indexed):
		e.settled = true
		return "", nil
	}
	f, info, err := s.b.v.openPlain(dir, name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", nil
		}
		return reason(err).Error(), nil
	}
	defer f.Close()
	return s.file(ctx, f, info, e)
}

func sameMode(e *indexEntry, info fs.FileInfo) bool {
	return e.mode == gitFile && info.Mode()&0o100 == 0 || e.mode == gitExecutable && info.Mode()&0o100 != 0
}

// file copies a file unless it has the entry's content.
func (s *snapshot) file(ctx context.Context, f *os.File, info fs.FileInfo, e *indexEntry) (why string, err error) {
	size := info.Size()
	if slices.Contains(s.copied[max(0, len(s.copied)-1):], e.name) {
		return "", nil // the other side of a conflict
	}
	if e.stage == 0 && sameMode(e, info) && size <= s.reading && (!e.stat.known || e.stat.size == uint32(size)) {
		s.reading -= size
		sum := blobHash(len(e.id), size)
		if _, err := io.Copy(sum, attentive{ctx, io.LimitReader(f, size)}); err != nil {
			return s.unread(ctx, err)
		}
		if bytes.Equal(sum.Sum(nil), e.id) {
			e.settled = true
			return "", nil
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return s.unread(ctx, err)
		}
	}
	switch {
	case size > maxCompared:
		return fmt.Sprintf("it has %d bytes, at most %d are compared", size, maxCompared), nil
	case max(size, blockSize) > s.room:
		return "too much has changed; a path shows less of it", nil
	}
	s.room -= max(size, blockSize)
	if err := s.write(ctx, e.name, f, info); err != nil {
		return s.unread(ctx, err)
	}
	s.copied = append(s.copied, e.name)
	return "", nil
}

func (s *snapshot) unread(ctx context.Context, err error) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	return reason(err).Error(), nil
}

// write makes the copy of a file.
func (s *snapshot) write(ctx context.Context, name string, f *os.File, info fs.FileInfo) error {
	if at, _ := parentOf(name); at != "" {
		if err := s.to.MkdirAll(filepath.FromSlash(at), 0o700); err != nil {
			return err
		}
	}
	w, err := s.to.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|info.Mode()&0o100)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, attentive{ctx, io.LimitReader(f, info.Size())})
	if e := w.Close(); err == nil {
		err = e
	}
	return err
}

// link makes the entry that of a link, without there being one: git would
// look for attributes behind it.
func (s *snapshot) link(dir *os.Root, name string, e *indexEntry) (why string, err error) {
	target, err := dir.Readlink(name)
	switch {
	case err != nil:
		return reason(err).Error(), nil
	case e.stage != 0:
		return "it is a link, in a conflict", nil
	}
	content := []byte(filepath.ToSlash(target))
	sum := blobHash(len(e.id), int64(len(content)))
	sum.Write(content)
	e.mode, e.id, e.settled = gitLink, sum.Sum(nil), true
	return "", s.b.writeBlob(e.id, content)
}

// writeBlob adds an object to ours.
func (b *borrowed) writeBlob(id, content []byte) error {
	name := hex.EncodeToString(id)
	dir := filepath.Join(b.gitDir(), "objects", name[:2])
	file := filepath.Join(dir, name[2:])
	if _, err := os.Lstat(file); err == nil {
		return nil
	}
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	fmt.Fprintf(z, "blob %d\x00%s", len(content), content)
	z.Close()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return reason(err)
	}
	return reason(os.WriteFile(file, packed.Bytes(), 0o600))
}

// attributes copies the .gitattributes that rule over names.
func (s *snapshot) attributes(ctx context.Context, names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		for name != "" {
			if name, _ = parentOf(name); seen[name] {
				break
			}
			seen[name] = true
			if err := s.attribute(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *snapshot) attribute(ctx context.Context, at string) error {
	dir, err := s.at.to(at)
	if err != nil {
		return nil // git has those in the index
	}
	f, info, err := s.b.v.openPlain(dir, ".gitattributes")
	if err != nil {
		return nil
	}
	defer f.Close()
	if max(info.Size(), blockSize) > s.room {
		return nil
	}
	s.room -= max(info.Size(), blockSize)
	if err := s.write(ctx, path.Join(at, ".gitattributes"), f, info); err != nil && !errors.Is(err, fs.ErrExist) {
		_, err = s.unread(ctx, err)
		return err
	}
	return nil
}
