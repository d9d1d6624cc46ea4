package approve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// A Terminal asks a person on /dev/tty; standard input and output have no part
// in it. Questions about calls and forms of tool servers are put one at a time,
// also among the programs of one process group, so that an answer to one is
// never taken for the answer to another. The zero value is ready for use, by
// any goroutine.
type Terminal struct {
	Disabled string        // why nobody may be asked, such as "CI is set"; "" if somebody may
	Timeout  time.Duration // of silence, after which the answer is no; 0: 120 s
	Color    bool          // escape sequences may be used

	// Before is called before anything is drawn, and After when the question is
	// over, so that the owner of a live line can hide it. Both may be nil.
	Before, After func()

	// Resumed gets a signal when the process goes on after it was stopped
	// (SIGCONT): the question is then drawn again and its time begins anew. It
	// may be nil.
	Resumed <-chan os.Signal

	asking        sync.Mutex // held while a question stands; guards the fields below
	explained     bool       // the answers were explained
	formWithdrawn time.Time  // when a form ended without an answer
	resumed       time.Time  // when the process was seen to go on in the foreground, before its SIGCONT came
}

// Times of the question. Tests shorten some of them.
var (
	// settleTime is how long input that was typed before the question may be on
	// its way, and the news that the process was stopped.
	settleTime = 100 * time.Millisecond
	// lateAnswerTime is how long input is thrown away after a form was
	// withdrawn. A person who was about to answer the form has then seen that
	// another question stands there.
	lateAnswerTime = time.Second
	// noticeTime is how long the terminal may take to accept the line that ends
	// a question.
	noticeTime = time.Second
	// pollInterval is how soon a cancelled context or a stopped process is
	// noticed.
	pollInterval = 50 * time.Millisecond
)

const (
	// maxPause is how long a loop that waits a pollInterval at a time may take
	// for one round. If it takes longer, the process was stopped.
	maxPause = time.Second
	// lateResume is how long the SIGCONT that belongs to a process seen in the
	// foreground again may be on its way. A shell gives the process the terminal
	// first, and some send no signal if the process was not stopped.
	lateResume = 10 * time.Second
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
	answerNobody
	answerYes
	answerAlways
)

type answer struct {
	kind   answerKind
	reason string
}

// A nobodyError says why no person can be asked.
type nobodyError string

func (e nobodyError) Error() string { return "nobody can be asked: " + string(e) }

var (
	errRedraw   = errors.New("the question may not have been seen: the process was stopped or in the background")
	errDeadline = errors.New("no answer in time")
	errHangUp   = errors.New("end of file on the terminal")
)

// ask asks about a call. rule wants the call asked about; it is nil when no
// rule matches the call. The error is ctx's cause.
func (t *Terminal) ask(ctx context.Context, c *Call, rule *Rule) (answer, error) {
	tty, release, err := t.acquire(ctx)
	if nobody, ok := errors.AsType[nobodyError](err); ok {
		return answer{answerNobody, nobody.Error()}, nil
	}
	if err != nil {
		return answer{}, err
	}
	defer release()
	a, err := t.askAbout(ctx, tty, c, rule)
	if cause := context.Cause(ctx); cause != nil {
		return answer{}, cause
	}
	if err != nil {
		return answer{answerNo, "the question could not be put: " + err.Error()}, nil
	}
	return a, nil
}

// askAbout asks about a call until there is an answer or an error.
func (t *Terminal) askAbout(ctx context.Context, tty *tty, c *Call, rule *Rule) (answer, error) {
	explain := !t.explained
	for {
		width, height := tty.size()
		q := newQuestion(c, rule, width, height, t.Color)
		if explain && !q.cut {
			q.body += explanation + "\n"
			t.explained = true
		}
		line, err := t.askLine(ctx, tty, q)
		switch {
		case errors.Is(err, errRedraw):
			continue
		case errors.Is(err, errDeadline):
			why := "no answer in " + t.timeout().String()
			tty.writeNotice("\n" + why + ": not run\n")
			return answer{answerNo, why}, nil
		case errors.Is(err, errHangUp):
			tty.writeNotice("\n")
			if tty.hungUp() {
				return answer{answerNo, "the terminal was closed without an answer"}, nil
			}
			return answer{answerNo, "no answer (end of input)"}, nil
		case err != nil:
			tty.writeNotice("\n")
			return answer{}, err
		}
		return q.answer(line), nil
	}
}

func (t *Terminal) timeout() time.Duration { return cmp.Or(t.Timeout, defaultTimeout) }

// acquire opens the terminal and waits until nobody else asks on it; release
// gives it back. The error is a nobodyError, or ctx's cause.
func (t *Terminal) acquire(ctx context.Context) (opened *tty, release func(), err error) {
	if t.Disabled != "" {
		return nil, nil, nobodyError(t.Disabled)
	}
	for !t.asking.TryLock() {
		if err := sleep(ctx, pollInterval); err != nil {
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
		opened.close()
		t.asking.Unlock()
	}
	if err := awaitLock(ctx, opened); err != nil {
		release()
		return nil, nil, err
	}
	return opened, release, nil
}

// open opens the terminal, if there is one whose foreground we are in.
func (t *Terminal) open() (*tty, error) {
	opened, err := openTTY("/dev/tty")
	if err != nil {
		return nil, nobodyError("no terminal")
	}
	if !opened.foreground() {
		opened.close()
		return nil, nobodyError("not in the foreground of the terminal")
	}
	return opened, nil
}

// awaitLock waits until no other program of our process group asks on the
// terminal: all of them are in the foreground together.
func awaitLock(ctx context.Context, tty *tty) error {
	for deadline := time.Now().Add(maxQueue); !tty.lock(); {
		if time.Now().After(deadline) {
			return nobodyError("another program asks on this terminal")
		}
		if err := sleep(ctx, pollInterval); err != nil {
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
	defer opened.close()
	return opened.locked()
}

// askLine draws q and reads one line. The error is errRedraw, errDeadline,
// errHangUp, another error of the terminal, or ctx's cause.
func (t *Terminal) askLine(ctx context.Context, tty *tty, q *question) (string, error) {
	deadline := time.Now().Add(t.timeout())
	flushed, err := t.draw(ctx, tty, q, deadline)
	if err != nil {
		return "", err
	}
	return t.readLine(ctx, tty, deadline, flushed)
}

// draw shows the question, from a new line on. Input that was typed before is
// thrown away at the time flushed, and only then the line with the prompt is
// drawn, so that no answer to it is lost.
func (t *Terminal) draw(ctx context.Context, tty *tty, q *question, deadline time.Time) (flushed time.Time, err error) {
	if _, err := t.awaitForeground(ctx, tty, deadline); err != nil {
		return flushed, err
	}
	t.wasContinued() // before the question
	if err := tty.write(ctx, "\n"+q.body, deadline); err != nil {
		return flushed, err
	}
	if err := sleep(ctx, max(settleTime, lateAnswerTime-time.Since(t.formWithdrawn))); err != nil {
		return flushed, err
	}
	if t.wasContinued() {
		return flushed, errRedraw
	}
	flushed = time.Now()
	if err := tty.flushInput(); err != nil {
		return flushed, fmt.Errorf("cannot throw away what was typed before: %w", err)
	}
	// The prompt replaces the echo of the input that was thrown away.
	erase := "\r" + strings.Repeat(" ", q.width-1) + "\r"
	if t.Color {
		erase = "\r\x1b[K"
	}
	return flushed, tty.write(ctx, erase+q.prompt, deadline)
}

// awaitForeground waits until our process group is in the foreground, where
// drawing and reading do not stop us. waited reports that it was not there at
// first.
func (t *Terminal) awaitForeground(ctx context.Context, tty *tty, deadline time.Time) (waited bool, err error) {
	for ; !tty.foreground(); waited = true {
		t.gotSIGCONT() // it moved us to the background
		switch {
		case tty.hungUp():
			return waited, errHangUp
		case time.Now().After(deadline):
			return waited, errDeadline
		}
		if err := sleep(ctx, pollInterval); err != nil {
			return waited, err
		}
	}
	if waited {
		t.resumed = time.Now()
	}
	return waited, nil
}

// readLine reads a line and returns it without its end. While our process
// group is in the background it does not read: that would stop us, and the
// input is not for us. A line that may have been typed in that time, or while
// the process was stopped, is no answer, because the person may not have seen
// the question: the error is errRedraw then. Input was thrown away at flushed.
func (t *Terminal) readLine(ctx context.Context, tty *tty, deadline, flushed time.Time) (string, error) {
	var line []byte
	running := flushed // when the process was last known not to be stopped
	for {
		if err := context.Cause(ctx); err != nil {
			return "", err
		}
		if t.wasStopped(&running, 0) {
			return "", errRedraw
		}
		if time.Now().After(deadline) {
			return "", errDeadline
		}
		if waited, err := t.awaitForeground(ctx, tty, deadline); err != nil {
			return "", err
		} else if waited {
			return "", errRedraw
		}
		n, err := tty.read(ctx, &line)
		if err != nil {
			return "", err
		}
		end := strings.IndexAny(string(line), "\r\n")
		if n == 0 || end < 0 && len(line) <= maxAnswer {
			continue
		}
		if t.wasStopped(&running, settleTime) || !tty.foreground() {
			return "", errRedraw
		}
		if end < 0 {
			_ = tty.flushInput() // the rest of a line that is too long for an answer
			end = len(line)
		}
		return string(line[:end]), nil
	}
}

// wasStopped reports whether the process was stopped since the time running,
// and sets running to the current time. There are two signs: SIGCONT, of which
// another thread tells, perhaps only after this one has read input, so that it
// is awaited for the time wait; and a long pause, which needs no other thread.
func (t *Terminal) wasStopped(running *time.Time, wait time.Duration) bool {
	now := time.Now()
	if now.Sub(*running) > maxPause {
		return true
	}
	*running = now
	for !t.wasContinued() {
		if time.Since(now) >= wait {
			return false
		}
		time.Sleep(min(wait, pollInterval))
	}
	return true
}

// wasContinued reports whether a SIGCONT came, other than the one that belongs to
// a change to the foreground which was seen already.
func (t *Terminal) wasContinued() bool {
	if !t.gotSIGCONT() {
		return false
	}
	known := time.Since(t.resumed) < lateResume
	t.resumed = time.Time{}
	return !known
}

// gotSIGCONT reports whether a SIGCONT came since the last call.
func (t *Terminal) gotSIGCONT() bool {
	select {
	case <-t.Resumed:
		return true
	default:
		return false
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
