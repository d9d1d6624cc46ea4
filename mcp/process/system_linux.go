//go:build !portable

package process

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"
)

const (
	prSetChildSubreaper = 36
	prGetChildSubreaper = 37
	waitNoReap          = 0x01000000 // WNOWAIT
	idTypeAll           = 0          // P_ALL
	idTypePid           = 1          // P_PID
	closeRangeCloexec   = 4
	sysCloseRange       = 436 // the same on every architecture
)

// BecomeSubreaper makes orphaned descendants children of this process, so that Sweep finds
// daemons. On systems other than Linux it does nothing.
func BecomeSubreaper() {
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
}

func leaveOrphans() {
	syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 0, 0)
}

// CloseDescriptorsOnExec keeps children from inheriting the files that this process
// inherited, except the standard streams.
func CloseDescriptorsOnExec() {
	syscall.RawSyscall(sysCloseRange, 3, uintptr(^uint32(0)), closeRangeCloexec)
}

// dieWithParent requests SIGKILL for a child when this process dies. The kernel sends it when
// the forking thread ends (golang/go#27505). A thread of the Go runtime ends only with a
// goroutine that ends while locked to it, so no goroutine of this program may do that.
// Locking a thread for the life of each child would cost more than a quarter of the child's
// start.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// awaitExit waits until the child has ended, without reaping it. It is false if the system
// cannot do that. If possible it waits by the pidfd of package os, which takes no thread;
// waitid(2) would take one for the life of the child. A pidfd from the start itself is not
// requested: the start would fail where clone(2) refuses it.
func awaitExit(child *os.Process) bool {
	var ended bool
	var errno syscall.Errno
	var pidfd uintptr
	err := child.WithHandle(func(handle uintptr) {
		pidfd, _, errno = syscall.Syscall(syscall.SYS_FCNTL, handle, syscall.F_DUPFD_CLOEXEC, 0)
	})
	if err == nil && errno == 0 {
		syscall.SetNonblock(int(pidfd), true) // makes os.NewFile use the poller
		file := os.NewFile(pidfd, "pidfd")
		defer file.Close()
		raw, err := file.SyscallConn()
		if err == nil {
			err = raw.Read(func(uintptr) bool {
				ended, errno = waitid(idTypePid, uintptr(child.Pid), syscall.WNOHANG)
				return ended || errno != 0
			})
		}
		if err == nil {
			return errno == 0
		}
	}
	for {
		if _, errno = waitid(idTypePid, uintptr(child.Pid), 0); errno != syscall.EINTR {
			return errno == 0
		}
	}
}

// inherited are the children of this process before its first start.
func inherited() []int {
	if childless() {
		return nil
	}
	return children()
}

// childless reports whether this process has no child at all. Every run asks at its end. This
// one call is faster than a search in /proc, which may also miss a child while another one is
// reaped.
func childless() bool {
	_, errno := waitid(idTypeAll, 0, syscall.WNOHANG)
	return errno == syscall.ECHILD
}

// waitid waits for the end of children without reaping them (waitid(2)). With WNOHANG it
// reports whether one has ended.
func waitid(idType, pid, options uintptr) (ended bool, errno syscall.Errno) {
	var info struct {
		signal int32
		rest   [31]int32
	} // siginfo_t
	_, _, errno = syscall.Syscall6(syscall.SYS_WAITID, idType, pid, uintptr(unsafe.Pointer(&info)),
		syscall.WEXITED|waitNoReap|options, 0, 0)
	return info.signal != 0, errno
}

// pids are the pids of the running children, which live waits for.
func (p *Processes) pids() map[int]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	pids := make(map[int]bool, len(p.running))
	for pr := range p.running {
		pids[pr.pid] = true
	}
	return pids
}

// sweep kills and reaps the children that nothing else waits for, and then their orphaned
// children, until there are none or the deadline passes. It spares programs of StartDetached.
func (p *Processes) sweep(deadline time.Time) (left int) {
	if childless() {
		return 0
	}
	for pause := time.Millisecond; ; pause *= 2 {
		left = 0
		running := p.pids()
		for _, pid := range children() {
			switch {
			case slices.Contains(p.spared, pid):
			case running[pid]:
				left++
			default:
				syscall.Kill(pid, syscall.SIGKILL)
				if got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil); got == 0 && err == nil {
					left++
				}
			}
		}
		if left == 0 && (p.spared != nil || childless()) || time.Now().After(deadline) {
			return left
		}
		time.Sleep(min(pause, 50*time.Millisecond))
	}
}

func children() []int { return childrenOf("/proc/self/task/*/children") }

func childrenOf(pattern string) (pids []int) {
	lists, _ := filepath.Glob(pattern)
	for _, list := range lists {
		b, _ := os.ReadFile(list) // an error means that the thread has ended
		for f := range strings.FieldsSeq(string(b)) {
			if pid, err := strconv.Atoi(f); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// wrappedGroup is the process group of a wrapped program, found by following single children
// down from the leader to the first process in another group. It is 0 if there is none yet,
// or it has ended.
func wrappedGroup(leader int) int {
	for pid := leader; ; {
		below := childrenOf("/proc/" + strconv.Itoa(pid) + "/task/*/children")
		if len(below) != 1 {
			return 0
		}
		pid = below[0]
		if group, err := syscall.Getpgid(pid); err != nil || group != leader {
			return max(group, 0)
		}
	}
}

// Unread reports whether a pipe has bytes that its reader has not read; false if the system
// cannot report it.
func Unread(pipe *os.File) bool {
	var n int32
	raw, err := pipe.SyscallConn()
	if err != nil {
		return false
	}
	raw.Control(func(fd uintptr) {
		syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&n)))
	})
	return n > 0
}
