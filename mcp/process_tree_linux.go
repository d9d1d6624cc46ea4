package mcp

import (
	"bytes"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// A child is marked so that its descendants are known for its own wherever
// they go: sessions, groups, environments, descriptors and, below a
// subreaper, parents all change when a process becomes a daemon. The mark is
// the soft limit on file locks, which the kernel hands down through fork and
// exec and has not enforced since Linux 2.4.25 (getrlimit(2), RLIMIT_LOCKS).
const rlimitLocks = 10

// marking is held while the limit of this process is that of the child that
// is being started: every child inherits it.
var marking sync.Mutex

// startMarked starts cmd. The mark is 0 where the system does not allow one.
func startMarked(cmd *exec.Cmd) (mark uint64, err error) {
	marking.Lock()
	defer marking.Unlock()
	var old syscall.Rlimit
	if locksLimit(0, nil, &old) == 0 {
		mark = 1<<40 + rand.Uint64N(1<<61)
		if locksLimit(0, &syscall.Rlimit{Cur: mark, Max: old.Max}, nil) != 0 {
			mark = 0
		} else {
			defer locksLimit(0, &old, nil)
		}
	}
	return mark, cmd.Start()
}

func locksLimit(pid int, set, old *syscall.Rlimit) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), rlimitLocks,
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 0, 0)
	return errno
}

// killTree kills the child and all its descendants, and those that they start
// meanwhile, until none is found or a second has passed. It says whether all
// have ended for certain.
func (pr *Process) killTree() bool {
	deadline := time.Now().Add(time.Second)
	for pause := time.Millisecond; ; pause *= 2 {
		found, err := pr.tree()
		running := 0
		for _, m := range found {
			if m.kill() {
				running++
			}
		}
		if err != nil || len(found) == 0 || time.Now().After(deadline) {
			return err == nil && running == 0 && pr.mark != 0
		}
		time.Sleep(min(pause, 50*time.Millisecond))
	}
}

// tree is what is there of the child and its descendants: the children of this
// process that bear the mark, and all below them. A child that has ended is
// left out, because somebody waits for it.
func (pr *Process) tree() (found []descendant, err error) {
	self := os.Getpid()
	pids, err := childrenOf("self")
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		m, ok := look(pid)
		var limit syscall.Rlimit
		marked := pr.mark != 0 && locksLimit(pid, nil, &limit) == 0 && limit.Cur == pr.mark
		if !ok || m.parent != self || !marked && !pr.leads(pid) {
			continue
		}
		if m.orphan = pid != pr.Pid(); m.orphan || !m.ended {
			found = append(found, m)
		}
		found = appendBelow(found, m)
	}
	return found, nil
}

// leads says whether pid is certainly that of the child.
func (pr *Process) leads(pid int) bool {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	return pid == pr.Pid() && !pr.reaped
}

// appendBelow appends the descendants of a process.
func appendBelow(found []descendant, parent descendant) []descendant {
	pids, err := childrenOf(strconv.Itoa(parent.pid))
	if again, ok := look(parent.pid); err != nil || !ok || again.began != parent.began {
		return found // the children are perhaps another's
	}
	for _, pid := range pids {
		if m, ok := look(pid); ok && m.parent == parent.pid {
			found = appendBelow(append(found, m), m)
		}
	}
	return found
}

// descendant is a process of a tree. Its number may be another's after it ended,
// its number together with its beginning not.
type descendant struct {
	pid, parent int
	began       string // in clock ticks since boot
	ended       bool   // it only waits to be waited for
	orphan      bool   // by this process: nobody else does
}

// look finds a process.
func look(pid int) (m descendant, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // from the third on: proc_pid_stat(5)
	if err != nil || len(fields) < 20 {
		return descendant{}, false
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return descendant{pid: pid, parent: parent, began: string(fields[19]), ended: fields[0][0] == 'Z'}, true
}

// kill kills m, which may have ended, and says whether it was running still.
func (m descendant) kill() bool {
	if m.ended && m.orphan {
		syscall.Wait4(m.pid, nil, syscall.WNOHANG, nil)
	}
	p, err := os.FindProcess(m.pid) // by a handle: what is looked at now is what is killed
	if err != nil {
		return true
	}
	defer p.Release()
	now, ok := look(m.pid)
	if !ok || now.began != m.began || now.ended {
		return false
	}
	return p.Kill() != os.ErrProcessDone
}
