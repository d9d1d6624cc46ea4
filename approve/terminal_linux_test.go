package approve

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/approve/tty"
)

var oneCall = []jobCall{{"fs__write_file", `{"path":"a.txt","content":"x"}`}}

const ending = "[y/N/a/t/q/v/?] "

func TestTypedAhead(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Calls: oneCall, Timeout: time.Second, RealTimes: true}, "y\nyes\ny")
	a.await(ending, 1)
	if got, want := a.verdict(), "deny by terminal: no answer in 1s"; got != want {
		t.Errorf("%s", got)
	}
	a.await("no answer in 1s: not run", 1)
}

func TestEachQuestionHasItsOwnAnswer(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Calls: []jobCall{{"fs__one", `{}`}, {"fs__two", `{}`}}, Timeout: time.Second, RealTimes: true}, "")
	a.await("Allow fs__one? "+ending, 1)
	if strings.Contains(a.text(), "fs__two") {
		t.Error("the second question does not wait for the first")
	}
	a.typeIn("y\ny\ny\n")
	a.expect("allow by terminal: ")
	a.await("Allow fs__two? "+ending, 1)
	if got := a.verdict(); got != "deny by terminal: no answer in 1s" {
		t.Errorf("the second call took the first one's answer: %s", got)
	}
}

func TestAlwaysMeansTheSameCall(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Calls: []jobCall{
		{"fs__one", `{"a":1}`}, {"fs__one", `{"a":1}`}, {"fs__one", `{"a":2}`}, {"fs__two", `{"a":1}`}, {"fs__one", `{"a":1}`},
	}, Timeout: guardTime}, "")
	a.await(ending, 1)
	a.typeIn("a\n")
	for i, want := range []string{
		"allow by terminal: ", "allow by terminal: the same call was approved before",
		"deny by terminal: the user declined", "allow by terminal: ", "allow by terminal: the same call was approved before",
	} {
		switch i {
		case 2:
			a.await(ending, 2)
			a.typeIn("n\n")
		case 3:
			a.await(ending, 3)
			a.typeIn("a\n")
		}
		if got := a.verdict(); got != want {
			t.Errorf("call %d: %s", i+1, got)
		}
	}
}

func TestYesIsForOneCall(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Calls: []jobCall{oneCall[0], oneCall[0]}, Timeout: guardTime}, "")
	a.await(ending, 1)
	a.typeIn("y\n")
	a.await(ending, 2)
	a.typeIn("n\n")
	if one, two := a.verdict(), a.verdict(); one != "allow by terminal: " || two != "deny by terminal: the user declined" {
		t.Error(one, two)
	}
}

func TestBackgroundIsNotAsked(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Calls: oneCall, Background: true, Timeout: guardTime}, "y\n")
	if got, want := a.verdict(), "unapproved by default: nobody can be asked: not in the foreground of the terminal"; got != want {
		t.Error(got)
	}
	if strings.Contains(a.text(), "Allow") {
		t.Errorf("something was drawn: %q", a.text())
	}
}

func TestWithoutTerminal(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+`={"Calls":[{"Name":"fs__x","Arguments":"{}"}]}`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	out, err := cmd.Output()
	if got := string(out); err != nil || got != "unapproved by default: nobody can be asked: no terminal\n" {
		t.Error(got, err)
	}
}

func TestCancelWhileAsking(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Calls: oneCall, Timeout: guardTime}, "")
	before := modes(t, a.slave)
	a.await(ending, 1)
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if got := a.verdict(); !strings.HasPrefix(got, "error:") {
		t.Error(got)
	}
	if modes(t, a.slave) != before {
		t.Error("the terminal's modes are not as before")
	}
}

func TestCancelledBeforeAsking(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	g := &Gate{Otherwise: OtherwiseAsk, AutoApprove: "--auto-approve"}
	if v, err := g.decided(ctx, Call{Name: "fs__x"}); err == nil || v.Outcome == Allowed {
		t.Error(v, err)
	}
}

func TestHangUpWhileAsking(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Calls: oneCall, Timeout: guardTime, IgnoreHUP: true}, "")
	a.await(ending, 1)
	a.slave.Close()
	a.master.Close()
	a.expect("deny by terminal: the terminal was closed without an answer")
}

func TestStopAndContinue(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Calls: oneCall, Timeout: guardTime}, "")
	a.await(ending, 1)
	a.typeIn("y") // an answer without its end
	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	a.await("Allow fs__write_file? "+ending, 2)
	a.typeIn("\n") // the y was thrown away
	a.expect("deny by terminal: the user declined")
}

// A line that was typed while the process was stopped is no answer, whether the
// Terminal gets SIGCONT at once, late or never.
func TestTypedWhileStopped(t *testing.T) {
	t.Parallel()
	for _, j := range []job{{}, {}, {}, {LateCONT: true}, {NoCONT: true}} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			j.Calls, j.Timeout, j.RealTimes = oneCall, guardTime, true
			a := startAsker(t, j, "")
			a.await(ending, 1)
			a.stop()
			a.typeIn("y\n")
			if j.NoCONT {
				time.Sleep(maxPause + 2*tty.PollInterval)
			}
			if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			a.await("Allow fs__write_file? "+ending, 2)
			a.typeIn("n\n")
			a.expect("deny by terminal: the user declined")
		})
	}
}

// A shell gives a job of the background the terminal before it sends SIGCONT.
// The question may be drawn again between these, and its answer counts. A SIGCONT
// after that belongs to another stop.
func TestSIGCONTAfterForeground(t *testing.T) {
	t.Parallel()
	a := startInBackground(t, job{Calls: []jobCall{oneCall[0], oneCall[0]}, Timeout: guardTime, RealTimes: true})
	tell := func(s syscall.Signal) {
		a.tell(s)
		if got := a.line(); got != s.String() {
			t.Fatalf("%s, want %s", got, s)
		}
	}
	time.Sleep(maxPause + 2*tty.PollInterval)
	tell(syscall.SIGUSR2)
	a.await(ending, 2)
	tell(syscall.SIGALRM)
	a.typeIn("n\n")
	a.expect("deny by terminal: the user declined")
	a.await(ending, 3) // of the second call
	tell(syscall.SIGALRM)
	a.await(ending, 4)
	a.typeIn("n\n")
	a.expect("deny by terminal: the user declined")
}

// A question whose process was moved to the background has its time limit there, too.
func TestNoAnswerInBackground(t *testing.T) {
	t.Parallel()
	a := startInBackground(t, job{Calls: oneCall, Timeout: 2 * time.Second})
	if got := a.line(); got != "deny by terminal: no answer in 2s" {
		t.Error(got)
	}
}

// What a terminal does not say about its size is 80 columns and 24 rows.
func TestSize(t *testing.T) {
	_, slave := openPTY(t)
	terminal := tty.Of(int(slave.Fd()))
	for said, want := range map[[2]uint16][2]int{{132, 50}: {132, 50}, {0, 50}: {80, 24}, {132, 0}: {80, 24}} {
		setSize(t, slave, said[0], said[1])
		if width, height := terminal.Size(); [2]int{width, height} != want {
			t.Errorf("%v: %d columns, %d rows", said, width, height)
		}
	}
	file, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if width, height := tty.Of(int(file.Fd())).Size(); width != 80 || height != 24 {
		t.Errorf("no terminal: %d columns, %d rows", width, height)
	}
}

// A program that asks on the terminal is waited for, but not without end.
func TestQueue(t *testing.T) {
	_, slave := openPTY(t)
	again, err := os.OpenFile(slave.Name(), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	other, own := tty.Of(int(again.Fd())), tty.Of(int(slave.Fd()))
	if own.Locked() || !other.Lock() || !own.Locked() {
		t.Fatal("the lock of another program is not seen")
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		if err := awaitLock(t.Context(), own); !errors.As(err, new(nobodyError)) || time.Since(began) < maxQueue {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errEnded)
		if err := awaitLock(ctx, own); err != errEnded {
			t.Error(err)
		}
	})
}

func TestTerminalThatTakesNothing(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Calls: oneCall, Timeout: 300 * time.Millisecond}, "", func(a *asker) { stopOutput(t, a.slave) })
	a.expect("deny by terminal: the question could not be asked: the terminal takes no output")
}

func TestDisabled(t *testing.T) {
	t.Parallel()
	g := &Gate{Otherwise: OtherwiseAsk, Terminal: &Terminal{Disabled: "CI is set"}}
	v, err := g.decided(context.Background(), Call{Server: "fs", Tool: "w x", Name: "fs__w x"})
	if err != nil || v.Outcome != Unapproved || v.Reason != "nobody can be asked: CI is set" {
		t.Error(v, err)
	}
}

// Neither hostile arguments nor the echo of input that was typed before disturb
// the screen.
func TestScreen(t *testing.T) {
	t.Parallel()
	for _, color := range []bool{false, true} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			a := startAsker(t, job{Calls: []jobCall{{"fs__write", string(hostileCall(t).Arguments)}}, Color: color, Timeout: guardTime},
				"y\n"+strings.Repeat("n", 70), func(a *asker) { setSize(t, a.slave, 80, 200) })
			a.await("to allow: ", 1)
			screen := newScreen(t, 80, a.text())
			rows := strings.Split(screen.Text(), "\n")
			last := rows[len(rows)-1]
			if last != "Allow fs__write? type approve to allow:" || screen.Column() != len(last)+1 {
				t.Errorf("the cursor is in column %d of the last line %q", screen.Column(), last)
			}
			if len(rows) < 3 || rows[2] != "toolpipe: tool call fs__write" {
				t.Errorf("the question does not begin on a line of its own: %q", a.text())
			}
			if color != strings.Contains(a.text(), "\r\x1b[KAllow") { // blanks would wrap on a terminal that became narrower
				t.Errorf("the line of the prompt is erased by %q", a.text())
			}
			a.typeIn("approve\n")
			a.expect("allow by terminal: ")
		})
	}
}
