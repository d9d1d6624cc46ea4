package approve

import (
	"context"
	"errors"
	"time"
)

// ErrNobody is the error of a form that no person can fill in, or that none
// answers.
var ErrNobody = errors.New("nobody answered")

// Form asks a person for text on behalf of somebody who is not believed, such
// as a tool server. Its answers approve nothing. What is shown cannot pass for
// a question of ours: foreign lines stand behind a margin, and the line on
// which the person types begins with a fixed word.
type Form struct {
	terminal *Terminal
	tty      *tty
	ctx      context.Context
}

const (
	formAnswer  = "Your answer: "
	formConfirm = "Send it? [y/N] "
)

// Form gives fill the terminal for as long as it takes: no other question is
// put meanwhile. The error is fill's, or ErrNobody, or ctx's cause when that
// ends before somebody else has finished asking.
func (t *Terminal) Form(ctx context.Context, fill func(*Form) error) error {
	tty, release, err := t.hold(ctx)
	if _, ok := errors.AsType[nobody](err); ok {
		return ErrNobody
	}
	if err != nil {
		return err
	}
	defer release()
	return fill(&Form{t, tty, ctx})
}

// Ask shows heading, which is ours, above lines, which need not be, and reads a
// line. The error is ErrNobody, ctx's cause, or that of the terminal.
func (f *Form) Ask(heading string, lines []string) (string, error) {
	return f.line(heading, lines, formAnswer)
}

// Confirm shows what Ask shows and tells whether the person wants it sent.
func (f *Form) Confirm(heading string, lines []string) (bool, error) {
	line, err := f.line(heading, lines, formConfirm)
	return err == nil && isYes(line), err
}

func (f *Form) line(heading string, lines []string, last string) (string, error) {
	for {
		width, height := f.tty.size()
		line, err := f.terminal.exchange(f.ctx, f.tty, newForm(heading, lines, last, width, height))
		if err == nil {
			return line, nil
		}
		if errors.Is(err, errResumed) {
			continue
		}
		// The person may be about to type: the next question waits for that.
		f.terminal.abandoned = time.Now()
		f.tty.note("\nno answer is awaited any more\n")
		if errors.Is(err, errDeadline) || errors.Is(err, errHangUp) {
			err = ErrNobody
		}
		return "", err
	}
}

// newForm lays a question of a form out for a terminal of width and height.
// All of it fits on the screen, so that heading cannot be scrolled away.
func newForm(heading string, lines []string, last string, width, height int) *question {
	q := &question{last: last, width: max(width, minWidth)}
	var shown []string
	for _, l := range lines {
		shown = wrap(shown, Escape(l), q.width)
	}
	if room := max(height-6, 9); len(shown) > room {
		shown = cutLines(shown, room*2/3, room/3)
	}
	q.body = "toolpipe: " + Escape(heading) + "\n"
	for _, l := range shown {
		q.body += l + "\n"
	}
	return q
}
