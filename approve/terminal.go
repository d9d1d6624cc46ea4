package approve

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"toolpipe/approve/tty"
)

// A Terminal asks a person on /dev/tty; it does not use standard input and output. Questions
// about calls and forms of tool servers are put one at a time, also among the programs of one
// process group, so that an answer to one is never taken for the answer to another. The zero
// value is ready for use, by any goroutine.
type Terminal struct {
	Disabled  string        // why nobody may be asked, such as "CI is set"; "" if somebody may
	Timeout   time.Duration // of silence, after which the answer is no; 0: 120 s
	Color     bool          // escape sequences may be used, as on standard error
	DiffColor bool          // diffs have colours, also if standard error is no terminal

	// Before is called before anything is drawn, and After when the question is
	// over, so that the owner of a live line can hide it. Both may be nil.
	Before, After func()

	// Resumed gets a signal when the process goes on after it was stopped (SIGCONT): the
	// question is then drawn again and its time begins anew. It may be nil.
	Resumed <-chan os.Signal

	asking        sync.Mutex // held during a question; guards the fields below
	formWithdrawn time.Time  // when a form ended without an answer
	resumed       time.Time  // when the process was seen to go on in the foreground, before its SIGCONT came
}

// Times of the question. Tests shorten some of them.
var (
	// settleTime is how long input that was typed before the question, and the signal of a
	// stopped process, may be delayed.
	settleTime = 100 * time.Millisecond
	// lateAnswerTime is how long input is discarded after a form was withdrawn. A person who
	// was about to answer the form has then seen the new question.
	lateAnswerTime = time.Second
)

const (
	// maxPause limits one round of a loop that waits a tty.PollInterval at a time. A longer
	// round means that the process was stopped.
	maxPause = time.Second
	// lateResume limits the delay of the SIGCONT for a process that was already seen in the
	// foreground again. A shell gives the process the terminal first, and some send no signal
	// if the process was not stopped.
	lateResume = 10 * time.Second
	// maxUnclear is how many lines without a clear answer deny a call.
	maxUnclear = 3
	// maxAnswer is how many bytes of a line are read as an answer.
	maxAnswer = 1024
	// maxQueue is how long to wait for another program that asks on the terminal.
	maxQueue = 10 * time.Minute
	// defaultTimeout is used for a Terminal without Timeout.
	defaultTimeout = 120 * time.Second
)

type answerKind uint8

const (
	answerNo answerKind = iota
	answerYes
	answerAlways  // yes, also to the same call when it comes again
	answerTool    // yes to every call of the tool
	answerQuit    // no, and the run ends
	answerShow    // show everything, and ask again
	answerExplain // show an explanation, and ask again
	answerUnclear // ask again: the line is not an answer
)

type answer struct {
	kind   answerKind
	reason string
}

type nobodyError string

func (e nobodyError) Error() string { return "nobody can be asked: " + string(e) }

var (
	errRedraw   = errors.New("the question may not have been seen: the process was stopped or in the background")
	errDeadline = errors.New("no answer in time")
)

// ask asks about a call. rule is the rule that asks. tool: the person may allow every call of
// the tool. The error is a nobodyError, or ctx's cause.
func (t *Terminal) ask(ctx context.Context, c *Call, rule *Rule, tool bool) (answer, error) {
	device, release, err := t.acquire(ctx)
	if err != nil {
		return answer{}, err
	}
	defer release()
	a, err := t.askAbout(ctx, device, c, rule, tool)
	if cause := context.Cause(ctx); cause != nil {
		if err != nil {
			device.WriteNotice("\n") // the next output begins on a new line
		}
		return answer{}, cause
	}
	if err != nil {
		return t.noAnswer(device, err), nil
	}
	return a, nil
}

// askAbout asks about a call until there is an answer or an error.
func (t *Terminal) askAbout(ctx context.Context, device *tty.TTY, c *Call, rule *Rule, tool bool) (answer, error) {
	above := "" // lines above the question
	made := t.change(ctx, c)
	for unclear := 0; unclear < maxUnclear; {
		var q *question
		line, err := t.askUntilSeen(ctx, device, func(width, height int) *question {
			q = newQuestion(c, made, rule, tool, width, height, t.Color)
			q.body = above + q.body
			return q
		})
		if err != nil {
			return answer{}, err
		}
		a := q.answer(line)
		if now := t.change(ctx, c); now.diff != made.diff && a.kind != answerNo && a.kind != answerQuit {
			made, above = now, "The file was changed meanwhile.\n"
			continue
		}
		switch a.kind {
		case answerShow:
			above = everything(c, made, q.width)
		case answerExplain:
			above = q.explanation()
		case answerTool:
			name, err := t.askUntilSeen(ctx, device, func(width, _ int) *question { return newToolQuestion(c, width, t.Color) })
			if err != nil {
				return answer{}, err
			}
			if name == c.Name {
				return a, nil
			}
			unclear++
			above = "That is not the name of the tool.\n"
		case answerUnclear:
			unclear++
			above = "That is not one of the answers; ? explains them.\n"
		default:
			return a, nil
		}
	}
	return answer{answerNo, "the user gave no clear answer"}, nil
}

// change is the change that c would make, as the terminal shows it.
func (t *Terminal) change(ctx context.Context, c *Call) change {
	made := c.change(ctx)
	made.colored = t.DiffColor
	return made
}

// askUntilSeen repeats a question until the person has seen the one that the answer is for.
func (t *Terminal) askUntilSeen(ctx context.Context, device *tty.TTY, question func(width, height int) *question) (string, error) {
	for {
		line, err := t.askLine(ctx, device, question(device.Size()))
		if !errors.Is(err, errRedraw) {
			return line, err
		}
	}
}

func (t *Terminal) noAnswer(device *tty.TTY, err error) answer {
	why, notice := "the question could not be asked: "+err.Error(), "\n"
	switch {
	case errors.Is(err, errDeadline):
		why = "no answer in " + t.timeout().String()
		notice = "\n" + why + ": not run\n"
	case errors.Is(err, tty.ErrHangUp) && device.HungUp():
		why = "the terminal was closed without an answer"
	case errors.Is(err, tty.ErrHangUp):
		why = "no answer (end of input)"
	}
	device.WriteNotice(notice)
	return answer{answerNo, why}
}

func (t *Terminal) timeout() time.Duration { return cmp.Or(t.Timeout, defaultTimeout) }

// acquire opens the terminal and waits until nobody else asks on it; release closes it. The
// error is a nobodyError, or ctx's cause.
func (t *Terminal) acquire(ctx context.Context) (opened *tty.TTY, release func(), err error) {
	if t.Disabled != "" {
		return nil, nil, nobodyError(t.Disabled)
	}
	for !t.asking.TryLock() {
		if err := tty.Sleep(ctx, tty.PollInterval); err != nil {
			return nil, nil, err
		}
	}
	if opened, err = t.open(); err != nil {
		t.asking.Unlock()
		return nil, nil, err
	}
	if t.Before != nil {
		t.Before()
	}
	release = func() {
		if t.After != nil {
			t.After()
		}
		opened.Close()
		t.asking.Unlock()
	}
	if err := awaitLock(ctx, opened); err != nil {
		release()
		return nil, nil, err
	}
	return opened, release, nil
}

// open opens the terminal, if there is one and our process group is in its foreground.
func (t *Terminal) open() (*tty.TTY, error) {
	opened, err := tty.Open("/dev/tty")
	if err != nil {
		return nil, nobodyError("no terminal")
	}
	if !opened.Foreground() {
		opened.Close()
		return nil, nobodyError("not in the foreground of the terminal")
	}
	return opened, nil
}

// awaitLock waits until no other program of our process group asks on the
// terminal: all of them are in the foreground together.
func awaitLock(ctx context.Context, device *tty.TTY) error {
	for deadline := time.Now().Add(maxQueue); !device.Lock(); {
		if time.Now().After(deadline) {
			return nobodyError("another program asks on this terminal")
		}
		if err := tty.Sleep(ctx, tty.PollInterval); err != nil {
			return err
		}
	}
	return nil
}

// Busy reports whether another program of our process group asks on the
// terminal. Nobody else should draw there then.
func (t *Terminal) Busy() bool {
	opened, err := t.open()
	if err != nil {
		return false
	}
	defer opened.Close()
	return opened.Locked()
}
