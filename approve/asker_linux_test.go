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
)

// The tests of the question run this test program again as a child whose
// controlling terminal is a pseudo-terminal. The child decides the calls of
// its job and prints a verdict a line on its standard output.

// job is what the child does.
type job struct {
	Calls      []jobCall
	Timeout    time.Duration
	Color      bool
	Background bool // ask from a process group in the background
	IgnoreHUP  bool
	Late, Deaf bool   // SIGCONT is told of late, or never
	Prompt     string // ask for a line of text with this heading, instead of calls
	Forms      bool   // beside each call a form is put, see together
	Twice      bool   // another process of the group does the same
	Withdrawn  bool   // a form that is taken away comes first
}

type jobCall struct{ Name, Arguments string }

func init() {
	beAsker = func(text string) {
		var j job
		if err := json.Unmarshal([]byte(text), &j); err != nil {
			panic(err)
		}
		j.run()
	}
}

func (j *job) run() {
	if j.Background {
		j.Background = false
		text, _ := json.Marshal(j)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Run(); err != nil {
			panic(err)
		}
		return
	}
	if j.IgnoreHUP {
		signal.Ignore(syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	resumed, caught := make(chan os.Signal, 1), make(chan os.Signal, 1)
	switch {
	case j.Late:
		signal.Notify(caught, syscall.SIGCONT)
		go func() {
			s := <-caught
			time.Sleep(settleTime / 4)
			resumed <- s
		}()
	case !j.Deaf:
		signal.Notify(resumed, syscall.SIGCONT)
	}
	g := &Gate{Otherwise: Ask, Terminal: &Terminal{
		Timeout: j.Timeout, Color: j.Color, Resumed: resumed,
		Before: func() { fmt.Println("before") },
		After:  func() { fmt.Println("after") },
	}}
	if j.Prompt != "" {
		var line string
		err := g.Terminal.Form(ctx, func(f *Form) (err error) {
			line, err = f.Ask(j.Prompt, []string{"a server asks", hostile})
			return err
		})
		fmt.Printf("%q %v\n", line, err)
	}
	if j.Forms {
		j.together(ctx, g)
		return
	}
	began := time.Now()
	if j.Withdrawn {
		short, cancel := context.WithTimeoutCause(ctx, 3*settleTime, context.Canceled)
		defer cancel()
		err := g.Terminal.Form(short, func(f *Form) error {
			_, err := f.Ask("a server asks", nil)
			began = time.Now()
			return err
		})
		fmt.Println(err)
		defer func() {
			if time.Since(began) > lateAnswerTime/2 {
				fmt.Println("waited")
			} else {
				fmt.Println("came at once")
			}
		}()
	}
	for _, c := range j.Calls {
		v, err := g.Decide(ctx, Call{Server: "fs", Tool: c.Name, Name: c.Name, Arguments: []byte(c.Arguments)})
		if err != nil {
			fmt.Println("error:", err)
			return
		}
		fmt.Printf("%s by %s: %s\n", v.Outcome, v.By, v.Reason)
	}
}

// together puts a question about each call and a form, in no order, and prints
// what was answered to which.
func (j *job) together(ctx context.Context, g *Gate) {
	if j.Twice {
		j.Twice = false
		text, _ := json.Marshal(j)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		defer cmd.Wait()
	}
	g.Terminal.Before, g.Terminal.After = nil, nil
	for i, c := range j.Calls {
		var both sync.WaitGroup
		both.Go(func() {
			time.Sleep(time.Duration(i%5) * settleTime / 2) // before, beside and behind the question
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
			v, err := g.Decide(ctx, Call{Server: "fs", Tool: c.Name, Name: c.Name, Arguments: []byte(c.Arguments)})
			fmt.Printf("call: %s %v\n", v.Outcome, err)
		})
		both.Wait()
	}
}

// asker is a running child and its terminal.
type asker struct {
	t             *testing.T
	master, slave *os.File
	cmd           *exec.Cmd
	verdicts      *bufio.Reader

	mu     sync.Mutex
	screen bytes.Buffer // all that was drawn, the echo of what was typed included
	drawn  chan struct{}
}

// patience is a guard against hanging, nothing is measured with it.
const patience = 30 * time.Second

// startAsker starts the child; before is typed, and echoed, before it runs.
func startAsker(t *testing.T, j job, before string, adjust ...func(*asker)) *asker {
	a := &asker{t: t, drawn: make(chan struct{}, 1)}
	a.master, a.slave = openPTY(t)
	for _, f := range adjust {
		f(a)
	}
	go a.watch()
	a.typeIn(before)
	a.await(strings.ReplaceAll(before, "\n", "\r\n"), 1) // the kernel echoes later than it takes
	text, err := json.Marshal(j)
	if err != nil {
		t.Fatal(err)
	}
	a.cmd = exec.Command(os.Args[0])
	a.cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	a.cmd.Stdin = strings.NewReader(strings.Repeat("y\n", 100)) // data, never an answer
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

// watch copies what is drawn.
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

// stop stops the child, and returns when it stands still.
func (a *asker) stop() {
	a.t.Helper()
	if err := a.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		a.t.Fatal(err)
	}
	guard := time.Now().Add(patience)
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
	guard := time.After(patience)
	for strings.Count(a.text(), text) < n {
		select {
		case <-a.drawn:
		case <-guard:
			a.t.Fatalf("%q was not drawn %d times; the terminal got %q", text, n, a.text())
		}
	}
}

// verdict returns the next verdict, the calls of Before and After around it
// counted and left out.
func (a *asker) verdict() string {
	a.t.Helper()
	type line struct {
		text string
		err  error
	}
	lines := make(chan line, 1)
	for open := 0; ; {
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
				open++
			case l.text == "after":
				open--
			case open != 0:
				a.t.Fatalf("%q came between Before and After", l.text)
			default:
				return l.text
			}
		case <-time.After(patience):
			a.t.Fatalf("no verdict; the terminal got %q", a.text())
		}
	}
}
