package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
)

// TestOutputWait holds that both deadlines of a call stand still while the
// reader of our output is waited for, and only then.
func TestOutputWait(t *testing.T) {
	const limit = 10 * time.Second
	for name, tt := range map[string]struct {
		begins, wait time.Duration // of the reader's sleep
		answer       time.Duration // when the tool answers
		progress     bool          // the tool tells of progress every second
		want         error
	}{
		"no sleep":              {0, 0, 9 * time.Second, false, nil},
		"no sleep, too late":    {0, 0, 11 * time.Second, false, TimeoutError{Limit: limit}},
		"sleep":                 {2 * time.Second, 50 * time.Second, 59 * time.Second, false, nil},
		"sleep, too late":       {2 * time.Second, 50 * time.Second, 61 * time.Second, false, TimeoutError{Limit: limit}},
		"sleep before":          {-time.Hour, time.Hour, 11 * time.Second, false, TimeoutError{Limit: limit}},
		"hard":                  {2 * time.Second, 50 * time.Second, 149 * time.Second, true, nil},
		"hard, too late":        {2 * time.Second, 50 * time.Second, 151 * time.Second, true, TimeoutError{limit, true}},
		"progress before sleep": {15 * time.Second, 50 * time.Second, 74 * time.Second, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := toolserver.New("s", "1")
				server.Add(wire.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(ctx context.Context, _ json.RawMessage, progress func(wire.Progress)) (*wire.Result, error) {
					for began := time.Now(); time.Since(began) < tt.answer; {
						time.Sleep(time.Second)
						if tt.progress {
							progress(wire.Progress{Progress: json.RawMessage("1")})
						}
					}
					return toolserver.TextResult("done"), nil
				})
				began := time.Now()
				wait := func() time.Duration { return min(max(time.Since(began)-tt.begins, 0), tt.wait) }
				s, err := Connect(t.Context(), Spec{Name: "s", Local: server.Pipe, ToolTimeout: limit}, Hooks{OutputWait: wait}, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				_, err = s.Call(t.Context(), "t", json.RawMessage(`{}`), nil)
				if !errors.Is(err, tt.want) {
					t.Errorf("%v, want %v", err, tt.want)
				}
			})
		})
	}
}
