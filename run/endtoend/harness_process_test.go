//go:build unix

package endtoend

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// hangGuard bounds every wait of the harness. It is long enough for a loaded
// machine and a binary with the race detector.
const hangGuard = 40 * time.Second

// A command describes a process to be started under a guard.
type command struct {
	args       []string
	env        []string
	dir        string
	stdin      []byte
	stdinOpen  bool          // stdin stays open after its bytes, see process.closeStdin
	terminal   bool          // it has a controlling terminal
	background bool          // the terminal's foreground is another process group
	on         string        // digits of the standard streams that are the terminal
	pace       time.Duration // pause of the reader of stdout after each 64 KiB
}

// A process is a command under way, or done.
type process struct {
	command
	pid            int
	stdout, stderr *capture
	screen         *capture // what the terminal shows; nil without one
	master         *os.File
	stdinPipe      *os.File
	written        chan struct{} // closed after command.stdin was written to stdinPipe

	done      chan struct{} // closed when all of the following is known
	status    int           // 128+N when ended by signal N
	signal    syscall.Signal
	maxrss    int64
	survivors []string
	failure   error
}

// start runs c. The caller must wait.
func (c command) start() (*process, error) {
	p := &process{command: c, stdout: newCapture(), stderr: newCapture(), written: make(chan struct{}), done: make(chan struct{})}
	var slave string
	if c.terminal {
		var err error
		if p.master, slave, err = openTerminal(); err != nil {
			return nil, err
		}
		resizeTerminal(p.master, 80, 24)
		p.screen = newCapture()
	}
	g, err := idleGuard()
	if err != nil {
		return nil, err
	}
	var children, ours []*os.File
	pipe := func() (r, w *os.File) {
		r, w, err := os.Pipe()
		if err != nil {
			panic(err)
		}
		return r, w
	}
	inR, inW := pipe()
	outR, outW := pipe()
	errR, errW := pipe()
	if c.stdin == nil && !c.stdinOpen { // nothing was said about it: an empty pipe would be a warning
		inR.Close()
		if inR, err = os.Open(os.DevNull); err != nil {
			return nil, err
		}
	}
	children = append(children, inR, outW, errW)
	ours = append(ours, inW, outR, errR)
	err = g.send(c, slave, children)
	for _, f := range children {
		f.Close()
	}
	if err != nil {
		for _, f := range ours {
			f.Close()
		}
		return nil, err
	}

	var readers sync.WaitGroup
	readers.Go(func() { p.stdout.fill(paced{outR, c.pace}) })
	readers.Go(func() { p.stderr.fill(errR) })
	drawn := make(chan struct{})
	if p.master != nil {
		go func() {
			p.screen.fill(p.master)
			close(drawn)
		}()
	}
	p.stdinPipe = inW
	go func() {
		inW.Write(c.stdin) // an error means that the command does not read, which it may do
		close(p.written)
		if !c.stdinOpen {
			inW.Close()
		}
	}()
	started := make(chan struct{})
	go func() {
		p.readReport(g, started)
		readers.Wait()
		inW.Close()
		if p.master != nil {
			// After the last descriptor of the terminal is closed, the output ends after all that was drawn.
			select {
			case <-drawn:
			case <-time.After(5 * time.Second):
			}
			p.master.Close()
			p.screen.close()
		}
		close(p.done)
	}()
	<-started
	if p.pid == 0 { // as a number for kill(2) this would be our own group
		<-p.done
		return nil, p.failure
	}
	return p, nil
}

// readReport reads what the guard reports, and closes started after its first line.
func (p *process) readReport(g *guardProcess, started chan struct{}) {
	first := sync.OnceFunc(func() { close(started) })
	defer first()
	for g.report.Scan() {
		word, rest, _ := strings.Cut(g.report.Text(), " ")
		n, _ := strconv.Atoi(rest)
		switch word {
		case "pid":
			p.pid = n
		case "exit":
			p.status = n
		case "signal":
			p.status, p.signal = 128+n, syscall.Signal(n)
		case "maxrss":
			p.maxrss = int64(n) << 10
		case "survivor":
			p.survivors = append(p.survivors, rest)
		case "error":
			p.failure = fmt.Errorf("guard: %s", rest)
		case "done":
			g.release(p.terminal)
			return
		}
		first()
	}
	p.failure = errors.New("the guard has ended")
}

// allowTime is patience DURATION: the commands that follow may take so long, because other
// programs do most of the work.
func (s *script) allowTime(args []string) (err error) {
	s.patience, err = time.ParseDuration(args[0])
	return err
}

// wait waits for the end. A process that hangs is asked for its stacks, then killed.
func (p *process) wait(patience time.Duration) error {
	select {
	case <-p.done:
		return p.failure
	case <-time.After(patience):
	}
	syscall.Kill(p.pid, syscall.SIGQUIT)
	time.Sleep(200 * time.Millisecond)
	syscall.Kill(p.pid, syscall.SIGKILL)
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
	}
	return fmt.Errorf("it did not end within %v", patience)
}

// stopped reports whether the process is stopped by job control.
func (p *process) stopped() bool {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	_, rest, _ := bytes.Cut(stat, []byte(") "))
	return len(rest) > 0 && rest[0] == 'T'
}

// paced reads slowly.
type paced struct {
	io.ReadCloser
	rest time.Duration
}

func (p paced) Read(b []byte) (int, error) {
	time.Sleep(p.rest)
	return p.ReadCloser.Read(b)
}

// A capture holds what has come from a stream so far.
type capture struct {
	mu     sync.Mutex
	more   *sync.Cond
	text   []byte
	closed bool
	seen   int // where the last match of await ended
}

func newCapture() *capture {
	c := &capture{}
	c.more = sync.NewCond(&c.mu)
	return c
}

func (c *capture) fill(r io.ReadCloser) {
	defer r.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := r.Read(buffer)
		c.mu.Lock()
		c.text = append(c.text, buffer[:n]...)
		c.closed = c.closed || err != nil
		c.more.Broadcast()
		c.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (c *capture) close() {
	c.mu.Lock()
	c.closed = true
	c.more.Broadcast()
	c.mu.Unlock()
}

func (c *capture) bytes() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.text)
}

// await waits until pattern matches the text after the last match.
func (c *capture) await(pattern *regexp.Regexp) error {
	expired := false
	timer := time.AfterFunc(hangGuard, func() {
		c.mu.Lock()
		expired = true
		c.more.Broadcast()
		c.mu.Unlock()
	})
	defer timer.Stop()
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if at := pattern.FindIndex(c.text[c.seen:]); at != nil {
			c.seen += at[1]
			return nil
		}
		if c.closed || expired {
			return fmt.Errorf("no match for %q in what came (ended: %v):\n%q", pattern, c.closed, c.text[c.seen:])
		}
		c.more.Wait()
	}
}
