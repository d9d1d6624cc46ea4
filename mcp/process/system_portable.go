//go:build unix && (!linux || portable)

package process

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// BecomeSubreaper does nothing here: orphans go to process 1 and can be found only by their
// group.
func BecomeSubreaper() {}

func leaveOrphans() {}

// CloseDescriptorsOnExec keeps children from inheriting the files that this process
// inherited, except the standard streams.
func CloseDescriptorsOnExec() {
	for fd := 3; fd < 256; fd++ {
		syscall.CloseOnExec(fd)
	}
}

// dieWithParent does nothing: this system cannot kill a child with its parent.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitExit is always false: on macOS a wait without reaping also returns for stopped
// children (golang/go#19314).
func awaitExit(*os.Process) bool { return false }

func (p *Processes) sweep(time.Time) int { return 0 }

func inherited() []int { return nil }

func startMarked(start func() error) (mark uint64, err error) { return 0, start() }

func (pr *Process) killTree(time.Duration) bool { return false }

// Tree is the list of the child and all its descendants, which this system cannot report.
func (pr *Process) Tree() ([]int, error) { return nil, errors.ErrUnsupported }

// OpenPipe opens a pipe of a descendant, which this system cannot do.
func (pr *Process) OpenPipe(pid, fd, flag int) (*os.File, error) { return nil, errors.ErrUnsupported }

func wrappedGroup(int) int { return 0 }

// Unread is always false: this system cannot report whether a pipe has unread bytes.
func Unread(*os.File) bool { return false }
