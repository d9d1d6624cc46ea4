package processes

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"toolpipe/mcp/command"
	"toolpipe/mcp/confine"
	"toolpipe/mcp/process"
	"toolpipe/stream/goroutine"
)

const (
	keptHead = 64 << 10  // bytes that are kept of the beginning of an output
	keptTail = 448 << 10 // and of its end
	// outputDelay is how long the end of a program waits for the end of its output,
	// which a child of it can hold open.
	outputDelay = 250 * time.Millisecond
	// terminalPause is how often a terminal is looked at that no process has open,
	// though the program runs and may open it again.
	terminalPause = 100 * time.Millisecond
)

// A program is a command that was started, with what it wrote.
type program struct {
	id      string
	cmd     exec.Cmd // what it was started with
	pty     bool
	began   time.Time
	process *process.Process
	out     process.Output
	in      *os.File      // its input; its terminal if it has one
	from    *os.File      // its output; the same file then
	read    chan struct{} // closed when its output was read to the end
	ended   chan struct{} // closed when it has ended, and its output was read or is no longer waited for

	mu       sync.Mutex
	took     time.Duration // until it ended
	last     time.Time     // when it wrote last
	watchers map[chan struct{}]bool
}

// launch starts a program. Its reader takes whatever it writes at once, so that the
// program never waits for one of the tools.
func (s *server) launch(id string, cmd exec.Cmd, pty bool) (*program, error) {
	p := &program{
		id: id, cmd: cmd, pty: pty, out: process.Output{Head: keptHead, Tail: keptTail},
		read: make(chan struct{}), ended: make(chan struct{}), watchers: make(map[chan struct{}]bool),
	}
	child := startable(cmd)
	theirs, err := p.connect(child)
	if err != nil {
		return nil, err
	}
	p.process, err = s.commands.Start(child)
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		p.in.Close()
		p.from.Close()
		return nil, fmt.Errorf("%q did not start: %w", cmd.Args[0], confine.Reason(err))
	}
	p.began = time.Now()
	p.last = p.began
	goroutine.Start(p.copyOutput)
	goroutine.Start(p.live)
	return p, nil
}

// connect gives the child its standard streams, and returns the ends of them that
// are the child's alone.
func (p *program) connect(child *exec.Cmd) (theirs []*os.File, err error) {
	if p.pty {
		ours, terminal, err := openTerminal()
		if err != nil {
			return nil, fmt.Errorf("pty: %w", err)
		}
		p.in, p.from = ours, ours
		child.Stdin, child.Stdout, child.Stderr = terminal, terminal, terminal
		child.SysProcAttr = &syscall.SysProcAttr{Setctty: true}
		return []*os.File{terminal}, nil
	}
	input, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, output, err := os.Pipe()
	if err != nil {
		input.Close()
		in.Close()
		return nil, err
	}
	p.in, p.from = in, from
	child.Stdin, child.Stdout, child.Stderr = input, output, output
	return []*os.File{input, output}, nil
}

// copyOutput reads the output to its end. It never waits for whoever reads it here.
func (p *program) copyOutput() {
	defer close(p.read)
	defer p.from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := p.from.Read(buf)
		if n > 0 {
			p.out.Write(buf[:n])
			p.note(true)
		}
		if err != nil && !(p.pty && errors.Is(err, syscall.EIO) && p.goesOn()) {
			return
		}
	}
}

// goesOn says, after a pause, whether the program still runs.
func (p *program) goesOn() bool {
	select {
	case <-p.process.Done():
		return false
	case <-time.After(terminalPause):
		return true
	}
}

// live waits for the end of the program.
func (p *program) live() {
	<-p.process.Done()
	select {
	case <-p.read:
	case <-time.After(outputDelay):
	}
	if !p.pty {
		p.in.Close()
	}
	p.mu.Lock()
	p.took = time.Since(p.began)
	p.mu.Unlock()
	close(p.ended)
	p.note(false)
}

// note wakes those that wait for something new.
func (p *program) note(wrote bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if wrote {
		p.last = time.Now()
	}
	for wake := range p.watchers {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// watch has wake, which has room for one element, told of what is new until stop is
// called.
func (p *program) watch(wake chan struct{}) (stop func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.watchers[wake] = true
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watchers, wake)
	}
}

func (p *program) lastWrite() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

func (p *program) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// waitFor says whether the program ends within d.
func (p *program) waitFor(d time.Duration) bool {
	select {
	case <-p.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// end ends the program and all that it started, politely at first. It says whether
// the program has ended.
func (p *program) end() bool {
	if !p.hasEnded() {
		p.process.Signal(syscall.SIGTERM)
		p.process.Signal(syscall.SIGCONT) // a stopped one takes no other signal
		p.waitFor(endGrace)
	}
	p.process.KillTree(endGrace)
	return p.waitFor(endGrace)
}

// forget ends what a program that has ended left behind, and lets its output go.
func (p *program) forget() {
	p.process.KillTree(endGrace)
	p.in.Close()
	p.from.Close()
}

// describe says what the program is and how it is.
func (p *program) describe() string {
	if !p.hasEnded() {
		return fmt.Sprintf("%s is running (pid %d, for %v)", p.id, p.process.Pid(), time.Since(p.began).Round(time.Second/10))
	}
	p.mu.Lock()
	took := p.took.Round(time.Second / 10)
	p.mu.Unlock()
	code, signal := command.ExitCode(p.process.State())
	text := fmt.Sprintf("%s has ended after %v with exit code %d", p.id, took, code)
	if signal != "" {
		text += " (" + signal + ")"
	}
	if left, err := p.process.Tree(); err == nil && len(left) > 0 {
		text += fmt.Sprintf("; processes that it started and left: %d", len(left))
	}
	return text
}
