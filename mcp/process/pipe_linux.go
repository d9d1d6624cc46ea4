//go:build !portable

package process

import (
	"errors"
	"os"
	"strconv"
	"syscall"
)

// OpenPipe opens a pipe that a process of the child's tree has open. pid and fd are the numbers
// that the process itself uses; they may be lies. Nothing but a pipe of this user is opened,
// and nothing of a process that is not the child or a descendant of it.
func (pr *Process) OpenPipe(pid, fd, flag int) (*os.File, error) {
	proc := "/proc/"
	if pr.wrapped { // bwrap mounts a /proc that shows only the processes of the command
		init := childrenOf(proc + strconv.Itoa(pr.pid) + "/task/*/children")
		if len(init) != 1 {
			return nil, errNoDescendant
		}
		proc += strconv.Itoa(init[0]) + "/root/proc/"
	}
	const oPath = 0x200000 // O_PATH: open nothing but the name
	task, err := syscall.Open(proc+strconv.Itoa(pid), oPath|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(task)
	if !pr.wrapped && !pr.includes(pid) {
		return nil, errNoDescendant
	}
	// The name in task leads nowhere when the process has ended, even if its pid is in use again.
	end, err := syscall.Open(ownDescriptor(task)+"/fd/"+strconv.Itoa(fd), oPath|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer syscall.Close(end)
	var stat syscall.Stat_t
	if err := syscall.Fstat(end, &stat); err != nil {
		return nil, err
	}
	if stat.Mode&syscall.S_IFMT != syscall.S_IFIFO || int(stat.Uid) != os.Geteuid() {
		return nil, errors.New("it is not a pipe of this user")
	}
	return os.OpenFile(ownDescriptor(end), flag|syscall.O_NONBLOCK, 0)
}

var errNoDescendant = errors.New("no such process belongs to the command")

func ownDescriptor(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// includes reports whether a process is the child or a descendant of it. The parents of the
// process lead to the child or, if the process is an orphan, to this program (see
// BecomeSubreaper); an orphan must have the mark of the child.
func (pr *Process) includes(pid int) bool {
	for at := pid; at > 1; {
		d, ok := look(at)
		switch {
		case pr.leads(at):
			return true
		case !ok:
			return false
		case d.parent == os.Getpid():
			var limit syscall.Rlimit
			return pr.mark != 0 && locksLimit(pid, nil, &limit) == 0 && limit.Cur == pr.mark
		}
		at = d.parent
	}
	return false
}
