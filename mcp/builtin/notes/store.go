package notes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/stream/disk"
	"toolpipe/stream/text/jsontext"
)

// store is the file of the notes. It is read without a lock, because a change replaces the
// whole file. A process that changes it holds the lock of the file that has the name at that
// time. An empty file has no notes.
type store struct {
	path  string        // absolute, free of links
	limit time.Duration // of the wait for the lock
}

const (
	maxFile  = 8 << 20
	maxNote  = 1 << 20
	maxNotes = 1000
	maxName  = 128

	maxRevision = 1 << 53 // JSON readers can distinguish all numbers up to it
)

// ErrWritable means that everybody can write to the file.
var ErrWritable = errors.New("everybody can write to this file")

// openStore finds and checks the file that a user named. A link to a file is resolved once,
// if no other user made it. If the file does not exist, it must be possible to create it; the
// first change does so.
func openStore(path string, limit time.Duration) (*store, error) {
	if _, err := disk.Resolve(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	real, err := filepath.EvalSymlinks(path)
	if errors.Is(err, fs.ErrNotExist) {
		if info, err := os.Lstat(path); err == nil && info.Mode().Type() == fs.ModeSymlink { // another run may have made the file meanwhile
			return nil, errors.New("it is a symbolic link that leads nowhere")
		}
		if real, err = filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
			err = syscall.Access(real, 2) // W_OK of access(2)
		}
		real = filepath.Join(real, filepath.Base(path))
	}
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err == nil {
		err = confine.SafeDirectory(filepath.Dir(real))
	}
	if err != nil {
		return nil, err
	}
	s := &store{path: real, limit: limit}
	_, err = s.read()
	return s, err
}

// open opens the file. It refuses a link, anything but a file, and a file that everybody can
// write to.
func (s *store) open(flags int) (*os.File, error) {
	f, err := os.OpenFile(s.path, flags|syscall.O_NOFOLLOW|confine.OpenFlags, 0o600)
	if err != nil {
		return nil, confine.Reason(err)
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = fmt.Errorf("it is a %s, not a file", confine.KindOf(info.Mode()))
	case info.Mode()&0o002 != 0:
		err = ErrWritable
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (s *store) read() (*document, error) {
	f, err := s.open(os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return parse(nil)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readDocument(f)
}

func readDocument(f *os.File) (*document, error) {
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("it is larger than %d MiB", maxFile>>20)
	}
	if err != nil {
		return nil, confine.Reason(err)
	}
	return parse(text)
}

// change changes the document; nobody else changes it meanwhile. After an error of edit the
// file is unchanged.
func (s *store) change(ctx context.Context, edit func(*document) error) error {
	f, err := s.lock(ctx, 0)
	if errors.Is(err, fs.ErrNotExist) {
		d, _ := parse(nil)
		if err := edit(d); err != nil {
			return err
		}
		f, err = s.lock(ctx, os.O_CREATE)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	before, err := f.Stat()
	if err != nil {
		return err
	}
	d, err := readDocument(f)
	if err != nil {
		return err
	}
	if err := edit(d); err != nil {
		return err
	}
	if d.revision > maxRevision {
		return errors.New("it has no revisions left")
	}
	text := d.appendText(nil)
	if len(text) > maxFile {
		return fmt.Errorf("the notes would take %d bytes, at most %d are allowed; delete notes that are not needed", len(text), maxFile)
	}
	return confine.ReplaceFile(ctx, s.path, before, text)
}

// lock opens the file and locks it. If the file was replaced during the wait, it locks the
// new file of that name.
func (s *store) lock(ctx context.Context, flags int) (*os.File, error) {
	for deadline := time.Now().Add(s.limit); ; {
		f, err := s.open(os.O_RDWR | flags)
		if err != nil {
			return nil, err
		}
		if err = disk.Lock(ctx, f, time.Until(deadline)); err == nil {
			info, infoErr := f.Stat()
			now, nowErr := os.Lstat(s.path)
			if infoErr == nil && nowErr == nil && os.SameFile(info, now) {
				return f, nil
			}
			if time.Now().After(deadline) {
				err = confine.ErrChanged
			}
		}
		f.Close()
		if err != nil {
			return nil, err
		}
	}
}

// document is the content of the file. Each change increments its revision, and the changed
// note gets that revision. So no note ever has the revision of another note, or of a deleted
// note of the same name.
type document struct {
	revision int64
	notes    map[string]note
}

type note struct {
	revision int64
	content  string
	literal  []byte // the content as in the file
}

func (d *document) put(name, content string) error {
	if len(content) > maxNote {
		return fmt.Errorf("the note would have %d bytes, at most %d are allowed; another note has room", len(content), maxNote)
	}
	d.revision++
	d.notes[name] = note{d.revision, content, jsontext.Quoted(content)}
	if len(d.notes) > maxNotes {
		return fmt.Errorf("there are %d notes, and no more are allowed; delete some first", maxNotes)
	}
	return nil
}

// parse reads the file strictly: a change would lose unknown parts.
func parse(text []byte) (*document, error) {
	d := &document{notes: map[string]note{}}
	object := bytes.Trim(text, " \t\r\n")
	if len(object) == 0 {
		return d, nil
	}
	if err := jsontext.Check(text, jsontext.Options{Object: true}); err != nil {
		return nil, fmt.Errorf("it is not a notes file: %w", err)
	}
	version, _ := jsontext.Integer(jsontext.Member(object, "version"))
	revision, counted := jsontext.Integer(jsontext.Member(object, "revision"))
	all := jsontext.Member(object, "notes")
	switch {
	case version > 1:
		return nil, fmt.Errorf("a newer toolpipe wrote it (version %d)", version)
	case version != 1 || !counted || revision < 0 || revision > maxRevision || jsontext.Kind(all) != '{' || !hasOnly(object, "version", "revision", "notes"):
		return nil, errors.New(`it is not a notes file, which is {"version":1,"revision":N,"notes":{…}}`)
	}
	d.revision = revision
	for literal, value := range jsontext.Members(all) {
		name, n := jsontext.Unquote(literal), note{}
		if err := checkName(name); err != nil {
			return nil, fmt.Errorf("it is damaged: %w", err)
		}
		if jsontext.Kind(value) == '{' && hasOnly(value, "revision", "content") {
			n.revision, _ = jsontext.Integer(jsontext.Member(value, "revision"))
		}
		content := jsontext.Member(value, "content")
		if n.revision < 1 || n.revision > revision || jsontext.Kind(content) != '"' {
			return nil, fmt.Errorf("it is damaged: the note %q is not {\"revision\":N,\"content\":\"…\"} with a revision from 1 to the revision of the file", name)
		}
		n.content, n.literal = jsontext.Unquote(content), content
		d.notes[name] = n
	}
	return d, nil
}

func hasOnly(object []byte, names ...string) bool {
	for literal := range jsontext.Members(object) {
		if !slices.Contains(names, jsontext.Unquote(literal)) {
			return false
		}
	}
	return true
}

// appendText appends the file: one note on each line, so that line tools can show a change.
func (d *document) appendText(b []byte) []byte {
	const around = 80 // bytes of a line besides its texts
	size := around
	for name, n := range d.notes {
		size += around + len(name) + len(n.literal)
	}
	b = fmt.Appendf(slices.Grow(b, size), "{\n\"version\": 1,\n\"revision\": %d,\n\"notes\": {", d.revision)
	separator := "\n"
	for _, name := range slices.Sorted(maps.Keys(d.notes)) {
		b = jsontext.AppendQuoted(append(b, separator...), name)
		b = fmt.Appendf(b, `: {"revision": %d, "content": `, d.notes[name].revision)
		b = append(append(b, d.notes[name].literal...), '}')
		separator = ",\n"
	}
	return append(b, "\n}\n}\n"...)
}
