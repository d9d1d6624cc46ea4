package confine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"toolpipe/mcp/builtin/protected"
)

// MaxEdited is the largest file, in bytes, that is edited as a whole.
const MaxEdited = 32 << 20

// Writing is locked by a call that changes files. All servers share it, because their
// directories may overlap.
var Writing sync.Mutex

// checkWritable returns an error if a path from the root must not be written. The names in
// the root's own path count too: a user who offers a read-only directory as the root wants it
// to be read only.
func (a *Access) checkWritable(asked, rel string) error {
	if why := a.Secret(".", rel); why != "" {
		return a.protectedError(asked, why)
	}
	if dir := a.gitDirectoryMadeBy(rel); dir != "" {
		return fmt.Errorf("%q is protected: with it, %q would be a git directory; file tools do not create one; the allowed root is %q", asked, dir, a.Path)
	}
	if a.ReadOnly != "" {
		return fmt.Errorf("%q is protected because of %s; file tools do not write it; the allowed root is %q", asked, a.ReadOnly, a.Path)
	}
	if why := protected.ReadOnly(a.Real, rel); why != "" {
		return fmt.Errorf("%q is protected: %s; file tools do not write it; the allowed root is %q", asked, why, a.Path)
	}
	return nil
}

// Replace writes a whole file at a location. The mode of an old file is kept. With a preview
// in the context nothing is written.
func (l *Location) Replace(ctx context.Context, content []byte) error {
	if err := l.checkReplace(); err != nil {
		return err
	}
	if v := previewOf(ctx); v != nil {
		return v.take(l, content)
	}
	if l.Access.Bounds.Stage != nil {
		return l.stage(content)
	}
	tell := l.tells(content)
	r := replacement{dir: l.here().dir, name: l.Name, old: l.Info, mode: 0o666}
	switch err := r.write(ctx, content); {
	case mayBeWritten(err):
		l.written = true
		return fmt.Errorf("%q: %w", l.Asked, err)
	case err != nil:
		return fmt.Errorf("%q is unchanged: %w", l.Asked, Reason(err))
	}
	l.written = true
	tell()
	l.Access.Bounds.Known.wrote(l, l.edited, content)
	return nil
}

// checkReplace returns an error if the file at the location must not be written.
func (l *Location) checkReplace() error {
	if err := l.Access.checkWritable(l.Asked, l.Rel); err != nil {
		return err
	}
	if l.Info != nil {
		if err := l.checkRegular(); err != nil {
			return err
		}
	}
	if _, ok := l.staged(); ok && l.Access.Bounds.Stage == nil {
		return fmt.Errorf("%q has a staged change that waits for a review: it cannot be written before that", l.Asked)
	}
	return nil
}

// tells returns a function that reports the written content to Bounds.Change, to be called
// after the write. The content before is read now.
func (l *Location) tells(content []byte) func() {
	to := l.Access.Bounds.Change
	if to == nil {
		return func() {}
	}
	c := Change{Path: l.Access.Absolute(l.Rel), New: l.Info == nil}
	var before []byte
	var err error
	if !c.New && len(content) <= MaxPreview {
		before, err = l.before()
	}
	return func() {
		if err == nil && max(len(before), len(content)) <= MaxPreview && utf8.Valid(before) && utf8.Valid(content) {
			c.Diff = Diff(string(before), string(content))
		}
		*to = c
	}
}

// before is the present content of the file.
func (l *Location) before() ([]byte, error) {
	if l.edited != nil {
		return l.edited, nil
	}
	if l.Info.Size() > MaxPreview {
		return nil, fmt.Errorf("it has %d bytes", l.Info.Size())
	}
	f, info, err := l.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readWhole(f, info.Size())
}

// Change reads the file at a path, edits its content, and replaces it. If somebody else
// writes the file meanwhile, it is not replaced.
func (a *Access) Change(ctx context.Context, path string, edit func(content []byte) (edited []byte, err error)) error {
	Writing.Lock()
	defer Writing.Unlock()
	l, err := a.Find(path)
	if err != nil {
		return err
	}
	defer l.Close()
	if l.Info != nil {
		if err := a.checkWritable(path, l.Rel); err != nil {
			return err
		}
	}
	content, err := l.readEdited()
	if err != nil {
		return err
	}
	edited, err := edit(content)
	if err != nil {
		return err
	}
	return l.Replace(ctx, edited)
}

// readEdited reads the file at the location so that Replace can detect later changes.
func (l *Location) readEdited() ([]byte, error) {
	f, info, err := l.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := readWhole(f, info.Size())
	if err != nil {
		return nil, fmt.Errorf("%q: %w", l.Asked, err)
	}
	l.Info, l.edited = info, content
	return content, nil
}

// staged is the staged content of the file at the location.
func (l *Location) staged() ([]byte, bool) {
	return l.Access.Bounds.Staged.Content(l.Access.Absolute(l.Rel))
}

// stage stages the content instead of writing it at the location.
func (l *Location) stage(content []byte) (err error) {
	b, path := l.Access.Bounds, l.Access.Absolute(l.Rel)
	var old io.Reader
	if _, again := l.staged(); !again && l.Info != nil {
		f, _, err := l.Open()
		if err != nil {
			return err
		}
		defer f.Close()
		old = f
	}
	if *b.Stage, err = b.Staged.Put(path, content, old); err != nil {
		return fmt.Errorf("%q: %w", l.Asked, Reason(err))
	}
	return nil
}

func readWhole(f *os.File, size int64) ([]byte, error) {
	var content bytes.Buffer
	var err error
	if size <= MaxEdited {
		content.Grow(int(size) + bytes.MinRead)
		_, err = content.ReadFrom(io.LimitReader(f, MaxEdited+1)) // to its end: the size of a file of /proc is 0
		size = max(size, int64(content.Len()))
	}
	if size > MaxEdited {
		return nil, fmt.Errorf("it has %d bytes; files of more than %d are not edited", size, MaxEdited)
	}
	return content.Bytes(), Reason(err)
}

// MaxPreview is the largest file, in bytes, that is shown as a diff.
const MaxPreview = 4 << 20

// A Preview gets the change that a call would make in a file; the file is not changed. Diff
// is a unified diff. It is "" for a new file, and for a file that is not text or too large.
type Preview struct{ Diff string }

type previewKey struct{}

// WithPreview returns a context in which calls of a built-in server write nothing, and the
// preview that gets the change.
func WithPreview(ctx context.Context) (context.Context, *Preview) {
	v := new(Preview)
	return context.WithValue(ctx, previewKey{}, v), v
}

// previewOf returns the preview of a call; nil for a call that writes.
func previewOf(ctx context.Context) *Preview {
	v, _ := ctx.Value(previewKey{}).(*Preview)
	return v
}

// take keeps the diff to the content that would be written at a location.
func (v *Preview) take(l *Location, content []byte) error {
	if l.Info == nil || l.Info.Size() > MaxPreview || len(content) > MaxPreview {
		return nil
	}
	f, info, err := l.Open()
	if err != nil {
		return err
	}
	defer f.Close()
	before, err := readWhole(f, info.Size())
	if err == nil && utf8.Valid(before) && utf8.Valid(content) {
		v.Diff = Diff(string(before), string(content))
	}
	return err
}
