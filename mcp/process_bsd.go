//go:build unix && !linux

package mcp

import (
	"os/exec"
	"syscall"
	"time"
)

// sweeps is false: orphans go to process 1, only their group finds them.
const sweeps = false

// BecomeSubreaper does nothing on this system.
func BecomeSubreaper() {}

// CloseDescriptorsOnExec keeps what this process inherited beyond the
// standard streams from its children.
func CloseDescriptorsOnExec() {
	for fd := 3; fd < 256; fd++ {
		syscall.CloseOnExec(fd)
	}
}

func ownSession(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	return nil
}

// awaitExit leaves the waiting to exec.Cmd.Wait.
func awaitExit(int) {}

func sweep(time.Time, func() map[int]bool) int { return 0 }

func startMarked(cmd *exec.Cmd) (mark uint64, err error) { return 0, cmd.Start() }

func (pr *Process) killTree(time.Duration) bool { return false }
