package approve

import (
	"context"
	"fmt"
	"strings"
	"time"

	"toolpipe/approve/tty"
)

// askLine draws q and reads one line. The error is errRedraw, errDeadline,
// tty.ErrHangUp, another error of the terminal, or ctx's cause.
func (t *Terminal) askLine(ctx context.Context, device *tty.TTY, q *question) (string, error) {
	deadline := time.Now().Add(t.timeout())
	flushed, err := t.draw(ctx, device, q, deadline)
	if err != nil {
		return "", err
	}
	return t.readLine(ctx, device, deadline, flushed)
}

// draw shows the question on a new line. It discards earlier input at the time flushed. Only
// then it draws the line with the prompt, so that no answer to it is lost.
func (t *Terminal) draw(ctx context.Context, device *tty.TTY, q *question, deadline time.Time) (flushed time.Time, err error) {
	if _, err := t.awaitForeground(ctx, device, deadline); err != nil {
		return flushed, err
	}
	t.wasContinued() // before the question
	if err := device.Write(ctx, "\n"+q.body, deadline); err != nil {
		return flushed, err
	}
	if err := tty.Sleep(ctx, max(settleTime, lateAnswerTime-time.Since(t.formWithdrawn))); err != nil {
		return flushed, err
	}
	if t.wasContinued() {
		return flushed, errRedraw
	}
	flushed = time.Now()
	if err := device.FlushInput(); err != nil {
		return flushed, fmt.Errorf("cannot discard earlier input: %w", err)
	}
	// The prompt replaces the echo of the input that was thrown away.
	erase := "\r" + strings.Repeat(" ", q.width-1) + "\r"
	if t.Color {
		erase = "\r\x1b[K"
	}
	return flushed, device.Write(ctx, erase+q.prompt, deadline)
}

// awaitForeground waits until our process group is in the foreground, where drawing and reading
// do not stop us. waited reports that it had to wait.
func (t *Terminal) awaitForeground(ctx context.Context, device *tty.TTY, deadline time.Time) (waited bool, err error) {
	for ; !device.Foreground(); waited = true {
		t.gotSIGCONT() // this one moved us to the background
		switch {
		case device.HungUp():
			return waited, tty.ErrHangUp
		case time.Now().After(deadline):
			return waited, errDeadline
		}
		if err := tty.Sleep(ctx, tty.PollInterval); err != nil {
			return waited, err
		}
	}
	if waited {
		t.resumed = time.Now()
	}
	return waited, nil
}

// readLine reads a line and returns it without its end. It does not read in the background:
// reading would stop us, and the input is not for us. A line that may have been typed in that
// time, or while the process was stopped, is no answer, because the person may not have seen
// the question; the error is then errRedraw. Earlier input was discarded at flushed.
func (t *Terminal) readLine(ctx context.Context, device *tty.TTY, deadline, flushed time.Time) (string, error) {
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
		if waited, err := t.awaitForeground(ctx, device, deadline); err != nil {
			return "", err
		} else if waited {
			return "", errRedraw
		}
		n, err := device.Read(ctx, &line)
		if err != nil {
			return "", err
		}
		end := strings.IndexAny(string(line), "\r\n")
		if n == 0 || end < 0 && len(line) <= maxAnswer {
			continue
		}
		if t.wasStopped(&running, settleTime) || !device.Foreground() {
			return "", errRedraw
		}
		if end < 0 {
			_ = device.FlushInput() // the rest of a line that is too long for an answer
			end = len(line)
		}
		return string(line[:end]), nil
	}
}

// wasStopped reports whether the process was stopped since the time running, and sets running
// to the current time. There are two signs: a long pause, and SIGCONT. Another thread reports
// SIGCONT, perhaps only after this one has read input, so that wasStopped waits for it for the
// time wait.
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
		time.Sleep(min(wait, tty.PollInterval))
	}
	return true
}

// wasContinued reports whether a SIGCONT came. It ignores the SIGCONT of a change to the
// foreground that was already seen.
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
