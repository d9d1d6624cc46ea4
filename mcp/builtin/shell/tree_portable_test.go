//go:build unix && (!linux || portable)

package shell

import (
	"os"
	"strings"
	"testing"

	"toolpipe/mcp/process"
	"toolpipe/stream/text/jsontext"
)

// An answer says no more than what was done.
func TestShellClaims(t *testing.T) {
	r, err := runScript(t.Context(), CommandSpec{Dir: "/", Environ: os.Environ(), Processes: &process.Processes{}}, "sleep 300", 0.1)
	if err != nil {
		t.Fatal(err)
	}
	if text := jsontext.Unquote(r.Content[0].Text); !strings.HasPrefix(text, "timed out; "+killedGroup+"\n") {
		t.Errorf("the answer is %q", text)
	}
}

// What only Linux can do is held by no test here.
func TestShellTree(t *testing.T) {
	t.Skip("only Linux: a process that has left its session is not found")
}
