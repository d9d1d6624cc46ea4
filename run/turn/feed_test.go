package turn

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/approve"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/toolbox"
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

// TestSilentHost: a call about which the host gives no answer is denied after a while, and
// a host that was silent once is not asked again, unless it had to come back by itself.
func TestSilentHost(t *testing.T) {
	for _, comesBack := range []bool{false, true} {
		b := newCallBench(map[string]toolserver.ToolFunc{"write": answerOK})
		b.gate.AutoApprove, b.gate.Terminal = "", &approve.Terminal{Disabled: "the terminal belongs to the host"}
		b.start(t, nil)
		synctest.Test(t, func(t *testing.T) {
			b.serves, b.denyUnapproved, b.askHost = true, true, "calls"
			f, asked := &Feed{round: b.newRound(1, nil, nil)}, 0
			for _, id := range []string{"a", "b"} {
				c := &call{Call: stream.Call{ID: id, Name: "s__write", Arguments: json.RawMessage("{}")}, ctx: t.Context(), done: make(chan struct{})}
				c.user.ask = func(ctx context.Context, form wire.Form) (toolserver.Answer, error) {
					asked++
					<-ctx.Done()
					if comesBack {
						return toolserver.Answer{}, errors.Join(toolserver.ErrNotBack, context.Cause(ctx))
					}
					return toolserver.Answer{}, context.Cause(ctx)
				}
				began := time.Now()
				f.judge(c)
				if text := c.answer.text(); !strings.Contains(text, "nobody can be asked: ") || !strings.Contains(text, "; it would run with --allow s__write") {
					t.Errorf("%s: %s", id, text)
				}
				if took := time.Since(began); took != toolbox.HostPatience && (id == "a" || comesBack) {
					t.Errorf("%s: after %v", id, took)
				}
			}
			if want := map[bool]int{false: 1, true: 2}[comesBack]; asked != want {
				t.Errorf("asked %d times, want %d", asked, want)
			}
		})
	}
}
