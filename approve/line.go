package approve

import (
	"context"
	"errors"
	"time"
)

// ErrNobody is the error of Line when no person can be asked, or none answers.
var ErrNobody = errors.New("nobody answered")

// Line asks for one line of text that is no approval: lines are shown first,
// then prompt on a line of its own, after which the person types. Both are
// escaped. What was typed before is thrown away, as for an approval. The error
// is ErrNobody, ctx's cause, or that of the terminal.
func (t *Terminal) Line(ctx context.Context, lines []string, prompt string) (string, error) {
	tty, _ := t.open()
	if tty == nil {
		return "", ErrNobody
	}
	defer tty.close()
	if t.Before != nil {
		t.Before()
	}
	if t.After != nil {
		defer t.After()
	}
	width, _ := tty.size()
	q := &question{last: Escape(prompt) + " ", width: max(width, minWidth)}
	for _, l := range lines {
		for _, w := range wrap(nil, Escape(l), q.width) {
			q.body += w + "\n"
		}
	}
	for {
		line, err := t.exchange(ctx, tty, q)
		switch {
		case errors.Is(err, errResumed):
			continue
		case errors.Is(err, errDeadline) || errors.Is(err, errHangUp):
			_ = tty.write(context.WithoutCancel(ctx), "\n", time.Now().Add(time.Second))
			return "", ErrNobody
		}
		return line, err
	}
}
