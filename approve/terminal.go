package approve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// Terminal asks a person. It is the one owner of the terminal: questions about
// calls and forms of servers are put one at a time, whichever goroutine wants
// to, so that an answer to the one is never taken for the other's. The zero
// value asks on /dev/tty. Nothing about a question goes through standard input
// or output.
type Terminal struct {
	Disabled string        // why nobody may be asked: "CI is set", "--no-input"; "" if somebody may
	Timeout  time.Duration // of silence after which the answer is no; 0: 120 s
	Color    bool          // escape sequences may be used

	// Before is called before anything is drawn and After when the question is
	// over: the owner of a live line stops and resumes it. Both may be nil.
	Before, After func()

	// Resumed tells that the process went on after it was stopped (SIGCONT):
	// the question is drawn again and its time begins anew. It may be nil.
	Resumed <-chan os.Signal

	asking    sync.Mutex // held while a question stands; guards the rest
	explained bool       // the letters of the answer were
	abandoned time.Time  // when a form ended that the person may still be answering
}

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

const (
	// settle is how long input typed before the question may be on its way, and
	// the news that the process was stopped.
	settle = 100 * time.Millisecond
	// tick is how soon a cancelled context or a stopped process is noticed.
	tick = 50 * time.Millisecond
	// standstill is how long nothing may happen in a loop that waits a tick at
	// a time; after more the process was stopped.
	standstill = time.Second
	// maxAnswer is how long a line may be that is read as an answer.
	maxAnswer = 1024
	// afterthought is how long what is typed is thrown away after a form was
	// taken from the screen: somebody who was about to answer it has then seen
	// that there is another question.
	afterthought = time.Second
	// maxQueue is how long to wait for another program that asks here.
	maxQueue = 10 * time.Minute
)

// ask asks about one call; rule is the one that wants it asked, nil when none
// matched. The error is ctx's cause.
func (t *Terminal) ask(ctx context.Context, c *Call, rule *Rule) (answer, error) {
	tty, release, err := t.hold(ctx)
	if why, ok := errors.AsType[nobody](err); ok {
		return answer{answerNobody, why.Error()}, nil
	}
	if err != nil {
		return answer{}, err
	}
	defer release()
	a, err := t.question(ctx, tty, c, rule)
	if cause := context.Cause(ctx); cause != nil {
		return answer{}, cause
	}
	if err != nil {
		return answer{answerNo, "the question could not be put: " + err.Error()}, nil
	}
	return a, nil
}

// nobody is why no person can be asked.
type nobody string

func (n nobody) Error() string { return "nobody can be asked: " + string(n) }

// hold waits until nobody else asks on the terminal and opens it, to be given
// back by release. The error is a nobody, or ctx's cause.
func (t *Terminal) hold(ctx context.Context) (opened *tty, release func(), err error) {
	if t.Disabled != "" {
		return nil, nil, nobody(t.Disabled)
	}
	for !t.asking.TryLock() {
		if err := sleep(ctx, tick); err != nil {
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
	if err := queue(ctx, opened); err != nil {
		release()
		return nil, nil, err
	}
	return opened, release, nil
}

// open opens the terminal if somebody is there to be asked.
func (t *Terminal) open() (*tty, error) {
	opened, err := openTTY("/dev/tty")
	if err != nil {
		return nil, nobody("no terminal")
	}
	if !opened.foreground() {
		opened.close()
		return nil, nobody("not in the foreground of the terminal")
	}
	return opened, nil
}

// queue waits until no other program of our process group asks on the terminal:
// they share the foreground.
func queue(ctx context.Context, tty *tty) error {
	for deadline := time.Now().Add(maxQueue); !tty.lock(); {
		if time.Now().After(deadline) {
			return nobody("another program asks on this terminal")
		}
		if err := sleep(ctx, tick); err != nil {
			return err
		}
	}
	return nil
}

// Busy tells whether another program of our process group asks on the terminal,
// where nobody else should draw then.
func (t *Terminal) Busy() bool {
	opened, err := t.open()
	if err != nil {
		return false
	}
	defer opened.close()
	return opened.locked()
}

// question draws and reads until there is an answer, an error or a cancelled ctx.
func (t *Terminal) question(ctx context.Context, tty *tty, c *Call, rule *Rule) (answer, error) {
	explained := t.explained
	for {
		width, height := tty.size()
		q := newQuestion(c, rule, width, height, t.Color)
		if !explained && !q.long {
			q.body += explanation + "\n"
			t.explained = true
		}
		line, err := t.exchange(ctx, tty, q)
		switch {
		case errors.Is(err, errResumed):
			continue
		case errors.Is(err, errDeadline):
			why := "no answer in " + t.timeout().String()
			tty.note("\n" + why + ": not run\n")
			return answer{answerNo, why}, nil
		case errors.Is(err, errHangUp):
			tty.note("\n")
			if tty.gone() {
				return answer{answerNo, "the terminal was closed without an answer"}, nil
			}
			return answer{answerNo, "no answer (end of input)"}, nil
		case err != nil:
			tty.note("\n")
			return answer{}, err
		}
		return q.read(line), nil
	}
}

// exchange draws q and reads one line.
func (t *Terminal) exchange(ctx context.Context, tty *tty, q *question) (string, error) {
	deadline := time.Now().Add(t.timeout())
	seen, err := t.draw(ctx, tty, q, deadline)
	if err != nil {
		return "", err
	}
	return t.readLine(ctx, tty, deadline, seen)
}

func (t *Terminal) timeout() time.Duration {
	if t.Timeout > 0 {
		return t.Timeout
	}
	return 120 * time.Second
}

// draw shows the question, from a new line on: the cursor may stand after
// something. What was typed before its last line is thrown away, at flushed:
// that line comes after it, so that who answers to it is heard.
func (t *Terminal) draw(ctx context.Context, tty *tty, q *question, deadline time.Time) (flushed time.Time, err error) {
	if _, err := awaitForeground(ctx, tty, deadline); err != nil {
		return flushed, err
	}
	select {
	case <-t.Resumed: // of a stop before there was a question
	default:
	}
	if err := tty.write(ctx, "\n"+q.body, deadline); err != nil {
		return flushed, err
	}
	if err := sleep(ctx, max(settle, afterthought-time.Since(t.abandoned))); err != nil {
		return flushed, err
	}
	flushed = time.Now()
	if err := tty.flushInput(); err != nil {
		return flushed, fmt.Errorf("cannot throw away what was typed before: %w", err)
	}
	// Over the echo of what was thrown away.
	erase := "\r" + strings.Repeat(" ", q.width-1) + "\r"
	if t.Color {
		erase = "\r\x1b[K"
	}
	return flushed, tty.write(ctx, erase+q.last, deadline)
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

var (
	errResumed  = errors.New("the process was stopped, or the terminal another's")
	errDeadline = errors.New("no answer in time")
	errHangUp   = errors.New("end of file on the terminal")
)

// awaitForeground waits until the terminal is ours to draw on and to read from;
// either would stop us before. It tells whether that took any time.
func awaitForeground(ctx context.Context, tty *tty, deadline time.Time) (waited bool, err error) {
	for ; !tty.foreground(); waited = true {
		switch {
		case tty.gone():
			return waited, errHangUp
		case time.Now().After(deadline):
			return waited, errDeadline
		}
		if err := sleep(ctx, tick); err != nil {
			return waited, err
		}
	}
	return waited, nil
}

// readLine reads up to a line end, which it leaves out. Nothing is read while
// another process group is in the foreground: the answer is not ours then,
// and the read would stop us. A line that may have been typed meanwhile, or
// while the process was stopped, is none: nobody saw the question above it.
// Nothing was typed before seen.
func (t *Terminal) readLine(ctx context.Context, tty *tty, deadline, seen time.Time) (string, error) {
	var line []byte
	for {
		if err := context.Cause(ctx); err != nil {
			return "", err
		}
		if t.stopped(&seen, 0) {
			return "", errResumed
		}
		if time.Now().After(deadline) {
			return "", errDeadline
		}
		if away, err := awaitForeground(ctx, tty, deadline); err != nil {
			return "", err
		} else if away {
			return "", errResumed
		}
		n, err := tty.read(&line, tick)
		if err != nil {
			return "", err
		}
		end := strings.IndexAny(string(line), "\r\n")
		if n == 0 || end < 0 && len(line) <= maxAnswer {
			continue
		}
		if t.stopped(&seen, settle) {
			return "", errResumed
		}
		if !tty.foreground() {
			return "", errResumed
		}
		if end < 0 {
			_ = tty.flushInput() // the rest of a line that no longer matters
			end = len(line)
		}
		return string(line[:end]), nil
	}
}

// stopped tells whether the process was stopped since seen, when this was
// asked before. SIGCONT is told of by another thread, perhaps after what was
// typed was read: wait is how long to wait for that. A standstill is the
// second sign, which needs no thread but this one.
func (t *Terminal) stopped(seen *time.Time, wait time.Duration) bool {
	now := time.Now()
	if now.Sub(*seen) > standstill {
		return true
	}
	*seen = now
	select {
	case <-t.Resumed:
		return true
	case <-time.After(wait):
		return false
	}
}
