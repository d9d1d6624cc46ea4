//go:build unix && !linux

package endtoend

import (
	"errors"
	"os"
)

// Only Linux has subreapers; elsewhere a guard sees no orphans.
func becomeSubreaper() {}
func childPIDs() []int { return nil }

func openTerminal() (master *os.File, slave string, err error) {
	return nil, "", errors.New("terminal scripts run on Linux only")
}

func resizeTerminal(*os.File, int, int) error { return nil }
