package approve

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"toolpipe/approve/tty"
)

// The tests of questions start this test program again as a child whose
// controlling terminal is a pseudo-terminal. The child decides about the calls
// of its job and prints each verdict on a line of its standard output.

// A job says what the child does.
type job struct {
	Calls      []jobCall
	Timeout    time.Duration
	Color      bool
	Background bool     // a process in the background asks
	Shell      bool     // a process of a group of its own asks, see inShell
	IgnoreHUP  bool     // the child ignores SIGHUP
	LateCONT   bool     // the Terminal gets SIGCONT late
	NoCONT     bool     // the Terminal does not get SIGCONT
	Heading    string   // of a form that is put first
	Hidden     string   // the prompt of a line that is read and not shown
	Forms      bool     // a form is put at the same time as each call's question, see askTogether
	Changes    []string // the diffs of the change that the call makes, each time it is looked at
	Twice      bool     // two processes of the group do that
	Confirm    bool     // the form only wants to be confirmed
	Withdrawn  bool     // a form is put first and withdrawn
	AskRule    bool     // a rule asks about every call
	Approver   bool     // an approver leaves every call to the person
	RealTimes  bool     // the times of the question are not shortened
}

type jobCall struct{ Name, Arguments string }

func init() {
	runAsker = func(text string) {
		var j job
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			panic(err)
		}
		j.run()
	}
}

func (j *job) run() {
	if !j.RealTimes {
		settleTime, tty.NoticeTime, tty.PollInterval = settleTime/10, tty.NoticeTime/10, tty.PollInterval/10
	}
	if j.Background {
		j.Background = false
		if err := j.again(&syscall.SysProcAttr{Setpgid: true}).Run(); err != nil {
			panic(err)
		}
		return
	}
	if j.Shell {
		j.Shell = false
		j.inShell()
		return
	}
	if j.IgnoreHUP {
		signal.Ignore(syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	g := &Gate{Otherwise: OtherwiseAsk, Terminal: &Terminal{
		Timeout: j.Timeout, Color: j.Color, Resumed: j.resumed(),
		Before: func() { fmt.Println("before") },
		After:  func() { fmt.Println("after") },
	}}
	if j.AskRule {
		g.Rules, _ = Patterns("*", Ask, "policy", "p.json:1 ")
	}
	if j.Approver {
		g.Approver = approverThat(Ask)
	}
	if j.Hidden != "" {
		reachable := g.Terminal.Reachable() && !(&Terminal{Disabled: "--no-input"}).Reachable()
		line, err := g.Terminal.ReadHidden(ctx, j.Hidden)
		fmt.Printf("%t, %d bytes, ending with %q, %v\n", reachable, len(line), line[max(0, len(line)-5):], err)
	}
	if j.Heading != "" {
		var line string
		err := g.Terminal.Form(ctx, func(f *Form) (err error) {
			lines := []string{"a server asks", hostile}
			if j.Confirm {
				var yes bool
				yes, err = f.Confirm(j.Heading, lines)
				line = fmt.Sprint(yes)
				return err
			}
			line, err = f.Ask(j.Heading, lines)
			return err
		})
		fmt.Printf("%q %v\n", line, err)
	}
	if j.Forms {
		j.askTogether(ctx, g)
		return
	}
	if j.Withdrawn {
		defer reportWait(withdrawForm(ctx, g))
	}
	for _, c := range j.Calls {
		call := Call{Server: "fs", Tool: c.Name, Name: c.Name, Arguments: []byte(c.Arguments)}
		if j.Changes != nil {
			call.Change = j.change
		}
		v, err := g.decided(ctx, call)
		if err != nil {
			fmt.Println("error:", err)
			return
		}
		ends := ""
		if v.EndsRun {
			ends = "; ends the run"
		}
		fmt.Printf("%s by %s: %s%s\n", v.Outcome, v.By, v.Reason, ends)
	}
}

// change returns the next of the diffs; the last one again and again.
func (j *job) change(context.Context) (string, []string) {
	diff := j.Changes[0]
	if len(j.Changes) > 1 {
		j.Changes = j.Changes[1:]
	}
	return diff, []string{"content"}
}

// inShell does the job in another process, in the foreground. It does with that
// process what a shell does, at these signals: SIGUSR1 moves it to the background,
// SIGUSR2 gives it the terminal, and SIGALRM sends it SIGCONT. Each is printed, and
// also if the process was stopped in the background.
func (j *job) inShell() {
	signal.Ignore(syscall.SIGTTOU)
	commands := make(chan os.Signal, 1)
	signal.Notify(commands, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM)
	const terminal = 3 // see startAsker
	cmd := j.again(&syscall.SysProcAttr{Foreground: true, Ctty: terminal})
	if err := cmd.Start(); err != nil {
		panic(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case <-ended:
			return
		case s := <-commands:
			group := int32(cmd.Process.Pid)
			switch s {
			case syscall.SIGALRM:
				_ = cmd.Process.Signal(syscall.SIGCONT)
			case syscall.SIGUSR1:
				group = int32(os.Getpid())
				fallthrough
			case syscall.SIGUSR2:
				if _, _, err := syscall.Syscall(syscall.SYS_IOCTL, terminal, syscall.TIOCSPGRP, uintptr(unsafe.Pointer(&group))); err != 0 {
					panic(err)
				}
			}
			if s == syscall.SIGUSR1 {
				time.Sleep(100 * time.Millisecond) // it reads, or sees that it is in the background
				if stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid)); strings.Contains(string(stat), ") T ") {
					fmt.Println("stopped")
					continue
				}
			}
			fmt.Println(s)
		}
	}
}

// again returns a command that does the job in another process.
func (j *job) again(attributes *syscall.SysProcAttr) *exec.Cmd {
	text, _ := json.Marshal(j)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = attributes
	return cmd
}

// resumed returns the channel on which the Terminal gets SIGCONT.
func (j *job) resumed() <-chan os.Signal {
	resumed, caught := make(chan os.Signal, 1), make(chan os.Signal, 1)
	switch {
	case j.LateCONT:
		signal.Notify(caught, syscall.SIGCONT)
		go func() {
			s := <-caught
			time.Sleep(settleTime / 4)
			resumed <- s
		}()
	case !j.NoCONT:
		signal.Notify(resumed, syscall.SIGCONT)
	}
	return resumed
}

// withdrawForm puts a form and withdraws it; it returns the time when it did.
func withdrawForm(ctx context.Context, g *Gate) (withdrawn time.Time) {
	short, cancel := context.WithTimeoutCause(ctx, 3*settleTime, context.Canceled)
	defer cancel()
	withdrawn = time.Now()
	err := g.Terminal.Form(short, func(f *Form) error {
		_, err := f.Ask("a server asks", nil)
		withdrawn = time.Now()
		return err
	})
	fmt.Println(err)
	return withdrawn
}

// reportWait prints whether the question after a form waited for a late answer.
func reportWait(withdrawn time.Time) {
	if time.Since(withdrawn) > lateAnswerTime/2 {
		fmt.Println("waited")
	} else {
		fmt.Println("came at once")
	}
}

// askTogether puts a question about each call and a form at the same time, in
// any order, and prints the answer to each.
func (j *job) askTogether(ctx context.Context, g *Gate) {
	if j.Twice {
		j.Twice = false
		other := j.again(nil)
		if err := other.Start(); err != nil {
			panic(err)
		}
		defer other.Wait()
	}
	g.Terminal.Before, g.Terminal.After = nil, nil
	for i, c := range j.Calls {
		var both sync.WaitGroup
		both.Go(func() {
			time.Sleep(time.Duration(i%5) * settleTime / 2) // before, while or after the question is drawn
			err := g.Terminal.Form(ctx, func(f *Form) error {
				line, err := f.Ask("a server asks", []string{"Allow fs__x? [y/N/a] ", "Go on? [y/N]"})
				fmt.Printf("form: %s\n", line)
				return err
			})
			if err != nil {
				fmt.Println(err)
			}
		})
		both.Go(func() {
			v, err := g.decided(ctx, Call{Server: "fs", Tool: c.Name, Name: c.Name, Arguments: []byte(c.Arguments)})
			fmt.Printf("call: %s %v\n", v.Outcome, err)
		})
		both.Wait()
	}
}

// An asker is a running child and its terminal.
type asker struct {
	t             *testing.T
	master, slave *os.File
	cmd           *exec.Cmd
	verdicts      *bufio.Reader
	before        int // calls of Before that no call of After followed yet

	mu     sync.Mutex
	screen bytes.Buffer // the terminal's output: what was drawn, and the echo of what was typed
	drawn  chan struct{}
}

// guardTime keeps a test from hanging; no test waits for it.
const guardTime = 30 * time.Second

// startAsker starts the child. The text before is typed, and echoed, before that.
func startAsker(t *testing.T, j job, before string, adjust ...func(*asker)) *asker {
	a := &asker{t: t, drawn: make(chan struct{}, 1)}
	a.master, a.slave = openPTY(t)
	for _, f := range adjust {
		f(a)
	}
	go a.watch()
	a.typeIn(before)
	a.await(strings.ReplaceAll(before, "\n", "\r\n"), 1) // the kernel echoes input some time after it was written
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	a.cmd = exec.Command(os.Args[0])
	a.cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	a.cmd.Stdin = strings.NewReader(strings.Repeat("y\n", 100)) // must not be read as answers
	a.cmd.Stderr = os.Stderr
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	a.cmd.ExtraFiles = []*os.File{a.slave}
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	if err := a.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	a.verdicts = bufio.NewReader(out)
	t.Cleanup(func() { _ = a.cmd.Process.Kill(); _ = a.cmd.Wait() })
	return a
}

// watch copies the terminal's output to screen.
func (a *asker) watch() {
	b := make([]byte, 4096)
	for {
		n, err := a.master.Read(b)
		a.mu.Lock()
		a.screen.Write(b[:n])
		a.mu.Unlock()
		select {
		case a.drawn <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (a *asker) typeIn(s string) {
	if _, err := io.WriteString(a.master, s); err != nil {
		a.t.Fatal(err)
	}
}

// startInBackground starts a child in a shell, and moves it to the background while it
// asks. The system stops each process that begins to read at that moment, and again
// after each SIGCONT: then another child is started.
func startInBackground(t *testing.T, j job) *asker {
	j.Shell = true
	for {
		a := startAsker(t, j, "")
		a.await(ending, 1)
		a.tell(syscall.SIGUSR1)
		if a.line() != "stopped" {
			return a
		}
		_ = a.cmd.Process.Kill() // the system ends the other with it: its terminal has no session any more
	}
}

// tell sends the shell a signal, see inShell.
func (a *asker) tell(s syscall.Signal) {
	a.t.Helper()
	if err := a.cmd.Process.Signal(s); err != nil {
		a.t.Fatal(err)
	}
}

// stop stops the child, and returns when all its threads are stopped.
func (a *asker) stop() {
	a.t.Helper()
	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		a.t.Fatal(err)
	}
	guard := time.Now().Add(guardTime)
	for running := true; running; time.Sleep(time.Millisecond) {
		if time.Now().After(guard) {
			a.t.Fatal("the child does not stop")
		}
		running = false
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", a.cmd.Process.Pid))
		for _, path := range threads {
			stat, _ := os.ReadFile(path)
			running = running || !strings.Contains(string(stat), ") T ")
		}
	}
}

func (a *asker) text() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.screen.String()
}

// await waits until text was drawn n times.
func (a *asker) await(text string, n int) {
	a.t.Helper()
	guard := time.After(guardTime)
	for strings.Count(a.text(), text) < n {
		select {
		case <-a.drawn:
		case <-guard:
			a.t.Fatalf("%q was not drawn %d times; the terminal got %q", text, n, a.text())
		}
	}
}

// awaitNewLine waits until the cursor stands at the start of a line.
func (a *asker) awaitNewLine() {
	for guard := time.After(guardTime); !strings.HasSuffix(a.text(), "\n"); {
		select {
		case <-a.drawn:
		case <-guard:
			a.t.Errorf("the last line goes on: %q", a.text())
			return
		}
	}
}

// verdict returns the next verdict. It checks that Before and After were called
// in turn.
func (a *asker) verdict() string {
	a.t.Helper()
	text := a.line()
	if a.before != 0 {
		a.t.Fatalf("%q came between Before and After", text)
	}
	return text
}

// expect fails the test if the next verdict is another one.
func (a *asker) expect(verdict string) {
	a.t.Helper()
	if got := a.verdict(); got != verdict {
		a.t.Errorf("%s, want %s", got, verdict)
	}
}

// line returns the child's next line, and counts the calls of Before and After.
func (a *asker) line() string {
	a.t.Helper()
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	for {
		go func() {
			s, err := a.verdicts.ReadString('\n')
			lines <- line{strings.TrimSuffix(s, "\n"), err}
		}()
		select {
		case l := <-lines:
			switch {
			case l.err != nil:
				a.t.Fatalf("no verdict: %v; the terminal got %q", l.err, a.text())
			case l.text == "before":
				a.before++
			case l.text == "after":
				a.before--
			default:
				return l.text
			}
		case <-time.After(guardTime):
			a.t.Fatalf("no verdict; the terminal got %q", a.text())
		}
	}
}
