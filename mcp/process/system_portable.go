//go:build unix && (!linux || portable)

package process

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// BecomeSubreaper does nothing here: orphans go to process 1, only their
// group finds them.
func BecomeSubreaper() {}

func leaveOrphans() {}

// CloseDescriptorsOnExec keeps children from inheriting the files, beyond the
// standard streams, that this process inherited.
func CloseDescriptorsOnExec() {
	for fd := 3; fd < 256; fd++ {
		syscall.CloseOnExec(fd)
	}
}

// dieWithParent does nothing: this system kills no child with its parent.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitExit says that the system cannot wait without reaping: on macOS such a wait
// returns for stopped children too (golang/go#19314).
func awaitExit(*os.Process) bool { return false }

func (p *Processes) sweep(time.Time) int { return 0 }

func inherited() []int { return nil }

func startMarked(start func() error) (mark uint64, err error) { return 0, start() }

func (pr *Process) killTree(time.Duration) bool { return false }

// Tree are the pids of the child and all its descendants, which this system does not
// tell.
func (pr *Process) Tree() ([]int, error) { return nil, errors.ErrUnsupported }

func wrappedGroup(int) int { return 0 }

// Unread says that the system does not tell whether a pipe has bytes that its
// reader has not read.
func Unread(*os.File) bool { return false }
