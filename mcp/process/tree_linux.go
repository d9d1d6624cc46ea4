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

// A child gets a mark, by which its descendants are found: a process that becomes
// a daemon changes its session, group, environment, descriptors and parent. The
// mark is the soft limit on file locks, which a process inherits through fork and
// exec, and which Linux has not enforced since 2.4.25 (getrlimit(2), RLIMIT_LOCKS).
const rlimitLocks = 10

// marks are given in order: those from first up to next are in use. The lock is
// held while a child is being started, as this process then has the child's limit.
var marks struct {
	sync.Mutex
	first, next uint64
}

// marked reports whether a process has the mark of any child.
func marked(pid int) bool {
	marks.Lock()
	defer marks.Unlock()
	var limit syscall.Rlimit
	return locksLimit(pid, nil, &limit) == 0 && marks.first <= limit.Cur && limit.Cur < marks.next
}

// startMarked has start start a child with a mark, which is 0 where the system does not
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

// locksLimit sets and gets the limit on file locks of a process, 0 for this one; a nil
// limit is not set, or not given.
func locksLimit(pid int, set, old *syscall.Rlimit) syscall.Errno {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRLIMIT64, uintptr(pid), rlimitLocks,
		uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(old)), 0, 0)
	return errno
}

// killTree kills the child and all its descendants, and those that they start
// meanwhile, until none is found or the limit has passed. It reports whether all
// have ended for certain.
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

// hasUnknownChildren reports whether this process may have a descendant of which it
// is not known which child started it: an orphan that has lost its mark by a change
// of its limits. A subreaper becomes the parent of orphans. A program that takes the
// mark of another is not found.
func (p *Processes) hasUnknownChildren() bool {
	var subreaper int32
	_, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prGetChildSubreaper, uintptr(unsafe.Pointer(&subreaper)), 0)
	pids, err := processes()
	if errno != 0 || subreaper == 0 || err != nil {
		return true
	}
	ours := children() // with those that /proc hides because they are another user's
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

// tree finds the child and its descendants: the processes that have the mark, and
// all below them. It is empty only when none is left: a process that ends meanwhile
// is found until it is reaped.
//
// It reads the list of all processes: /proc/PID/task/TID/children leaves one out
// when another is reaped at that moment (proc_tid_children(5)).
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

// Tree are the pids of the child and all its descendants that have not ended.
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

// leads reports whether pid is for certain that of the child.
func (pr *Process) leads(pid int) bool {
	pr.mu.Lock()
	defer pr.mu.Unlock()
	return pid == pr.Pid() && !pr.reaped
}

// descendant is a process of a tree. After it was reaped another process may get
// its pid, but not with the same start time.
type descendant struct {
	pid, parent int
	began       string // start time in clock ticks since boot
	ended       bool   // it waits to be reaped, or for its threads
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

// kill kills d, or reaps it when it has ended and this process has to.
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
