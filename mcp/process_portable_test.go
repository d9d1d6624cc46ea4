//go:build unix && (!linux || portable)

package mcp

import "testing"

// native says that the package does what every Unix can do, and no more.
const native = false

func orphans() []int { return nil }

// TestOnlyLinux names what no test holds here, because only Linux can do it.
func TestOnlyLinux(t *testing.T) {
	for test, why := range map[string]string{
		"TestParentIsKilled": "a child does not die with its parent",
		"TestShellTree":      "a process that has left its session is not found",
		"TestSweepHungStart": "a child that hangs in exec is not found",
	} {
		t.Run(test, func(t *testing.T) { t.Skip("only Linux: " + why) })
	}
}
