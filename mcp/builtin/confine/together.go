package confine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"toolpipe/mcp/builtin/staged"
	"toolpipe/mcp/builtin/unified"
)

// A FileChange is the new content of one of the files that a call changes together.
type FileChange struct {
	Access *Access
	Path   string // as for Access.Find
	Named  bool   // the arguments of the call name the file
	Before []byte // the content that the change was made against; nil: the file does not exist yet
	After  []byte
}

// errMoved means that a file changed after the call read it.
var errMoved = errors.New("somebody else changed it meanwhile; call again")

// ChangeAll changes several files as one. It finds, reads and checks all files before it
// writes the first. Then it replaces each file atomically, so that a killed process leaves
// each file complete, old or new. If a file cannot be written, or the context ends, the
// earlier ones are written back, and the error describes the state of the files. For a
// preview or a staged call, nothing is written.
func ChangeAll(ctx context.Context, changes []FileChange) error {
	Writing.Lock()
	defer Writing.Unlock()
	var t together
	defer t.close()
	for i := range changes {
		if err := t.add(ctx, &changes[i]); err != nil {
			return fmt.Errorf("nothing was written: %w", err)
		}
	}
	if v := previewOf(ctx); v != nil {
		v.Diff = t.diff()
		return nil
	}
	if len(t.members) > 0 && t.members[0].at.Access.Bounds.Stage != nil {
		return t.stage()
	}
	for i, m := range t.members {
		if err := m.at.Replace(ctx, m.change.After); err != nil {
			if mayBeWritten(err) {
				i++
			}
			return t.restore(ctx, i, err)
		}
	}
	t.tell(t.change())
	return nil
}

// together is a set of files that are changed as one.
type together struct{ members []member }

// A member is one of the files with its location.
type member struct {
	change *FileChange
	at     *Location
}

func (t *together) close() {
	for _, m := range t.members {
		m.at.Close()
	}
}

// add finds the file of a change, and checks that it may be written and is unchanged.
func (t *together) add(ctx context.Context, c *FileChange) error {
	find := c.Access.Find
	if c.Before == nil {
		find = func(path string) (*Location, error) { return c.Access.FindNew(ctx, path) }
	}
	l, err := find(c.Path)
	if missing, ok := errors.AsType[*NotFoundError](err); ok && c.Before == nil && previewOf(ctx) != nil {
		l, err = c.Access.within(c.Path, missing) // a preview makes no directory
	}
	if err != nil {
		return err
	}
	t.members = append(t.members, member{c, l})
	if err := l.checkReplace(); err != nil {
		return err
	}
	if may := c.Access.Bounds.MayWrite; may != nil && !c.Named && !may(c.Access.Absolute(l.Rel)) {
		return fmt.Errorf("%q would change too, and what allows this call does not allow that; a call for other files, or an approval for these, does", c.Path)
	}
	_, isStaged := l.staged()
	if c.Before == nil {
		if l.Info != nil || isStaged {
			return fmt.Errorf("%q: %w", c.Path, errMoved)
		}
		return nil
	}
	now, err := l.readEdited()
	if err == nil && !bytes.Equal(now, c.Before) {
		err = fmt.Errorf("%q: %w", c.Path, errMoved)
	}
	return err
}

// change is the written change, under the path of the first file.
func (t *together) change() (c Change) {
	if len(t.members) > 0 {
		first := t.members[0]
		c = Change{Path: first.at.Access.Absolute(first.at.Rel), Diff: t.diff(), New: len(t.members) == 1 && first.change.Before == nil}
	}
	return c
}

// tell reports all files together to Bounds.Change, replacing the reports of single files.
func (t *together) tell(c Change) {
	if len(t.members) > 0 && t.members[0].at.Access.Bounds.Change != nil {
		*t.members[0].at.Access.Bounds.Change = c
	}
}

// diff is the unified diff of all files, with file names if there are several. It is "" if
// the texts together exceed 2*MaxPreview, or one is not text.
func (t *together) diff() string {
	var b strings.Builder
	size := 0
	for _, m := range t.members {
		before, after := m.change.Before, m.change.After
		if size += len(before) + len(after); size > 2*MaxPreview || !utf8.Valid(before) || !utf8.Valid(after) {
			return ""
		}
		if len(t.members) > 1 || before == nil {
			b.WriteString(unified.Names(m.at.Rel, before == nil))
		}
		b.WriteString(unified.Diff(string(before), string(after)))
	}
	return b.String()
}

// stage stages the contents of all files.
func (t *together) stage() (err error) {
	var edits []staged.Edit
	for _, m := range t.members {
		e := staged.Edit{Path: m.at.Access.Absolute(m.at.Rel), Name: m.at.Rel, Content: m.change.After}
		if m.change.Before != nil {
			e.Old = bytes.NewReader(m.change.Before)
		}
		edits = append(edits, e)
	}
	b := t.members[0].at.Access.Bounds
	*b.Stage, err = b.Staged.PutAll(edits)
	return err
}

// restore writes the first n files back, the ones that may be written, after one failed. The
// context may have ended. A file that somebody else has changed since stays.
func (t *together) restore(ctx context.Context, n int, failed error) error {
	ctx = context.WithoutCancel(ctx)
	var left []string
	for _, m := range slices.Backward(t.members[:n]) {
		if err := m.restore(ctx); err != nil {
			left = append(left, fmt.Sprintf("%q (%v)", m.change.Path, err))
		}
	}
	if left == nil {
		t.tell(Change{})
	}
	switch {
	case n == 0:
		return fmt.Errorf("nothing was written: %w", failed)
	case left == nil:
		return fmt.Errorf("%w; all files are as they were again", failed)
	}
	return fmt.Errorf("%w; %d of the %d files that may have been written are as they were again, and these are not: %s", failed, n-len(left), n, strings.Join(left, ", "))
}

func (m *member) restore(ctx context.Context) error {
	c := m.change
	l, err := c.Access.Find(c.Path)
	if err != nil {
		return err
	}
	defer l.Close()
	if c.Before == nil && l.Info == nil { // it was not written after all
		m.at.written = false
		return nil
	}
	now, err := l.readEdited()
	switch {
	case err == nil && c.Before != nil && bytes.Equal(now, c.Before):
		return nil
	case err != nil:
		return err
	case !bytes.Equal(now, c.After):
		return errMoved
	case c.Before != nil:
		return l.Replace(ctx, c.Before)
	}
	m.at.written = false // the directories that were made for it are removed too
	return Reason(l.here().dir.Remove(path.Base(l.Rel)))
}
