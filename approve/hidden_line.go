package approve

import (
	"context"
	"errors"
	"strings"
	"time"

	"toolpipe/approve/tty"
)

const maxHiddenLine = 16 << 10

// Reachable reports whether a person may be asked on the terminal now.
func (t *Terminal) Reachable() bool {
	if t.Disabled != "" {
		return false
	}
	opened, err := t.open()
	if err != nil {
		return false
	}
	opened.Close()
	return true
}

// ReadHidden shows prompt, which is ours, and reads a line without showing it: it may hold a
// secret. The line may be longer than a terminal accepts in its usual mode, such as an address
// that was pasted. The error is ctx's cause, or says why there is no answer.
func (t *Terminal) ReadHidden(ctx context.Context, prompt string) (string, error) {
	device, release, err := t.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	for {
		line, err := t.readHidden(ctx, device, prompt)
		if errors.Is(err, errRedraw) {
			continue
		}
		device.WriteNotice("\n")
		return line, err
	}
}

// readHidden is ReadHidden until the process is stopped: the shell then makes the terminal show
// its input.
func (t *Terminal) readHidden(ctx context.Context, device *tty.TTY, prompt string) (string, error) {
	t.wasContinued() // before the question
	deadline := time.Now().Add(t.timeout())
	if _, err := t.awaitForeground(ctx, device, deadline); err != nil {
		return "", err
	}
	show, err := device.HideInput()
	if err != nil {
		return "", err
	}
	defer show()
	if err := device.Write(ctx, "\n"+prompt, deadline); err != nil {
		return "", err
	}
	var line []byte
	tooLong := false
	for {
		if t.wasContinued() || !device.Foreground() {
			return "", errRedraw
		}
		if _, err := device.Read(ctx, &line); err != nil {
			return "", err
		}
		line = edited(line)
		end := strings.IndexAny(string(line), "\r\n\x04")
		switch {
		case end >= 0 && tooLong:
			return "", errors.New("the line is too long")
		case end == 0 && line[0] == '\x04':
			return "", tty.ErrHangUp
		case end >= 0:
			return string(line[:end]), nil
		case len(line) > maxHiddenLine: // the rest is read too; otherwise it would be shown
			line, tooLong = line[:0], true
		}
	}
}

// edited applies the keys that the terminal handles in its usual mode: a backspace deletes one
// byte, and ^U deletes all.
func edited(line []byte) []byte {
	kept := line[:0]
	for _, c := range line {
		switch {
		case c == 0x7f || c == '\b':
			kept = kept[:max(0, len(kept)-1)]
		case c == 0x15:
			kept = kept[:0]
		default:
			kept = append(kept, c)
		}
	}
	return kept
}
