//go:build !portable

package process

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
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

// marks were given from first on, up to next. The lock is held while the limit
// of this process is that of the child that is being started: every child
// inherits it.
var marks struct {
	sync.Mutex
	first, next uint64
}

// marked says whether a process bears a mark, whosever.
func marked(pid int) bool {
	marks.Lock()
	defer marks.Unlock()
	var limit syscall.Rlimit
	return locksLimit(pid, nil, &limit) == 0 && marks.first <= limit.Cur && limit.Cur < marks.next
}

// startMarked starts cmd. The mark is 0 where the system does not allow one.
func startMarked(cmd *exec.Cmd) (mark uint64, err error) {
	marks.Lock()
	defer marks.Unlock()
	if marks.next == 0 {
		marks.first = 1<<40 + rand.Uint64N(1<<61)
		marks.next = marks.first
	}
	var old syscall.Rlimit
	if locksLimit(0, nil, &old) == 0 {
		mark = marks.next
		marks.next++
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
// meanwhile, until none is found or the limit has passed. It says whether all
// have ended for certain.
func (pr *Process) killTree(limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause *= 2 {
		found, err := pr.tree()
		for _, d := range found {
			pr.kill(d)
		}
		if err != nil || len(found) == 0 || time.Now().After(deadline) {
			return err == nil && len(found) == 0 && pr.mark != 0 && !pr.owner.strangers()
		}
		time.Sleep(min(pause, 10*time.Millisecond))
	}
}

// strangers says whether this process may have a descendant of which nobody
// knows who started it: one that has lost its parent, and its mark by a change
// of its limits. It comes to this process, where orphans do; a program that
// forges the mark of another is not seen.
func (p *Processes) strangers() bool {
	var subreaper int32
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prGetChildSubreaper, uintptr(unsafe.Pointer(&subreaper)), 0)
	pids, err := processes()
	if errno != 0 || subreaper == 0 || err != nil {
		return true
	}
	ours := children() // also those that /proc hides, for they are another user's
	for _, pid := range pids {
		if d, ok := look(pid); ok && d.parent == os.Getpid() {
			ours = append(ours, pid)
		}
	}
	known := p.pids()
	return slices.ContainsFunc(ours, func(pid int) bool {
		d, seen := look(pid)
		return !known[pid] && !marked(pid) && exists(pid) && !(seen && d.ended)
	})
}

// tree is what is there of the child and its descendants: the processes that
// bear the mark, and all below them. It is empty only when none is left: who
// ends meanwhile is found until it is reaped.
//
// The list is /proc itself: the lists of children that it offers leave one out
// when another is reaped while they are read (proc_tid_children(5)).
func (pr *Process) tree() (found []descendant, err error) {
	pids, err := processes()
	if err != nil {
		return nil, err
	}
	below := make(map[int][]descendant) // by parent
	for _, pid := range pids {
		d, ok := look(pid)
		if !ok {
			continue
		}
		var limit syscall.Rlimit
		if pr.mark != 0 && locksLimit(pid, nil, &limit) == 0 && limit.Cur == pr.mark || pr.leads(pid) {
			found = append(found, d)
			continue
		}
		below[d.parent] = append(below[d.parent], d)
	}
	for i := 0; i < len(found); i++ {
		pid := found[i].pid
		found = append(found, below[pid]...)
		delete(below, pid)
	}
	return found, nil
}

// processes are the numbers of all processes that can be seen.
func processes() (pids []int, err error) {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return nil, errors.New("/proc is not that of this process")
	}
	dir, err := os.Open("/proc")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids, err
}

// leads says whether pid is certainly that of the child.
func (pr *Process) leads(pid int) bool {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	return pid == pr.Pid() && !pr.reaped
}

// descendant is a process of a tree. Its number may be another's after it was
// reaped, its number together with its beginning not.
type descendant struct {
	pid, parent int
	began       string // in clock ticks since boot
	ended       bool   // it only waits to be reaped, or for its threads
}

// look finds a process.
func look(pid int) (d descendant, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // from the third on: proc_pid_stat(5)
	if err != nil || len(fields) < 20 {
		return descendant{}, false
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return descendant{pid: pid, parent: parent, began: string(fields[19]), ended: fields[0][0] == 'Z'}, true
}

// kill kills d, or reaps it when it has ended and nobody else does.
func (pr *Process) kill(d descendant) {
	if d.ended && d.parent == os.Getpid() && d.pid != pr.Pid() {
		if pid, _ := syscall.Wait4(d.pid, nil, syscall.WNOHANG, nil); pid == d.pid {
			return
		}
	}
	p, err := os.FindProcess(d.pid) // by a handle: what is looked at now is what is killed
	if err != nil {
		return
	}
	defer p.Release()
	if now, ok := look(d.pid); ok && now.began == d.began {
		p.Kill()
	}
}
