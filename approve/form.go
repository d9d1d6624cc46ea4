package approve

import (
	"context"
	"strings"
	"time"

	"toolpipe/approve/tty"
	"toolpipe/stream/text/escape"
)

// A Form asks a person for text on behalf of a tool server, which is not trusted. Its answers
// approve nothing. Nothing in it can look like a question about a call: the server's lines begin
// with a margin, and the line on which the person types begins with one of the prompts below.
type Form struct {
	terminal *Terminal
	device   *tty.TTY
	ctx      context.Context
}

const (
	answerPrompt  = "Your answer: "
	confirmPrompt = "Send it? [y/N] "
)

// Form calls fill with a form. No other question is put before fill returns. The error is
// fill's, or says why nobody can be asked, or is ctx's cause if ctx ends during another
// question.
func (t *Terminal) Form(ctx context.Context, fill func(*Form) error) error {
	device, release, err := t.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return fill(&Form{t, device, ctx})
}

// Ask shows heading, which is ours, above lines, which may be the server's, and reads a line.
// The error is ctx's cause, or says why there is no answer.
func (f *Form) Ask(heading string, lines []string) (string, error) {
	return f.askLine(heading, lines, answerPrompt)
}

// Confirm shows heading above lines and reports whether the person wants them
// sent. The error is as with Ask.
func (f *Form) Confirm(heading string, lines []string) (bool, error) {
	line, err := f.askLine(heading, lines, confirmPrompt)
	return isYes(line), err
}

func (f *Form) askLine(heading string, lines []string, prompt string) (string, error) {
	line, err := f.terminal.askUntilSeen(f.ctx, f.device, func(width, height int) *question {
		return newFormQuestion(heading, lines, prompt, width, height)
	})
	if err != nil {
		// The person may still be typing: the next question waits for that.
		f.terminal.formWithdrawn = time.Now()
		f.device.WriteNotice("\nno answer is awaited any more\n")
	}
	return line, err
}

// newFormQuestion makes the question of a form for a terminal of width and
// height. It fits on the screen, so that heading cannot be scrolled away.
func newFormQuestion(heading string, lines []string, prompt string, width, height int) *question {
	q := &question{prompt: prompt, width: max(width, minWidth)}
	var shown []string
	for _, l := range lines {
		shown = wrap(shown, escape.Escape(l), q.width)
	}
	if room := max(height-6, 9); len(shown) > room {
		shown = cutLines(shown, room*2/3, room/3)
	}
	q.body = strings.Join(append([]string{"toolpipe: " + escape.Escape(heading)}, shown...), "\n") + "\n"
	return q
}
