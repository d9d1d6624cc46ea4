package run

import (
	"testing"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/invocation"
	"toolpipe/stream/text/secrets"
)

// TestEndHidesSecrets: an error of toolpipe may hold words of a program or a server.
func TestEndHidesSecrets(t *testing.T) {
	set := &secrets.Set{}
	set.Add("abcdefgh-1234")
	r := &runner{conversation: &conversation{}, inv: &invocation.Invocation{Config: &config.Config{}, Outputs: &invocation.Outputs{Secrets: set}}}
	e := r.endEvent(failure.UsageError([]string{"try abcdefgh-1234"}, "the approver said abcdefgh-1234"))
	if e.Err.Message != "the approver said [secret]" || e.Err.Hints[0] != "try [secret]" {
		t.Errorf("%q %q", e.Err.Message, e.Err.Hints)
	}
}
