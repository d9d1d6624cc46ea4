package mcp

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
	"toolpipe/testdata/load"
)

// TestModernServerAsks: in 2026-07-28 a server has no requests and a client no
// responses, so a ping is not answered, over HTTP by no POST; the call is.
func TestModernServerAsks(t *testing.T) {
	web := serveWeb(t, chatter(modernWeb))
	for name, spec := range map[string]Spec{"http": {URL: web.URL, Elicit: "defaults"}, "stdio": stdio("-modern", "-fault", "chatters")} {
		t.Run(name, func(t *testing.T) {
			s, rec := connect(t, spec)
			if got := called(t, s, "t", `{}`); got != "ok" || s.Protocol() != wire.ModernRevision {
				t.Errorf("the call gave %q by %s", got, s.Protocol())
			}
			s.Close()
			for _, line := range rec.sentLines("") {
				if !strings.Contains(line, `"method":`) {
					t.Errorf("sent: %s", line)
				}
			}
			if !strings.Contains(strings.Join(rec.snapshot(&rec.logs), "\n"), "the server sent the request ping") {
				t.Errorf("logs: %q", rec.snapshot(&rec.logs))
			}
		})
	}
	for _, r := range web.got("POST") {
		if r.Method == nil {
			t.Errorf("a POST without a method: %s", r.body)
		}
	}
}

// TestOldTransportTooLarge: a message beyond the limit is told as that, not as
// a server that is gone.
func TestOldTransportTooLarge(t *testing.T) {
	t.Parallel()
	old := newOld()
	web := old.serve(t, func(w http.ResponseWriter, r webRequest) {
		if jsontext.Text(r.Method) == "tools/call" {
			old.events <- strings.Repeat("x", wire.MaxFrame+1)
			return
		}
		old.handle(w, r)
	})
	s, rec := connect(t, Spec{URL: web.URL + "/sse"})
	if e := callFails(t, s, "t", `{}`); !e.Sent || !strings.Contains(e.Message, "longer than") {
		t.Errorf("%+v", e)
	}
	if lost := strings.Join(rec.snapshot(&rec.warnings), ""); !strings.Contains(lost, "longer than") {
		t.Errorf("warnings: %q", lost)
	}
}

// TestListenTooLarge: the stream beside the calls is given up for such a
// message, not opened again for ever.
func TestListenTooLarge(t *testing.T) {
	t.Parallel()
	if !load.Full(t) {
		t.Skip("moves 64 MiB; another test does it for another transport")
	}
	web := serveWeb(t, instead(legacyWeb, "GET", func(w http.ResponseWriter, r webRequest) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "retry: 1\ndata: small\n\ndata: ")
		io.WriteString(w, strings.Repeat("x", wire.MaxFrame+1))
	}))
	s, rec := connect(t, Spec{URL: web.URL, Elicit: "defaults"})
	s.background.Wait()
	if n := len(web.got("GET")); n != 1 {
		t.Errorf("%d streams were opened", n)
	}
	if got := called(t, s, "t", `{}`); got != "ok" || rec.warned("server_lost") != 0 {
		t.Errorf("the call gave %q", got)
	}
}

// TestResumedTooLarge: nor is a stream resumed for such a message.
func TestResumedTooLarge(t *testing.T) {
	t.Parallel()
	if !load.Full(t) {
		t.Skip("moves 64 MiB; another test does it for another transport")
	}
	var n atomic.Int32
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		switch {
		case jsontext.Text(r.Method) == "tools/call":
			sendSSE(w, "id: 0\nretry: 1\ndata:\n\n")
		case r.verb == http.MethodGet:
			sendSSE(w, fmt.Sprintf("id: %d\nretry: 1\ndata:\n\ndata: ", n.Add(1)))
			io.WriteString(w, strings.Repeat("x", wire.MaxFrame+1))
		default:
			legacyWeb(w, r)
		}
	})
	s, _ := connect(t, Spec{URL: web.URL})
	if e := callFails(t, s, "t", `{}`); !e.Sent || !strings.Contains(e.Message, "longer than") || n.Load() != 1 {
		t.Errorf("%+v after %d resumptions", e, n.Load())
	}
}
