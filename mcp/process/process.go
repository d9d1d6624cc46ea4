// Package process starts child processes, gives them their environment, and ends them: no
// process that was started here outlives the program.
package process

import (
	"context"
	"errors"
	"maps"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"toolpipe/stream/goroutine"
)

// Processes knows every child that was started through it, so that none outlives this
// process. The zero value is ready. Its methods are safe for concurrent use.
//
//	defer procs.Sweep(limit) // the very end: nothing is left
//	defer procs.KillAll()    // on a panic, on a second signal
type Processes struct {
	Before func() // called before each start, by several goroutines; may be nil

	all   *Processes // the Processes that In was called on; nil: this one
	start StartFunc  // starts the next child; nil: nothing special

	mu       sync.Mutex
	starting sync.RWMutex          // read-locked by each start in progress
	running  map[*Process]struct{} // children that have not ended, or with unread output
	left     []*Process            // children that have ended; other members of their group may still run
	spared   []int                 // pids of children that Sweep spares; constant once closed is set
	begun    bool                  // something was started
	closed   bool                  // nothing may start any more
}

// Process is a started child, the leader of its own session and group.
type Process struct {
	cmd   *exec.Cmd
	pid   int
	owner *Processes
	birth
	done  chan struct{}    // closed when the child is reaped and its output was read
	state *os.ProcessState // set before done is closed, like err
	err   error

	mu        sync.Mutex
	reaped    bool
	groupEnds bool // the rest of the group is killed when the leader has ended
}

type birth struct {
	mark    uint64 // inherited by its descendants, 0 for none; see startMarked
	release func() // from StartFunc
	wrapped bool   // from StartFunc
}

var errClosed = errors.New("shutting down, no process is started any more")

// WaitDelay limits how long a descendant with an open pipe can delay the end of its leader.
const WaitDelay = time.Second

// Start starts cmd as the leader of a new session: one signal reaches its whole group, and it
// has no controlling terminal unless cmd.SysProcAttr.Setctty makes cmd.Stdin one. On Linux it
// dies with this process. A goroutine of package exec writes its output, so the writer must
// recover from its own panics, as Output does. The caller of Start must call Wait, End or
// Kill.
func (p *Processes) Start(cmd *exec.Cmd) (*Process, error) {
	return p.StartGroup(cmd, false)
}

// A StartFunc starts a child in a sandbox. release must be called after the child was reaped.
// wrapped means that the pid belongs to another program, which started the child. That program
// must get no signal except SIGKILL, which ends both.
type StartFunc func(*exec.Cmd) (release func(), wrapped bool, err error)

// In returns Processes for starting children of p with start.
func (p *Processes) In(start StartFunc) *Processes { return &Processes{all: p, start: start} }

// StartGroup is Start. With groupEnds, the rest of the group is killed when the leader has
// ended.
func (p *Processes) StartGroup(cmd *exec.Cmd, groupEnds bool) (*Process, error) {
	if p.all != nil {
		return p.all.startWith(cmd, groupEnds, p.start)
	}
	return p.startWith(cmd, groupEnds, nil)
}

func (p *Processes) startWith(cmd *exec.Cmd, groupEnds bool, in StartFunc) (*Process, error) {
	if p.Before != nil {
		p.Before()
	}
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, errClosed
	}
	p.begin()
	p.starting.RLock()
	p.mu.Unlock()
	defer p.starting.RUnlock()

	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setsid = true
	dieWithParent(cmd.SysProcAttr)
	if cmd.WaitDelay == 0 {
		cmd.WaitDelay = WaitDelay
	}
	pr := &Process{cmd: cmd, owner: p, groupEnds: groupEnds, birth: birth{release: func() {}}, done: make(chan struct{})}
	start := func() (err error) {
		if in == nil {
			return cmd.Start()
		}
		release, wrapped, err := in(cmd)
		if err == nil {
			pr.release, pr.wrapped = release, wrapped
		}
		return err
	}
	var err error
	if pr.mark, err = startMarked(start); err != nil {
		return nil, err
	}
	pr.pid = cmd.Process.Pid
	p.add(pr)
	goroutine.Start(pr.live)
	return pr, nil
}

// Run runs a program until it has ended and its output was read. When ctx ends, it kills the
// program's group and returns the cause of ctx.
func (p *Processes) Run(ctx context.Context, cmd *exec.Cmd) error {
	pr, err := p.StartGroup(cmd, true)
	if err != nil {
		return err
	}
	defer goroutine.AfterContext(ctx, pr.Kill)()
	err = pr.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// Capture is Run. It returns the first most bytes of the program's stdout, and the end of its
// stderr.
func (p *Processes) Capture(ctx context.Context, cmd *exec.Cmd, most int) (printed []byte, said string, err error) {
	out, errs := &Output{Head: most}, &Output{Tail: MaxStderr}
	cmd.Stdout, cmd.Stderr = out, errs
	err = p.Run(ctx, cmd)
	printed, _, _ = out.Kept()
	return printed, errs.String(), err
}

// StartDetached starts a program that outlives this process and is never ended here: the
// user's browser. From now on no orphans are adopted, also if later programs leave them.
func (p *Processes) StartDetached(cmd *exec.Cmd) error {
	leaveOrphans()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return errClosed
	}
	p.begin()
	if _, err := startMarked(cmd.Start); err != nil { // with its own mark, not the mark of a concurrent start
		return err
	}
	p.spared = append(p.spared, cmd.Process.Pid)
	goroutine.Start(func() { cmd.Wait() })
	return nil
}

// begin records, before the first start, the children that this process already had: a shell
// that replaces itself with this program keeps its background jobs. The caller holds mu.
func (p *Processes) begin() {
	if !p.begun {
		p.begun, p.spared = true, inherited()
	}
}

// live waits for the end of the child and of its output.
func (pr *Process) live() {
	defer close(pr.done)
	state, err := pr.awaitLeader()
	pr.release()
	if err == nil && !state.Success() {
		err = &exec.ExitError{ProcessState: state}
	}
	pr.cmd.Process.Release() // otherwise Wait would wait for that pid again
	pr.cmd.Wait()            // for its output, within the wait delay; a descendant that keeps it open is not a failure
	pr.state, pr.err = state, err
	pr.owner.remove(pr)
}

// awaitLeader waits until the leader has ended, reaps it, and ends the rest of its group if
// groupEnds. If the system can wait without reaping, no signal can hit another process with
// the same pid. Elsewhere a signal may be sent between the reaping and the record of it. In
// that moment no process gets the pid: systems assign pids in turn or at random.
func (pr *Process) awaitLeader() (state *os.ProcessState, err error) {
	unreaped := awaitExit(pr.cmd.Process)
	if !unreaped {
		state, err = pr.cmd.Process.Wait()
	}
	pr.mu.Lock()
	defer pr.mu.Unlock()
	pr.reaped = !unreaped
	if pr.groupEnds {
		pr.signal(syscall.SIGKILL)
	}
	if unreaped {
		pr.reaped = true
		state, err = pr.cmd.Process.Wait()
	}
	return state, err
}

// signal sends a signal to the group. While the group has members, no other process gets the
// pid of its reaped leader (POSIX, "process ID"), so a process with that pid is not ours. The
// caller holds pr.mu.
func (pr *Process) signal(s syscall.Signal) {
	if pr.wrapped && !pr.reaped && s != syscall.SIGKILL {
		if group := wrappedGroup(pr.pid); group != 0 {
			syscall.Kill(-group, s)
			return
		}
	}
	if !pr.reaped || !exists(pr.pid) {
		syscall.Kill(-pr.pid, s)
	}
}

func (pr *Process) groupLeft() bool { return !exists(pr.pid) && exists(-pr.pid) }

// exists reports whether there is a process with that pid or, for a negative number, a
// process group.
func exists(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }

// Pid is the pid of the child, of its group and of its session.
func (pr *Process) Pid() int { return pr.pid }

// Done is closed when the leader has ended and its output was read.
func (pr *Process) Done() <-chan struct{} { return pr.done }

// Wait waits for the leader and for its output to be read, and returns the same as
// exec.Cmd.Wait. Other members of the group run on until Kill, End or the end of the run.
func (pr *Process) Wait() error {
	<-pr.done
	return pr.err
}

// State is the leader's exit state; nil before Done.
func (pr *Process) State() *os.ProcessState {
	select {
	case <-pr.done:
		return pr.state
	default:
		return nil
	}
}

// End ends the group of a child of StartGroup after the caller closed its stdin. It waits,
// sends SIGTERM, waits, and sends SIGKILL, with at most grace for each wait. It returns when
// the leader is reaped.
func (pr *Process) End(grace time.Duration) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if pr.EndsWithin(grace) {
			break
		}
		pr.Signal(s)
	}
	<-pr.done
}

// Signal sends a signal to the group and reports whether the group has members: the leader,
// also before it is reaped, or others.
func (pr *Process) Signal(s syscall.Signal) bool {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	if pr.reaped && !pr.groupLeft() {
		return false
	}
	pr.signal(s)
	return true
}

// Kill ends the group at once. It does not wait.
func (pr *Process) Kill() {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	pr.groupEnds = true
	pr.signal(syscall.SIGKILL)
}

// KillTree ends the child and all its descendants, and waits at most limit until they are
// gone. It reports whether that is certain. On systems other than Linux only the group is
// known and ended.
func (pr *Process) KillTree(limit time.Duration) (whole bool) {
	whole = pr.killTree(limit)
	pr.Kill()
	return whole
}

// EndsWithin reports whether the leader ends within d, and its output is read.
func (pr *Process) EndsWithin(d time.Duration) bool { return goroutine.Await(pr.done, d) }

func (p *Processes) add(pr *Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		p.running = make(map[*Process]struct{})
	}
	p.running[pr] = struct{}{}
	if p.closed { // KillAll was called during the fork
		pr.Kill()
	}
}

func (p *Processes) remove(pr *Process) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.running, pr)
	p.left = slices.DeleteFunc(append(p.left, pr), func(pr *Process) bool { return !pr.groupLeft() })
}

// KillAll kills every group at once and prevents further starts. It does not wait. It is for
// panics and second signals, and may be called from anywhere any number of times.
func (p *Processes) KillAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, pr := range slices.AppendSeq(p.left, maps.Keys(p.running)) {
		pr.Kill()
	}
	p.left = nil
}

// Sweep is the end of all processes. It kills the running children and waits for them. On
// Linux it also ends every other descendant that became a child of this process (see
// BecomeSubreaper), except programs of StartDetached and children from before the first
// start. It takes at most limit, even if a process resists, and returns how many could not be
// ended.
func (p *Processes) Sweep(limit time.Duration) int {
	began := time.Now()
	p.KillAll()
	if !p.begun { // constant from now on
		return 0
	}
	if p.starting.TryLock() {
		p.starting.Unlock()
	} else {
		goroutine.Within(limit/4, func() { // the sweep ends a process that hangs in exec
			p.starting.Lock()
			defer p.starting.Unlock()
		})
	}
	p.KillAll() // children that were being forked
	p.mu.Lock()
	running := slices.Collect(maps.Keys(p.running))
	p.mu.Unlock()
	for _, pr := range running {
		pr.EndsWithin(time.Until(began.Add(limit / 2)))
	}
	return p.sweep(began.Add(limit))
}
