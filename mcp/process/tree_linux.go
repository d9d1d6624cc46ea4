//go:build !portable

package process

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

// A child gets a mark, so that its descendants can be found even after one became a daemon
// and changed its session, group, environment, descriptors and parent. The mark is the soft
// limit on file locks. A process inherits it through fork and exec, and Linux has not
// enforced it since 2.4.25 (getrlimit(2), RLIMIT_LOCKS).
const rlimitLocks = 10

// marks are assigned in order: those from first up to next are in use. The lock is held
// during the start of a child, because this process has the child's limit meanwhile.
var marks struct {
	sync.Mutex
	first, next uint64
}

// marked reports whether the mark of a process belongs to a child.
func marked(pid int) bool {
	marks.Lock()
	defer marks.Unlock()
	var limit syscall.Rlimit
	return locksLimit(pid, nil, &limit) == 0 && marks.first <= limit.Cur && limit.Cur < marks.next
}

// startMarked calls start so that the child gets a mark. The mark is 0 if the system does not
// allow one.
func startMarked(start func() error) (mark uint64, err error) {
	marks.Lock()
	defer marks.Unlock()
	if marks.next == 0 {
		marks.first = 1<<40 + rand.Uint64N(1<<61)
		marks.next = marks.first
	}
	var old syscall.Rlimit
	if locksLimit(0, nil, &old) == 0 && locksLimit(0, &syscall.Rlimit{Cur: marks.next, Max: old.Max}, nil) == 0 {
		defer locksLimit(0, &old, nil)
		mark = marks.next
		marks.next++
	}
	return mark, start()
}

// locksLimit sets and gets the limit on file locks of a process; pid 0 is this process. A nil
// limit is skipped.
func locksLimit(pid int, set, old *syscall.Rlimit) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), rlimitLocks,
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 0, 0)
	return errno
}

// killTree kills the child, its descendants, and those that they start meanwhile, until none
// is found or the limit has passed. It reports whether all have certainly ended.
func (pr *Process) killTree(limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for pause := time.Millisecond; ; pause *= 2 {
		found, err := pr.tree()
		for _, d := range found {
			pr.kill(d)
		}
		if err != nil || len(found) == 0 || time.Now().After(deadline) {
			return err == nil && len(found) == 0 && pr.mark != 0 && !pr.owner.hasUnknownChildren()
		}
		time.Sleep(min(pause, 10*time.Millisecond))
	}
}

// hasUnknownChildren reports whether this process may have a descendant of an unknown child:
// an orphan that lost its mark by changing its limits. A subreaper becomes the parent of
// orphans. A program that takes the mark of another child is not found.
func (p *Processes) hasUnknownChildren() bool {
	var subreaper int32
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prGetChildSubreaper, uintptr(unsafe.Pointer(&subreaper)), 0)
	pids, err := processes()
	if errno != 0 || subreaper == 0 || err != nil {
		return true
	}
	ours := children() // includes processes of other users, which /proc may hide
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

// tree finds the child and its descendants: the processes with the mark, and all below them.
// It is empty only if none is left: a process that ends meanwhile is found until it is
// reaped.
//
// It reads the list of all processes, because /proc/PID/task/TID/children can miss one while
// another is reaped (proc_tid_children(5)).
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

// Tree is the list of pids of the child and its descendants that have not ended.
func (pr *Process) Tree() (pids []int, err error) {
	found, err := pr.tree()
	for _, d := range found {
		if !d.ended {
			pids = append(pids, d.pid)
		}
	}
	return pids, err
}

// processes are the pids of all processes that /proc shows.
func processes() (pids []int, err error) {
	if self, err := os.Readlink("/proc/self"); err != nil || self != strconv.Itoa(os.Getpid()) {
		return nil, errors.New("/proc does not show this process")
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

// leads reports whether pid is certainly the pid of the child.
func (pr *Process) leads(pid int) bool {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	return pid == pr.Pid() && !pr.reaped
}

// descendant is a process of a tree. After it was reaped, another process may get its pid,
// but not with the same start time.
type descendant struct {
	pid, parent int
	began       string // start time in clock ticks since boot
	ended       bool   // it waits to be reaped, or for its threads
}

func look(pid int) (d descendant, ok bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:]) // from the third field on: proc_pid_stat(5)
	if err != nil || len(fields) < 20 {
		return descendant{}, false
	}
	parent, _ := strconv.Atoi(string(fields[1]))
	return descendant{pid: pid, parent: parent, began: string(fields[19]), ended: fields[0][0] == 'Z'}, true
}

// kill kills d, or reaps it if it has ended and this process must reap it.
func (pr *Process) kill(d descendant) {
	if d.ended && d.parent == os.Getpid() && d.pid != pr.Pid() {
		if pid, _ := syscall.Wait4(d.pid, nil, syscall.WNOHANG, nil); pid == d.pid {
			return
		}
	}
	p, err := os.FindProcess(d.pid) // a handle, so that no other process with this pid is killed
	if err != nil {
		return
	}
	defer p.Release()
	if now, ok := look(d.pid); ok && now.began == d.began {
		p.Kill()
	}
}
