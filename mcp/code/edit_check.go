package code

import (
	"context"
	"errors"
	"fmt"
)

// checkEdited returns an error when a file parsed before an edit, and does no longer
// with this text. Where no parser tells, brackets that no longer match are the error.
// The note is about the syntax of the edited text.
func (c *call) checkEdited(ctx context.Context, f *sourceFile, edited []byte) (note string, err error) {
	after := newSourceFile(f.path, edited)
	after.lay()
	problems, err := c.checkSyntax(ctx, after)
	isUnchecked := errors.Is(err, errUnchecked)
	switch {
	case isUnchecked && f.matched(1, f.lines()) && !after.matched(1, after.lines()):
		return "", errors.New("nothing was written: the brackets in the file would no longer match; force writes it all the same")
	case isUnchecked:
		return err.Error(), nil
	case err != nil:
		return "", err
	case len(problems) == 0:
		return "no syntax error", nil
	}
	if old, err := c.checkSyntax(ctx, f); err == nil && len(old) > 0 {
		return "it had syntax errors before, and has now:\n" + problemLines(problems), nil
	}
	return "", fmt.Errorf("nothing was written: it would no longer parse; force writes it all the same\n%s", problemLines(problems))
}

// matched says whether each bracket in some lines has its partner in these lines.
func (l *layout) matched(first, last int) bool {
	from, to := l.starts[first-1], l.starts[last]
	for i := from; i < to; i++ {
		if other, found := l.partner(i); found && (other < from || other >= to) {
			return false
		}
	}
	return true
}
