package approve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var oneCall = []jobCall{{"fs__write_file", `{"path":"a.txt","content":"x"}`}}

const ending = "[y/N/a/t/q/v/?] "

func TestAnswers(t *testing.T) {
	t.Parallel()
	for typed, want := range map[string]string{
		"y\n":               "allow by terminal: ",
		"Y\n":               "allow by terminal: ",
		"yes\n":             "allow by terminal: ",
		"YES\n":             "allow by terminal: ",
		"y\r":               "allow by terminal: ",
		"a\n":               "allow by terminal: ",
		"n\x7fy\n":          "allow by terminal: ",
		"\n":                "deny by terminal: the user declined",
		"n\n":               "deny by terminal: the user declined",
		"no\n":              "deny by terminal: the user declined",
		"NO\n":              "deny by terminal: the user declined",
		"n \n":              "deny by terminal: the user declined",
		"n not that file\n": "deny by terminal: not that file",
		"No  why?  y\n":     "deny by terminal: why?  y",
		"n \xff\n":          "deny by terminal: \ufffd",
		"q\n":               "deny by terminal: the user ended the run; ends the run",
		"\x04":              "deny by terminal: no answer (end of input)",
		"y\x04\x04":         "deny by terminal: no answer (end of input)",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			a := startAsker(t, job{Calls: oneCall, Timeout: guardTime}, "")
			before := modes(t, a.slave)
			a.await("Allow fs__write_file? "+ending, 1)
			a.typeIn(typed)
			if got := a.verdict(); got != want {
				t.Errorf("%.20q: %s", typed, got)
			}
			if modes(t, a.slave) != before {
				t.Error("the terminal's modes are not as before")
			}
		})
	}
}

// A line that is none of the answers asks again; the third one denies.
func TestUnclearAnswers(t *testing.T) {
	t.Parallel()
	for _, typed := range []string{"A", "Q", "V", "T", "yes please", "nx\by" /* ^H is no erase character here */, " y", "y ", "yy", "ye\u017f", "\uff59", "y\x00", "\xff", "approve",
		"q now", "not", "n\treason", "no,", "??", " ", strings.Repeat("y", 3000)} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			a := startAsker(t, job{Calls: []jobCall{oneCall[0], oneCall[0]}, Timeout: guardTime}, "")
			for n := range 3 {
				a.await("Allow fs__write_file? "+ending, n+1)
				if n == 2 {
					a.typeIn("a\n")
				} else {
					a.typeIn(typed + "\n")
				}
			}
			if got := a.verdict(); got != "allow by terminal: " {
				t.Errorf("%.20q, twice, and a: %s", typed, got)
			}
			if n := strings.Count(a.text(), "That is none of the answers; ? explains them.\r\n"); n != 2 {
				t.Errorf("%.20q is told %d times to be no answer", typed, n)
			}
		})
	}
	a := startAsker(t, job{Calls: oneCall, Timeout: guardTime}, "")
	for n, typed := range []string{"x\n", "v\n", "x\n", "?\n", "x\n"} {
		a.await(ending, n+1)
		a.typeIn(typed)
	}
	if got := a.verdict(); got != "deny by terminal: the user gave no clear answer" {
		t.Error(got)
	}
}

// The name typed whole allows the tool, and nothing else does.
func TestToolIsAllowedByItsName(t *testing.T) {
	t.Parallel()
	one := func(arguments string) jobCall { return jobCall{"fs__one", arguments} }
	a := startAsker(t, job{Calls: []jobCall{one(`{"a":1}`), one(`{"a":2}`), {"fs__two", `{}`}, one(`{"a":3}`)}, Timeout: guardTime}, "")
	const name = "Type the tool's name to allow that: "
	a.await(ending, 1)
	a.typeIn("t\n")
	a.await(name, 1)
	a.typeIn("y\n")
	a.await("That is not the name of the tool.\r\n", 1)
	a.await(ending, 2)
	a.typeIn("y\n")
	if got := a.verdict(); got != "allow by terminal: " {
		t.Error(got)
	}
	a.await(ending, 3)
	a.typeIn("t\n")
	a.await("toolpipe: allow fs__one with any arguments until this run ends", 2)
	a.await(name, 2)
	a.typeIn("fs__one\n")
	if got := a.verdict(); got != "allow by terminal: " {
		t.Error(got)
	}
	a.await("Allow fs__two? "+ending, 1)
	a.typeIn("t\n")
	a.await(name, 3)
	a.typeIn("fs__two\n")
	if got := a.verdict(); got != "allow by terminal: " {
		t.Error(got)
	}
	if got := a.verdict(); got != "allow by terminal: the tool was approved for this run" {
		t.Error(got)
	}
}

// A call that changes a file is shown as a diff. A yes to a diff that is not true
// any more asks again.
func TestDiffIsShown(t *testing.T) {
	t.Parallel()
	const one, two = "@@ -1 +1 @@\n-one\n+x\n", "@@ -1 +1 @@\n-two\n+x\n"
	for answer, verdict := range map[string]string{"y": "allow by terminal: ", "a": "allow by terminal: ", "n": "deny by terminal: the user declined"} {
		a := startAsker(t, job{Calls: oneCall, Changes: []string{one, two}, Timeout: guardTime}, "")
		a.await(ending, 1)
		a.typeIn(answer + "\n")
		if answer != "n" {
			a.await("The file was changed meanwhile.\r\n", 1)
			a.await("  | it changes the file:\r\n  |> @@ -1 +1 @@\r\n  |> -two\r\n  |> +x\r\n", 1)
			a.await(ending, 2)
			a.typeIn(answer + "\n")
		}
		if got := a.verdict(); got != verdict {
			t.Error(got)
		}
		if text := a.text(); !strings.Contains(text, "  |> -one\r\n") || strings.Contains(text, "content") {
			t.Errorf("%q", text)
		}
	}
}

// A rule that asks wants each call asked about, and an approver too.
func TestToolIsNotOfferedWhereARuleAsks(t *testing.T) {
	t.Parallel()
	const short = "[y/N/a/q/v/?] "
	for _, j := range []job{{AskRule: true}, {Approver: true}} {
		j.Calls, j.Timeout = oneCall, guardTime
		a := startAsker(t, j, "")
		a.await(short, 1)
		a.typeIn("?\n")
		a.await(short, 2)
		if strings.Contains(a.text(), "every call of this tool") || !strings.Contains(a.text(), "whenever it comes again") {
			t.Error(a.text())
		}
		a.typeIn("t\n")
		a.await("That is none of the answers", 1)
		a.await(short, 3)
		a.typeIn("y\n")
		if got := a.verdict(); got != "allow by terminal: " {
			t.Error(got)
		}
	}
}

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
	if got := a.verdict(); got != "allow by terminal: " {
		t.Error(got)
	}
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

func TestLongArguments(t *testing.T) {
	t.Parallel()
	arguments := `{"content":"` + strings.Repeat("harmless ", 6000) + "DANGER" + strings.Repeat(" harmless", 5000) + `","path":"end.txt"}`
	sum := sha256.Sum256([]byte(arguments))
	for typed, want := range map[string]string{
		"y\n": "deny by terminal: the user declined", "a\n": "deny by terminal: the user declined", "yes\n": "deny by terminal: the user declined",
		"Approve\n": "deny by terminal: the user declined", "approve \n": "deny by terminal: the user declined", "approve\n": "allow by terminal: ",
	} {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			a := startAsker(t, job{Calls: []jobCall{{"fs__write", arguments}}, Timeout: guardTime}, "")
			a.await("Allow fs__write? type approve to allow: ", 1)
			a.typeIn(typed)
			if got := a.verdict(); got != want {
				t.Errorf("%q: %s", typed, got)
			}
			for _, part := range []string{`"content": "harmless`, `"path": "end.txt"`, "lines are not shown", hex.EncodeToString(sum[:]), strconv.Itoa(len(arguments)) + " bytes"} {
				if !strings.Contains(a.text(), part) {
					t.Errorf("%q is not shown in %q", part, a.text())
				}
			}
			if strings.Contains(a.text(), "DANGER") || strings.Contains(a.text(), ending) {
				t.Error("it is all shown, or the short question is asked")
			}
		})
	}
	a := startAsker(t, job{Calls: []jobCall{{"fs__write", arguments}}, Timeout: guardTime}, "")
	const question = "Allow fs__write? type approve to allow: "
	a.await(question, 1)
	a.typeIn("?\n")
	a.await("approve    run this call\r\nn, no", 1)
	a.await(question, 2)
	a.typeIn("v\n")
	a.await("DANGER", 1)
	a.await(question, 3)
	a.typeIn("n too long\n")
	if got := a.verdict(); got != "deny by terminal: too long" {
		t.Error(got)
	}
	a = startAsker(t, job{Calls: []jobCall{{"fs__write", arguments}}, Timeout: guardTime}, "")
	a.await(question, 1)
	a.typeIn("q\n")
	if got := a.verdict(); got != "deny by terminal: the user ended the run; ends the run" {
		t.Error(got)
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
	g := &Gate{Otherwise: Ask, AutoApprove: "--auto-approve"}
	if v, err := g.Decide(ctx, Call{Name: "fs__x"}); err == nil || v.Outcome == Allowed {
		t.Error(v, err)
	}
}

func TestHangUpWhileAsking(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Calls: oneCall, Timeout: guardTime, IgnoreHUP: true}, "")
	a.await(ending, 1)
	a.slave.Close()
	a.master.Close()
	if got := a.verdict(); got != "deny by terminal: the terminal was closed without an answer" {
		t.Error(got)
	}
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
	if got := a.verdict(); got != "deny by terminal: the user declined" {
		t.Error(got)
	}
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
				time.Sleep(maxPause + 2*pollInterval)
			}
			if err := a.cmd.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			a.await("Allow fs__write_file? "+ending, 2)
			a.typeIn("n\n")
			if got := a.verdict(); got != "deny by terminal: the user declined" {
				t.Error(got)
			}
		})
	}
}

// A shell gives a job of the background the terminal before it sends SIGCONT.
// The question may be drawn again between these, and its answer counts. A SIGCONT
// after that belongs to another stop.
func TestSIGCONTAfterForeground(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Calls: []jobCall{oneCall[0], oneCall[0]}, Timeout: guardTime, Shell: true}, "")
	tell := func(s syscall.Signal) {
		if err := a.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		for a.line() != s.String() {
		}
	}
	a.await(ending, 1)
	tell(syscall.SIGUSR1)
	time.Sleep(maxPause + 2*pollInterval)
	tell(syscall.SIGUSR2)
	a.await(ending, 2)
	tell(syscall.SIGALRM)
	a.typeIn("n\n")
	if got := a.verdict(); got != "deny by terminal: the user declined" {
		t.Error(got)
	}
	a.await(ending, 3) // of the second call
	tell(syscall.SIGALRM)
	a.await(ending, 4)
	a.typeIn("n\n")
	if got := a.verdict(); got != "deny by terminal: the user declined" {
		t.Error(got)
	}
}

func TestTerminalThatTakesNothing(t *testing.T) {
	t.Parallel()
	a := startAsker(t, job{Calls: oneCall, Timeout: 300 * time.Millisecond}, "", func(a *asker) { stopOutput(t, a.slave) })
	if got := a.verdict(); got != "deny by terminal: the question could not be put: the terminal takes no output" {
		t.Error(got)
	}
}

func TestDisabled(t *testing.T) {
	t.Parallel()
	g := &Gate{Otherwise: Ask, Terminal: &Terminal{Disabled: "CI is set"}}
	v, err := g.Decide(context.Background(), Call{Server: "fs", Tool: "w x", Name: "fs__w x"})
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
			a.typeIn("approve\n")
			if got := a.verdict(); got != "allow by terminal: " {
				t.Error(got)
			}
		})
	}
}
