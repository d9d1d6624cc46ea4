//go:build unix && (!linux || portable)

package process

import "testing"

// TestOnlyLinux names what no test holds here, because only Linux can do it.
func TestOnlyLinux(t *testing.T) {
	for test, why := range map[string]string{
		"TestParentIsKilled": "a child does not die with its parent",
		"TestSweepHungStart": "a child that hangs in exec is not found",
	} {
		t.Run(test, func(t *testing.T) { t.Skip("only Linux: " + why) })
	}
}
