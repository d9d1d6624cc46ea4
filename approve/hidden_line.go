package approve

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

// maxHiddenLine is how many bytes of a line are read that is not shown.
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
	opened.close()
	return true
}

// ReadHidden shows prompt, which is ours, and reads a line that is not shown: it
// may hold a secret. The line may be longer than a terminal takes in its usual
// mode, such as an address that was pasted. The error is ctx's cause, or
// says why there is no answer.
func (t *Terminal) ReadHidden(ctx context.Context, prompt string) (string, error) {
	tty, release, err := t.acquire(ctx)
	if err != nil {
		return "", err
	}
	defer release()
	for {
		line, err := t.readHidden(ctx, tty, prompt)
		if errors.Is(err, errRedraw) {
			continue
		}
		tty.writeNotice("\n")
		return line, err
	}
}

// readHidden is ReadHidden until the process was stopped: the shell has the
// terminal show its input then.
func (t *Terminal) readHidden(ctx context.Context, tty *tty, prompt string) (string, error) {
	t.wasContinued() // before the question
	deadline := time.Now().Add(t.timeout())
	if _, err := t.awaitForeground(ctx, tty, deadline); err != nil {
		return "", err
	}
	show, err := tty.hideInput()
	if err != nil {
		return "", err
	}
	defer show()
	if err := tty.write(ctx, "\n"+prompt, deadline); err != nil {
		return "", err
	}
	var line []byte
	tooLong := false
	for {
		if t.wasContinued() || !tty.foreground() {
			return "", errRedraw
		}
		if _, err := tty.read(ctx, &line); err != nil {
			return "", err
		}
		line = edited(line)
		end := strings.IndexAny(string(line), "\r\n\x04")
		switch {
		case end >= 0 && tooLong:
			return "", errors.New("the line is too long")
		case end == 0 && line[0] == '\x04':
			return "", errHangUp
		case end >= 0:
			return string(line[:end]), nil
		case len(line) > maxHiddenLine: // its rest is read too, or it would be shown
			line, tooLong = line[:0], true
		}
	}
}

// edited does what the terminal would do in its usual mode: a backspace takes one
// byte away, and ^U all.
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

// hideInput has the terminal not show what is typed, and hand it over at once;
// show restores its mode.
func (t *tty) hideInput() (show func(), err error) {
	var usual syscall.Termios
	if err := t.ioctl(getModes, unsafe.Pointer(&usual)); err != nil {
		return nil, err
	}
	hidden := usual
	hidden.Lflag &^= syscall.ECHO | syscall.ICANON
	hidden.Cc[syscall.VMIN], hidden.Cc[syscall.VTIME] = 1, 0
	if err := t.ioctl(setModes, unsafe.Pointer(&hidden)); err != nil {
		return nil, err
	}
	return func() {
		if t.foreground() { // elsewhere the shell has set the mode that it wants
			_ = t.ioctl(setModes, unsafe.Pointer(&usual))
		}
	}, nil
}
