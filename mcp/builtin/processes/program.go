package processes

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"syscall"
	"time"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/builtin/shell"
	"toolpipe/mcp/process"
	"toolpipe/stream/goroutine"
)

const (
	keptHead = 64 << 10  // bytes that are kept of the beginning of an output, unless it is kept whole
	keptTail = 448 << 10 // bytes that are kept of its end
	// terminalPause is the time between two reads of a terminal that no process has open.
	terminalPause = 100 * time.Millisecond
)

// A program is a command that was started, with its output.
type program struct {
	id       string
	cmd      *exec.Cmd // as a call requested it; each start takes a copy
	terminal *terminal // nil: it was started without pty
	began    time.Time
	process  *process.Process
	out      process.Output
	in       *os.File      // our end of its input, or of its terminal
	from     *os.File      // our end of its output; in, if it has a terminal
	read     chan struct{} // closed when its output was read to the end
	ended    chan struct{} // closed when it has ended, and then OutputDelay has passed or read is closed
	took     time.Duration // from its start to its end; set before ended is closed
	changed  atomic.Int64  // nanoseconds from its start to its last output, or to its end
}

// launch starts a program, with a terminal unless the size is 0. A goroutine reads its output
// at once, so that the program never waits for a tool. The caller holds s.mu.
func (s *server) launch(ctx context.Context, id string, cmd *exec.Cmd, of size) (*program, error) {
	if s.over {
		return nil, errors.New("the connection has ended")
	}
	p := &program{
		id: id, cmd: cmd, out: process.Output{Head: s.commands.Head(keptHead, keptTail), Tail: keptTail},
		read: make(chan struct{}), ended: make(chan struct{}),
	}
	if of != (size{}) {
		p.terminal = newTerminal(of)
	}
	child := *cmd
	theirs, err := p.connect(&child, of)
	if err == nil {
		if p.process, _, err = s.commands.Start(ctx, &child); err != nil {
			err = fmt.Errorf("%q did not start: %w", cmd.Args[0], confine.Reason(err))
		}
	}
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		p.close()
		return nil, err
	}
	p.began = time.Now()
	if p.terminal != nil {
		goroutine.Start(p.answer)
	}
	goroutine.Start(p.copyOutput)
	goroutine.Start(p.live)
	return p, nil
}

// connect gives the child its standard streams, and returns the ends that belong only to the
// child. After an error some of the files are nil.
func (p *program) connect(child *exec.Cmd, of size) (theirs []*os.File, err error) {
	var stdin, stdout *os.File
	if p.terminal != nil {
		if p.in, stdin, err = openTerminal(of); err != nil {
			return nil, fmt.Errorf("pty: %w", err)
		}
		p.from, stdout = p.in, stdin
		child.SysProcAttr = &syscall.SysProcAttr{Setctty: true}
	} else if stdin, p.in, err = os.Pipe(); err == nil {
		p.from, stdout, err = os.Pipe()
	}
	child.Stdin, child.Stdout, child.Stderr = stdin, stdout, stdout
	return []*os.File{stdin, stdout}, err
}

// copyOutput reads the output to its end. It never waits for a tool that reads the kept
// output.
func (p *program) copyOutput() {
	defer close(p.read)
	if p.terminal != nil {
		defer close(p.terminal.answers)
	}
	defer p.from.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := p.from.Read(buf)
		if n > 0 {
			p.keep(buf[:n])
			p.changed.Store(int64(time.Since(p.began)))
		}
		if err == nil {
			continue
		}
		// A terminal that no process has open is not at its end while the program runs,
		// because the program may open it again.
		closed := p.terminal != nil && errors.Is(err, syscall.EIO)
		if !closed || p.process.EndsWithin(terminalPause) {
			return
		}
	}
}

func (p *program) live() {
	<-p.process.Done()
	goroutine.Await(p.read, shell.OutputDelay)
	if p.terminal == nil {
		p.in.Close()
	}
	p.took = time.Since(p.began)
	p.changed.Store(int64(p.took))
	close(p.ended)
}

// hasEnded reports whether the program has ended and its output was read.
func (p *program) hasEnded() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// end ends the program and everything that it started, first by SIGTERM. It reports whether
// the program has ended.
func (p *program) end() bool {
	if !p.hasEnded() {
		p.process.Signal(syscall.SIGTERM)
		p.process.Signal(syscall.SIGCONT) // a stopped process handles no other signal
		goroutine.Await(p.ended, termTime)
	}
	p.process.KillTree(killLimit)
	return goroutine.Await(p.ended, killLimit)
}

func (p *program) close() {
	p.in.Close()
	p.from.Close()
}

func (p *program) describe() string {
	if !p.hasEnded() {
		return fmt.Sprintf("%s is running (pid %d, for %v)", p.id, p.process.Pid(), time.Since(p.began).Round(time.Second/10))
	}
	_, status := shell.ExitCode(p.process.State())
	text := fmt.Sprintf("%s has ended after %v with exit code %s", p.id, p.took.Round(time.Second/10), status)
	if left, err := p.process.Tree(); err == nil && len(left) > 0 {
		text += fmt.Sprintf("; processes that it started and left: %d", len(left))
	}
	return text
}
