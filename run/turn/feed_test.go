package turn

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"toolpipe/mcp/toolserver"
	"toolpipe/stream"
)

// TestCancelledAtItsVerdict: a call that the host cancels while it is being allowed
// leaves nothing behind in the conversation, which lasts as long as the host.
func TestCancelledAtItsVerdict(t *testing.T) {
	b := newCallBench(map[string]toolserver.ToolFunc{"read": answerOK})
	b.start(t, nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	b.on["approval a allow -y"] = func() error { cancel(toolserver.ErrCancelled); return nil }
	f := &Feed{round: b.newRound(1, nil, nil)}
	c := &call{Call: stream.Call{ID: "a", Name: "s__read", Arguments: json.RawMessage("{}")}, ctx: ctx, done: make(chan struct{})}
	f.judge(c)
	if want := []string{"a not_run"}; !slices.Equal(b.results(), want) {
		t.Errorf("results %q, want %q", b.results(), want)
	}
	if n := len(b.flow.expected); n > 0 {
		t.Errorf("%d results are expected", n)
	}
}
