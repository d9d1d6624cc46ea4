package approve

import (
	"strings"
	"syscall"
	"testing"
)

// TestReadHidden: a line that is longer than a terminal takes in its usual mode is
// read whole and does not appear; afterwards the terminal is as before.
func TestReadHidden(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("https-address-", 500)
	for _, tt := range []struct {
		typed, want string
		job         job
	}{
		{typed: long + "12345\n", want: `true, 7005 bytes, ending with "12345", <nil>`},
		{typed: "first\x15abcx\x7fd\r", want: `true, 4 bytes, ending with "abcd", <nil>`},
		{typed: "\x7f\x7f\n", want: `true, 0 bytes, ending with "", <nil>`},
		{typed: "\x04", want: `true, 0 bytes, ending with "", end of file on the terminal`},
		{typed: strings.Repeat(long, 3) + "\n", want: `true, 0 bytes, ending with "", the line is too long`},
		{want: `false, 0 bytes, ending with "", nobody can be asked: not in the foreground of the terminal`, job: job{Background: true}},
	} {
		tt.job.Hidden, tt.job.Timeout = "paste it here: ", guardTime
		var usual syscall.Termios
		a := startAsker(t, tt.job, "", func(a *asker) { usual = modes(t, a.slave) }) // before the child changes them
		if !tt.job.Background {
			a.await("paste it here: ", 1)
			a.typeIn(tt.typed)
		}
		if got := a.verdict(); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
		if !tt.job.Background {
			a.await("paste it here: \r\n", 1) // what follows stands on a line of its own
		}
		if modes(t, a.slave) != usual {
			t.Error("the terminal has another mode afterwards")
		}
		if shown := a.text(); len(tt.typed) > 8 && strings.Contains(shown, tt.typed[:8]) {
			t.Errorf("it was shown: %q", shown)
		}
	}
}

// TestReadHiddenStopped: after the process was stopped, the shell has the terminal
// show what is typed, so it is set anew.
func TestReadHiddenStopped(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Hidden: "paste it here: ", Timeout: guardTime}, "")
	a.await("paste it here: ", 1)
	a.stop()
	m := modes(t, a.slave)
	m.Lflag |= syscall.ECHO | syscall.ICANON
	setModesOf(t, a.slave, m)
	if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	a.await("paste it here: ", 2)
	a.typeIn("hidden-text\n")
	if got := a.verdict(); got != `true, 11 bytes, ending with "-text", <nil>` || strings.Contains(a.text(), "hidden") {
		t.Errorf("%s, shown: %q", got, a.text())
	}
}
