package gitdiff

import (
	"bufio"
	"bytes"
	"compress/zlib"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"toolpipe/mcp/confine"
	"toolpipe/mcp/toolserver"
)

const (
	maxCompared = 32 << 20  // bytes of a file; one that is larger is left out, or for git is binary
	maxCopied   = 128 << 20 // bytes of the working tree that are copied
	maxIndexed  = 2_000_000 // files in an index
	maxLeft     = 20        // files left out that are named
)

// maxChanged is how many files are made: more than an answer shows.
var maxChanged = 4000

// snapshot is the part of the working tree that may differ from the index: a
// copy, and an index that says of the rest that it does not.
type snapshot struct {
	g       *privateGit
	at      descent
	to      *os.Root // the copy
	path    string   // what is to be shown; "." for all
	count   int      // entries of the index
	settled *bufio.Writer
	open    *bufio.Writer
	room    int64           // bytes that may still be copied
	files   int             // that were made
	end     string          // from this name on no file was compared; "" for none
	copied  string          // the last of them
	hidden  map[string]bool // names that are not shown
	left    []string        // what the caller is told of those
	passed  bool            // a file that is not shown may differ
}

func (g *privateGit) snapshot(path string) (*snapshot, error) {
	to, err := os.OpenRoot(g.tree())
	if err != nil {
		return nil, confine.Reason(err)
	}
	return &snapshot{g: g, at: descent{v: g.v}, to: to, path: path, room: maxCopied, hidden: map[string]bool{}}, nil
}

func (s *snapshot) close() {
	s.at.close()
	s.to.Close()
}

// compare looks at each file in the index, and has git make an index in which
// only those that may differ are compared with the working tree: core.ignoreStat
// marks the others as assumed to be unchanged.
func (s *snapshot) compare(ctx context.Context) error {
	var lists [2]*os.File
	for i, name := range [...]string{"settled", "open"} {
		f, err := os.Create(filepath.Join(s.g.dir, name))
		if err != nil {
			return confine.Reason(err)
		}
		defer f.Close()
		lists[i] = f
	}
	s.settled, s.open = bufio.NewWriterSize(lists[0], toolserver.ReadChunk), bufio.NewWriterSize(lists[1], toolserver.ReadChunk)
	err := s.g.run(ctx, os.DevNull, func(r io.Reader) error {
		return readIndex(r, func(e *indexEntry) error { return s.entry(ctx, e) })
	}, "ls-files", "-s", "-v", "-z", "--debug")
	if err = errors.Join(err, s.settled.Flush(), s.open.Flush()); err != nil {
		return confine.Reason(err)
	}
	s.g.index = filepath.Join(s.g.dir, "index")
	for i, ignore := range [...]string{"core.ignoreStat=true", "core.ignoreStat=false"} {
		nothing := func(r io.Reader) error { _, err := io.Copy(io.Discard, r); return err }
		if err := s.g.run(ctx, lists[i].Name(), nothing, "-c", ignore, "update-index", "-z", "--index-info"); err != nil {
			return err
		}
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
	if s.count++; s.count > maxIndexed {
		return fmt.Errorf("more than %d files are in the index", maxIndexed)
	}
	switch {
	case e.settled:
	case s.end != "", e.mode != gitFile && e.mode != gitExecutable && e.mode != gitLink, !below(e.name, s.path), s.hidden[e.name]:
		e.settled = true
	default:
		why, err := s.look(ctx, e)
		if err != nil {
			return err
		}
		if why != "" {
			s.leave(e, why)
		}
	}
	list := s.open
	if e.settled {
		list = s.settled
	}
	_, err := fmt.Fprintf(list, "%s %s %s\t%s\x00", e.mode, e.id, e.stage, e.name)
	return err
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
	at, name := confine.SplitLast(e.name)
	dir, err := s.at.to(at)
	var info fs.FileInfo
	if err == nil {
		info, err = dir.Lstat(name)
	}
	switch {
	case protects(s.g.v, e.name):
		e.settled, s.passed = true, s.passed || err != nil || !e.stat.is(info)
		return "", nil
	case err != nil && nowhere(err):
		return "", nil // deleted
	case err != nil:
		return confine.Reason(err).Error(), nil
	case s.g.v.Refuses(info):
		s.hidden[e.name], e.settled, s.passed = true, true, true
		return "", nil
	case info.IsDir():
		return "", nil // also deleted
	case info.Mode()&fs.ModeSymlink != 0:
		return s.link(dir, name, e)
	case !info.Mode().IsRegular():
		return (&wrongKind{info.Mode()}).Error(), nil
	case sameMode(e, info) && e.stat.is(info) && e.stat.modified.before(s.g.indexed):
		// What was added just before the index was written may have changed since
		// without a trace (git calls that racy).
		e.settled = true
		return "", nil
	}
	f, info, err := openPlain(s.g.v, dir, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err == nil {
		defer f.Close()
		why, err = s.file(ctx, f, info, e)
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if err != nil {
		why = confine.Reason(err).Error()
	}
	return why, nil
}

// sameMode says whether a file has the mode of an entry that is in no conflict.
func sameMode(e *indexEntry, info fs.FileInfo) bool {
	return e.stage == "0" && (e.mode == gitFile && info.Mode()&0o100 == 0 || e.mode == gitExecutable && info.Mode()&0o100 != 0)
}

// file copies a file unless it has the entry's content.
func (s *snapshot) file(ctx context.Context, f *os.File, info fs.FileInfo, e *indexEntry) (why string, err error) {
	size := info.Size()
	if s.copied == e.name {
		return "", nil // the other side of a conflict
	}
	if sameMode(e, info) && (!e.stat.known || e.stat.size == uint32(size)) {
		sum := blobHash(len(e.id), size)
		if _, err := io.Copy(sum, contextReader{ctx, io.LimitReader(f, size)}); err != nil {
			return "", err
		}
		if hex.EncodeToString(sum.Sum(nil)) == e.id {
			e.settled = true
			return "", nil
		}
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return "", err
		}
	}
	switch {
	case size > maxCompared:
		return fmt.Sprintf("it has %d bytes, at most %d are compared", size, maxCompared), nil
	case size > s.room:
		return "too much has changed; a path shows less of it", nil
	case s.full(e):
		return "", nil
	}
	if err := s.write(ctx, e.name, f, info); err != nil {
		return "", err
	}
	s.copied = e.name
	return "", nil
}

// full says whether no more files are made, and otherwise counts one.
func (s *snapshot) full(e *indexEntry) bool {
	if s.files++; s.files > maxChanged {
		s.end, e.settled = e.name, true
	}
	return e.settled
}

// write makes the copy of a file.
func (s *snapshot) write(ctx context.Context, name string, f *os.File, info fs.FileInfo) error {
	s.room -= info.Size()
	if at, _ := confine.SplitLast(name); at != "" {
		if err := s.to.MkdirAll(filepath.FromSlash(at), 0o700); err != nil {
			return err
		}
	}
	w, err := s.to.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600|info.Mode()&0o100)
	if err != nil {
		return err
	}
	return copyAll(ctx, w, f, info.Size())
}

// link makes the entry that of a link, without there being one: git would
// look for attributes behind it.
func (s *snapshot) link(dir *os.Root, name string, e *indexEntry) (why string, err error) {
	target, err := dir.Readlink(name)
	switch {
	case err != nil:
		return confine.Reason(err).Error(), nil
	case e.stage != "0":
		return "it is a link, in a conflict", nil
	case s.full(e):
		return "", nil
	}
	content := []byte(filepath.ToSlash(target))
	sum := blobHash(len(e.id), int64(len(content)))
	sum.Write(content)
	e.mode, e.id, e.settled = gitLink, hex.EncodeToString(sum.Sum(nil)), true
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	fmt.Fprintf(z, "blob %d\x00%s", len(content), content)
	z.Close()
	return "", s.g.write("objects/"+e.id[:2]+"/"+e.id[2:], packed.Bytes())
}

// blobHash begins the id, of so many digits, of a file's content.
func blobHash(digits int, size int64) (h hash.Hash) {
	if h = sha1.New(); digits == 2*sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", size)
	return h
}

// attributes copies the .gitattributes that rule over names. Those that cannot
// be read git has from the index.
func (s *snapshot) attributes(ctx context.Context, names []string) error {
	seen := map[string]bool{}
	for _, name := range names {
		for name != "" {
			if name, _ = confine.SplitLast(name); seen[name] {
				break
			}
			seen[name] = true
			dir, err := s.at.to(name)
			if err != nil {
				continue
			}
			f, info, err := openPlain(s.g.v, dir, ".gitattributes")
			if err != nil {
				continue
			}
			if info.Size() <= s.room {
				err = s.write(ctx, path.Join(name, ".gitattributes"), f, info)
			}
			f.Close()
			if err != nil && !errors.Is(err, fs.ErrExist) {
				return confine.Reason(err)
			}
		}
	}
	return nil
}

// mayShow says whether the file of that name may be read.
func (s *snapshot) mayShow(name string) bool {
	if !localName(name) || s.hidden[name] || protects(s.g.v, name) {
		return false
	}
	info, err := s.g.v.Root.Lstat(filepath.FromSlash(name))
	return err != nil || !s.g.v.Refuses(info)
}

// protects says whether a path from the root is one that is not read.
func protects(v *confine.Access, name string) bool {
	for part := range strings.SplitSeq(name, "/") {
		if confine.SecretName(part) != "" {
			return true
		}
	}
	return v.Withholds(".", name)
}
