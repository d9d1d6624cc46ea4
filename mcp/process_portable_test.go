//go:build unix && (!linux || portable)

package mcp

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"toolpipe/mcp/shell"
	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

// native says that the package does what every Unix can do, and no more.
const native = false

func orphans() []int { return nil }

// TestShellClaims: an answer says no more than what was done.
func TestShellClaims(t *testing.T) {
	server, err := shell.New(shell.Spec{Dir: "/", Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	r, _, _ := server.run(context.Background(), "run_command", json.RawMessage(`{"script":"sleep 300","timeout_s":0.1}`), func(wire.Progress) {})
	if text := jsontext.Unquote(r.Content[0].Text); !strings.HasPrefix(text, "timed out; "+shell.killedGroup+"\n") {
		t.Errorf("the answer is %q", text)
	}
}

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
