//go:build !unix

package mcp

import (
	"errors"
	"os/exec"
	"time"
)

const sweeps = false

// BecomeSubreaper does nothing on this system.
func BecomeSubreaper() {}

// CloseDescriptorsOnExec does nothing on this system.
func CloseDescriptorsOnExec() {}

// ownSession refuses: without sessions and process groups a child could not
// be ended together with what it started.
func ownSession(*exec.Cmd) error {
	return errors.New("processes cannot be started on this system: it has no process groups; use a server's URL")
}

func awaitExit(int) {}

func terminateGroup(int) {}

func killGroup(int) {}

func sweep(time.Time, func() map[int]bool) int { return 0 }

func startMarked(cmd *exec.Cmd) (mark uint64, err error) { return 0, cmd.Start() }

func (pr *Process) killTree(time.Duration) bool { return false }
