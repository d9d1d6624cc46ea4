package code

import (
	"context"
	"errors"
	"fmt"
)

// checkEdited returns an error when a file parsed before an edit, and with this text
// does no longer. Where no parser tells, brackets that no longer match do. The note
// says what is known of the syntax.
func (c *call) checkEdited(ctx context.Context, f *sourceFile, edited []byte) (note string, err error) {
	problems, err := c.checkSyntax(ctx, f.path, edited)
	after := newLayout(f.language, edited)
	unchecked, isUnchecked := errors.AsType[*uncheckedError](err)
	switch {
	case isUnchecked && f.matched(1, f.lines()) && !after.matched(1, after.lines()):
		return "", errors.New("nothing was written: the brackets in the file would no longer match; force writes it all the same")
	case isUnchecked:
		return unchecked.Error(), nil
	case err != nil:
		return "", err
	case len(problems) == 0:
		return "no syntax error", nil
	}
	if old, err := c.checkSyntax(ctx, f.path, f.text); err == nil && len(old) > 0 {
		return "it had syntax errors before, and has now:\n" + problemLines(problems), nil
	}
	return "", fmt.Errorf("nothing was written: it would no longer parse; force writes it all the same\n%s", problemLines(problems))
}

// matched says whether the brackets in lines are those of each other.
func (l *layout) matched(first, last int) bool {
	from, to := l.bracketAt(l.starts[first-1]), l.bracketAt(l.starts[last])
	for _, b := range l.brackets[from:to] {
		if b.other < from || b.other >= to {
			return false
		}
	}
	return true
}
