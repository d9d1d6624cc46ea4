package confine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A FileChange is the new content of one of the files that a call changes together.
type FileChange struct {
	Access *Access
	Path   string // as for Access.Find
	New    bool   // the file does not exist yet
	Before []byte // the content that the change was made against
	After  []byte

	at *Location
}

// errMoved means that a file changed after the call read it.
var errMoved = errors.New("somebody else changed it meanwhile; call again")

// ChangeAll changes files that the arguments of a call name. It finds, reads and checks all
// of them before it writes the first. Then it replaces each file atomically, from the last to
// the first: text that moves is in its new file before it leaves the old one. An error names
// the files that were written. For a preview or a staged call, ChangeAll writes nothing.
func ChangeAll(ctx context.Context, changes []FileChange) error {
	Writing.Lock()
	defer Writing.Unlock()
	for i := range changes {
		c := &changes[i]
		err := c.find(ctx)
		if err == nil {
			defer c.at.Close()
			err = c.check()
		}
		if err != nil {
			return fmt.Errorf("nothing was written: %w", err)
		}
	}
	bounds := changes[0].Access.Bounds
	v := previewOf(ctx)
	switch {
	case v != nil:
		v.Diff = diffOf(changes)
		return nil
	case bounds.Stage != nil:
		return stageAll(bounds, changes)
	case ctx.Err() != nil:
		return fmt.Errorf("nothing was written: %w", context.Cause(ctx))
	}
	var written []string
	for _, c := range slices.Backward(changes) {
		if err := c.at.Replace(context.WithoutCancel(ctx), c.After); err != nil {
			return writtenError(err, written)
		}
		written = append(written, strconv.Quote(c.Path))
	}
	if bounds.Change != nil { // Replace reported each file separately
		*bounds.Change = Change{Path: changes[0].real(), Diff: diffOf(changes)}
	}
	return nil
}

// writtenError is the error for a file that could not be replaced after others were.
func writtenError(err error, written []string) error {
	if written == nil {
		return err
	}
	return fmt.Errorf("%w; %s was written before, and has its new content", err, strings.Join(written, ", "))
}

// find finds the file, and makes missing directories for a new one.
func (c *FileChange) find(ctx context.Context) (err error) {
	if !c.New {
		c.at, err = c.Access.Find(c.Path)
		return err
	}
	c.at, err = c.Access.FindNew(ctx, c.Path)
	if missing, ok := errors.AsType[*NotFoundError](err); ok && previewOf(ctx) != nil {
		c.at, err = c.Access.within(c.Path, missing) // a preview makes no directory
	}
	return err
}

// check returns an error if the file may not be written, or has changed.
func (c *FileChange) check() error {
	if err := c.at.checkReplace(); err != nil {
		return err
	}
	if c.New {
		if _, isStaged := c.at.staged(); isStaged || c.at.Info != nil {
			return fmt.Errorf("%q: %w", c.Path, errMoved)
		}
		return nil
	}
	now, err := c.at.readEdited()
	if err == nil && !bytes.Equal(now, c.Before) {
		err = fmt.Errorf("%q: %w", c.Path, errMoved)
	}
	return err
}

// real is the absolute path of the file, without links.
func (c *FileChange) real() string { return c.Access.Absolute(c.at.Rel) }

// diffOf is the unified diff of all files with their names; "" if the texts together exceed
// 2*MaxPreview, or one is not text.
func diffOf(changes []FileChange) string {
	var b strings.Builder
	size := 0
	for _, c := range changes {
		if size += len(c.Before) + len(c.After); size > 2*MaxPreview || !utf8.Valid(c.Before) || !utf8.Valid(c.After) {
			return ""
		}
		b.WriteString(diffNames(c.at.Rel, c.New))
		b.WriteString(Diff(string(c.Before), string(c.After)))
	}
	return b.String()
}

// stageAll stages the contents of all files.
func stageAll(bounds Bounds, changes []FileChange) (err error) {
	var edits []stagedEdit
	for _, c := range changes {
		e := stagedEdit{Path: c.real(), Name: c.at.Rel, Content: c.After}
		if !c.New {
			e.Old = bytes.NewReader(c.Before)
		}
		edits = append(edits, e)
	}
	*bounds.Stage, err = bounds.Staged.PutAll(edits)
	return err
}
