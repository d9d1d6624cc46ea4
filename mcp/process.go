package mcp

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"toolpipe/stream/goroutine"
)

// Processes knows every child that was started through it, so that none
// outlives this process (security.md D.4). The zero value is ready. Its
// methods are safe for concurrent use.
//
//	defer procs.Sweep(limit) // the very end: nothing is left
//	defer procs.KillAll()    // on a panic, on a second signal
type Processes struct {
	mu       sync.Mutex
	starting sync.WaitGroup        // starts under way
	running  map[*Process]struct{} // not reaped yet
	left     []int                 // groups whose leader was reaped, where no sweep finds the rest
	closed   bool                  // nothing may start any more
}

// Process is a started child, the leader of its own session and group.
type Process struct {
	cmd    *exec.Cmd
	owner  *Processes
	mark   uint64        // what its descendants bear, 0 for nothing; see startMarked
	exited chan struct{} // closed when the leader has ended, perhaps not reaped yet
	done   chan struct{} // closed when it is reaped and its output was read; err is set then
	err    error

	mu        sync.Mutex
	reaped    bool
	groupEnds bool // the rest of the group is killed when the leader has ended
}

// errClosed is what Start gives after KillAll or Sweep.
var errClosed = errors.New("shutting down, no process is started any more")

// waitDelay bounds how long a descendant that keeps a pipe open can hold up
// the end of its leader.
const waitDelay = time.Second

// Start starts cmd as the leader of a session of its own: it has no
// controlling terminal, and one signal reaches its whole group. On Linux it
// dies with this process. cmd.SysProcAttr is replaced. Whoever called Start
// must call Wait, End or Kill.
func (p *Processes) Start(cmd *exec.Cmd) (*Process, error) {
	return p.start(cmd, false)
}

func (p *Processes) start(cmd *exec.Cmd, groupEnds bool) (*Process, error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	p.starting.Add(1)
	p.mu.Unlock()
	defer p.starting.Done()

	if err := ownSession(cmd); err != nil {
		return nil, err
	}
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = waitDelay
	}
	cmd.Stdout, cmd.Stderr = recovering(cmd.Stdout), recovering(cmd.Stderr)
	pr := &Process{cmd: cmd, owner: p, groupEnds: groupEnds, exited: make(chan struct{}), done: make(chan struct{})}
	var err error
	if pr.mark, err = startMarked(cmd); err != nil {
		return nil, err
	}
	p.add(pr)
	goroutine.Start(pr.live)
	return pr, nil
}

// recovering is w for package exec, which writes in a goroutine of its own to
// what is no file.
func recovering(w io.Writer) io.Writer {
	if _, ok := w.(*os.File); ok || w == nil {
		return w
	}
	return recoveringWriter{w}
}

type recoveringWriter struct{ io.Writer }

func (w recoveringWriter) Write(p []byte) (int, error) {
	defer goroutine.Recover()
	return w.Writer.Write(p)
}

// live is the rest of a child's life.
func (pr *Process) live() {
	defer close(pr.done)
	awaitExit(pr.cmd.Process.Pid)
	pr.mu.Lock()
	close(pr.exited)
	if pr.groupEnds {
		killGroup(pr.cmd.Process.Pid) // not reaped yet: the number is still the group's
	}
	pr.mu.Unlock()
	err := pr.reap()
	pr.owner.remove(pr)
	pr.err = err
}

// reap collects the leader's status and waits, within the wait delay, for
// its output to be read. A pipe held open by a descendant is not a failure.
func (pr *Process) reap() error {
	err := pr.cmd.Wait()
	pr.mu.Lock()
	pr.reaped = true
	pr.mu.Unlock()
	if errors.Is(err, exec.ErrWaitDelay) {
		return nil
	}
	return err
}

// Pid is the number of the child, of its group and of its session.
func (pr *Process) Pid() int { return pr.cmd.Process.Pid }

// Exited is closed when the leader has ended.
func (pr *Process) Exited() <-chan struct{} { return pr.exited }

// Done is closed when the leader has ended and its output was read.
func (pr *Process) Done() <-chan struct{} { return pr.done }

// Wait waits for the leader and for its output to be read, and returns what
// exec.Cmd.Wait does. Other members of the group go on until Kill, End or the
// end of the run.
func (pr *Process) Wait() error {
	<-pr.done
	return pr.err
}

// State is the leader's exit state; nil before Done.
func (pr *Process) State() *os.ProcessState {
	select {
	case <-pr.done:
		return pr.cmd.ProcessState
	default:
		return nil
	}
}

// End ends the group the civil way: the caller has closed the child's stdin;
// wait, SIGTERM, wait, SIGKILL, at most grace for each wait. It returns when
// the leader is reaped.
func (pr *Process) End(grace time.Duration) error {
	pr.mu.Lock()
	pr.groupEnds = true
	select {
	case <-pr.exited:
		pr.killRest()
	default:
	}
	pr.mu.Unlock()
	if !pr.waitFor(grace) {
		pr.signal(terminateGroup)
		if !pr.waitFor(grace) {
			pr.signal(killGroup)
		}
	}
	return pr.Wait()
}

// Kill ends the group at once. It does not wait.
func (pr *Process) Kill() {
	pr.mu.Lock()
	pr.groupEnds = true
	pr.killRest()
	pr.mu.Unlock()
}

// KillTree ends the child and all that it started, wherever that went, and
// waits until it is gone, no longer than limit. It says whether that is
// certain: on other systems than Linux only the group is known, and ended.
func (pr *Process) KillTree(limit time.Duration) (whole bool) {
	whole = pr.killTree(limit)
	pr.Kill()
	return whole
}

// killRest kills the group while its number is certainly its own, and where
// nothing else would, also afterwards. pr.mu is held.
func (pr *Process) killRest() {
	if !pr.reaped || !sweeps {
		killGroup(pr.cmd.Process.Pid)
	}
}

// signal sends to the group unless the leader was reaped: its number may be
// another's by then.
func (pr *Process) signal(send func(pgid int)) {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if !pr.reaped {
		send(pr.cmd.Process.Pid)
	}
}

func (pr *Process) waitFor(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-pr.done:
		return true
	case <-t.C:
		return false
	}
}

func (p *Processes) add(pr *Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		p.running = make(map[*Process]struct{})
	}
	p.running[pr] = struct{}{}
	if p.closed { // KillAll came while it was being forked
		killGroup(pr.cmd.Process.Pid)
	}
}

func (p *Processes) remove(pr *Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, pr)
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if !sweeps && !pr.groupEnds {
		p.left = append(p.left, pr.cmd.Process.Pid)
	}
}

// KillAll kills every group at once and lets nothing start any more. It does
// not wait; it is for panics and second signals, and may be called from
// anywhere any number of times.
func (p *Processes) KillAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for pr := range p.running {
		pr.Kill()
	}
	for _, pgid := range p.left {
		killGroup(pgid)
	}
	p.left = nil
}

// Sweep is the very end: it kills what is running, waits for it, and on Linux
// ends every other descendant that became a child of this process (see
// BecomeSubreaper), whoever started it. It takes no longer than limit, also
// when a process resists, and reports how many could not be ended.
func (p *Processes) Sweep(limit time.Duration) int {
	began := time.Now()
	p.KillAll()
	p.awaitStarts(limit / 4) // the sweep ends what hangs in exec
	p.KillAll()              // what was being forked
	p.mu.Lock()
	waits := make([]*Process, 0, len(p.running))
	for pr := range p.running {
		waits = append(waits, pr)
	}
	p.mu.Unlock()
	for _, pr := range waits {
		pr.waitFor(time.Until(began.Add(limit / 2)))
	}
	return sweep(began.Add(limit), p.pids)
}

// awaitStarts waits until no start is under way.
func (p *Processes) awaitStarts(limit time.Duration) {
	started := make(chan struct{})
	goroutine.Start(func() {
		p.starting.Wait()
		close(started)
	})
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-started:
	case <-t.C:
	}
}

// pids are the children that somebody else waits for.
func (p *Processes) pids() map[int]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	m := make(map[int]bool, len(p.running))
	for pr := range p.running {
		m[pr.cmd.Process.Pid] = true
	}
	return m
}
