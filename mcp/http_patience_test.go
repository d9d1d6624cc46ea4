package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolpipe/mcp/wire"
)

// busy answers the first times requests of a method with a status and a wait in milliseconds.
func busy(base webHandler, method string, times int32, status int, milliseconds string) webHandler {
	var n atomic.Int32
	return instead(base, method, func(w http.ResponseWriter, r webRequest) {
		if n.Add(1) > times {
			base(w, r)
			return
		}
		if milliseconds != "" {
			w.Header().Set("Retry-After-Ms", milliseconds)
		}
		sendJSON(w, status, `{"message":"slow down"}`)
	})
}

const readingTool = `{"tools":[{"name":"t","annotations":{"readOnlyHint":true},"inputSchema":{"type":"object"}}]}`

// TestBusyStart: each request of the start is sent again after a failure that may pass, so that
// no failed probe makes a server a legacy one.
func TestBusyStart(t *testing.T) {
	for name, handle := range map[string]webHandler{"legacy": plainWeb(), "modern": modernWeb} {
		for _, method := range []string{"server/discover", "initialize", "notifications/initialized", "tools/list"} {
			for _, status := range []int{429, 502, 503, 504} {
				t.Run(fmt.Sprint(name, "/", method, "/", status), func(t *testing.T) {
					t.Parallel()
					if name == "modern" && strings.Contains(method, "init") {
						return
					}
					web := serveWeb(t, busy(handle, method, 3, status, "1"))
					s, rec := connect(t, Spec{URL: web.URL})
					if got := called(t, s, "t", `{}`); got != "ok" || s.isLegacy() != (name == "legacy") {
						t.Errorf("%s: the call gave %q", s.Protocol(), got)
					}
					if n := len(web.got(method)); n != 4 {
						t.Errorf("%d requests", n)
					}
					if !strings.Contains(strings.Join(rec.logs, "\n"), fmt.Sprintf("HTTP status %d", status)) {
						t.Errorf("log: %q", rec.logs)
					}
				})
			}
		}
	}
}

// TestBusyTooLong: a wait that does not fit into the start fails at once, and a wait that the end
// of the start interrupts says why there was one.
func TestBusyTooLong(t *testing.T) {
	for wait, limit := range map[string]time.Duration{"90000": hang, "2000": 3 * time.Second} {
		t.Run(wait, func(t *testing.T) {
			t.Parallel()
			web := serveWeb(t, busy(plainWeb(), "tools/list", 9, 429, wait))
			began := time.Now()
			_, _, err := tryConnect(t, Spec{URL: web.URL, StartupTimeout: limit})
			if err == nil || !strings.Contains(err.Error(), "429") || !strings.Contains(err.Error(), "asks to try again in ") {
				t.Errorf("%v", err)
			}
			if errors.Is(err, ErrStartup) != (wait == "2000") || time.Since(began) > hang/2 {
				t.Errorf("%v after %v", err, time.Since(began))
			}
		})
	}
}

// TestBusyCall holds which calls are sent again: after a 429 every call, since it did not run,
// after a 503 a call that only reads.
func TestBusyCall(t *testing.T) {
	for _, test := range []struct {
		reads        bool
		status, want int // how many calls go out
		sent         bool
	}{
		{false, 429, 4, false},
		{true, 429, 4, false},
		{false, 503, 1, true},
		{true, 503, 4, true},
		{true, 502, 1, true},
		{true, 504, 1, true},
		{true, 500, 1, true},
		{true, 403, 1, false},
	} {
		for _, times := range []int32{3, 9} {
			t.Run(fmt.Sprint(test, times), func(t *testing.T) {
				t.Parallel()
				base := legacyWeb
				if test.reads {
					base = listing(base, func(string) string { return readingTool })
				}
				web := serveWeb(t, busy(base, "tools/call", times, test.status, "1"))
				s, _ := connect(t, Spec{URL: web.URL})
				var notes []string
				_, err := s.Call(bounded(t), "t", json.RawMessage(`{}`), func(p wire.Progress) { notes = append(notes, p.Message) })
				if passes := test.want == 4 && times == 3; passes != (err == nil) || !passes && wire.MayHaveArrived(err) != test.sent {
					t.Errorf("%v", err)
				}
				if n := len(web.got("tools/call")); n != test.want || len(notes) != 2*(n-1) {
					t.Errorf("%d calls went out, progress %q", n, notes)
				}
			})
		}
	}
}

// TestBusyCallSaysWhen: a wait that does not fit into the time of a call is told instead.
func TestBusyCallSaysWhen(t *testing.T) {
	for name, body := range map[string]string{"JSON-RPC": `{"jsonrpc":"2.0","id":ID,"error":{"code":-32000,"message":"slow down"}}`, "text": "slow down"} {
		t.Run(name, func(t *testing.T) {
			web := serveWeb(t, instead(legacyWeb, "tools/call", func(w http.ResponseWriter, r webRequest) {
				w.Header().Set("Retry-After", "300")
				sendJSON(w, 429, strings.ReplaceAll(body, "ID", string(r.ID)))
			}))
			s, _ := connect(t, Spec{URL: web.URL})
			if e := callFails(t, s, "t", `{}`); e.Sent || !strings.Contains(e.Message, "slow down; the server asks to try again in ") {
				t.Errorf("%+v", e)
			}
			if n := len(web.got("tools/call")); n != 1 {
				t.Errorf("%d calls went out", n)
			}
		})
	}
}

// TestBusyCallIsCancelled: the end of a call ends its wait at once.
func TestBusyCallIsCancelled(t *testing.T) {
	web := serveWeb(t, busy(legacyWeb, "tools/call", 9, 429, "90000"))
	s, _ := connect(t, Spec{URL: web.URL})
	ctx, cancel := context.WithCancel(bounded(t))
	_, err := s.Call(ctx, "t", json.RawMessage(`{}`), func(wire.Progress) { cancel() })
	if !errors.Is(ctx.Err(), context.Canceled) || err == nil || wire.MayHaveArrived(err) {
		t.Errorf("%v", err)
	}
	s.Close()
	if calls, cancels := len(web.got("tools/call")), len(web.got("notifications/cancelled")); calls != 1 || cancels != 0 {
		t.Errorf("%d calls and %d cancellations", calls, cancels)
	}
}

// TestWaitIsNotTheServersTime: a server that asks for a wait has the time of a call after it.
func TestWaitIsNotTheServersTime(t *testing.T) {
	t.Parallel()
	slow := instead(legacyWeb, "tools/call", func(w http.ResponseWriter, r webRequest) {
		time.Sleep(1200 * time.Millisecond)
		legacyWeb(w, r)
	})
	web := serveWeb(t, busy(slow, "tools/call", 1, 429, "1200"))
	s, _ := connect(t, Spec{URL: web.URL, ToolTimeout: 2 * time.Second})
	if got := called(t, s, "t", `{}`); got != "ok" {
		t.Errorf("the call gave %q", got)
	}
}
