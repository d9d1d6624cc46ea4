package mcp

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"toolpipe/stream/text/jsontext"
)

// TestInterruptedAnswer: an answer with event ids that is cut off is resumed, as one that ends
// politely, and asking for the rest is repeated while the server fails.
func TestInterruptedAnswer(t *testing.T) {
	ends := map[string]func(net.Conn){
		"politely": func(c net.Conn) { io.WriteString(c, "0\r\n\r\n") },
		"cut off":  func(net.Conn) {},
		"reset":    func(c net.Conn) { c.(*net.TCPConn).SetLinger(0) },
	}
	fails := map[string]webHandler{
		"502":   func(w http.ResponseWriter, _ webRequest) { http.Error(w, "bad gateway", 502) },
		"503":   func(w http.ResponseWriter, _ webRequest) { http.Error(w, "warming up", 503) },
		"dies":  func(w http.ResponseWriter, _ webRequest) { dies(w) },
		"reset": func(w http.ResponseWriter, _ webRequest) { interrupt(w, "", ends["reset"]) },
		"again": func(w http.ResponseWriter, _ webRequest) { interrupt(w, ": x\n\n", ends["cut off"]) },
	}
	for how, end := range ends {
		for failure, fail := range fails {
			for _, times := range []int32{0, 2, 9} {
				t.Run(fmt.Sprint(how, "/", failure, "/", times), func(t *testing.T) {
					t.Parallel()
					web := serveWeb(t, interrupted(end, fail, times))
					s, _ := connect(t, Spec{URL: web.URL})
					want := "ok"
					if times < 9 {
						if got := called(t, s, "t", `{}`); got != want {
							t.Errorf("the call gave %q", got)
						}
					} else if e := callFails(t, s, "t", `{}`); !e.Sent || e.RPC {
						t.Errorf("%+v", e)
					}
					if gets, calls := len(web.got("GET")), len(web.got("tools/call")); gets != int(min(times, 2))+1 || calls != 1 {
						t.Errorf("%d resumptions of %d calls", gets, calls)
					}
				})
			}
		}
	}
}

// interrupted answers calls with the beginning of an event stream that ends so. The rest is given
// after the first times requests for it, which fail.
func interrupted(end func(net.Conn), fail webHandler, times int32) webHandler {
	var mu sync.Mutex
	var call webRequest
	return func(w http.ResponseWriter, r webRequest) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case jsontext.Text(r.Method) == "tools/call":
			call = r
			interrupt(w, "id: 7\nretry: 100\ndata:\n\n", end)
		case r.verb == http.MethodGet && r.header.Get("Last-Event-Id") != "7":
			w.WriteHeader(http.StatusMethodNotAllowed)
		case r.verb == http.MethodGet && times > 0:
			times--
			fail(w, r)
		case r.verb == http.MethodGet:
			sendSSE(w, "id: 8\ndata: "+call.reply(okResult)+"\n\n")
		default:
			legacyWeb(w, r)
		}
	}
}

// interrupt sends the beginning of an event stream and ends the connection.
func interrupt(w http.ResponseWriter, events string, end func(net.Conn)) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer c.Close()
	fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n")
	if events != "" {
		fmt.Fprintf(c, "%x\r\n%s\r\n", len(events), events)
	}
	time.Sleep(50 * time.Millisecond) // a reset drops what the client has not read
	end(c)
}

// TestRefusedResumption: a call that began may have run, whatever the server says when it is asked
// for the rest of the answer. The call is not sent again.
func TestRefusedResumption(t *testing.T) {
	const said = `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`
	for name, fail := range map[string]webHandler{
		"404":   func(w http.ResponseWriter, _ webRequest) { sendJSON(w, 404, said) },
		"400":   func(w http.ResponseWriter, _ webRequest) { sendJSON(w, 400, said) },
		"event": func(w http.ResponseWriter, _ webRequest) { sendSSE(w, "data: "+said+"\n\n") },
	} {
		t.Run(name, func(t *testing.T) {
			server := &sessions{}
			inner := interrupted(func(net.Conn) {}, fail, 9)
			web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
				if r.verb == http.MethodGet || jsontext.Text(r.Method) == "tools/call" {
					inner(w, r)
					return
				}
				server.handle(w, r)
			})
			s, _ := connect(t, Spec{URL: web.URL})
			if e := callFails(t, s, "t", `{}`); !e.Sent || e.RPC || !strings.Contains(e.Message, "Session not found") {
				t.Errorf("%+v", e)
			}
			if calls, inits := len(web.got("tools/call")), len(web.got("initialize")); calls != 1 || inits != 1 {
				t.Errorf("%d calls and %d handshakes", calls, inits)
			}
		})
	}
}

// TestUnfinishedEvent: the id of an event whose end is missing does not count.
func TestUnfinishedEvent(t *testing.T) {
	var call webRequest
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		switch {
		case jsontext.Text(r.Method) == "tools/call":
			call = r
			sendSSE(w, "id: 7\nretry: 100\ndata:\n\nid: 8\ndata: {\"jsonrpc\":")
		case r.verb == http.MethodGet && r.header.Get("Last-Event-Id") == "7":
			sendSSE(w, "id: 8\ndata: "+call.reply(okResult)+"\n\n")
		default:
			legacyWeb(w, r)
		}
	})
	s, _ := connect(t, Spec{URL: web.URL, ToolTimeout: 5 * time.Second})
	if got := called(t, s, "t", `{}`); got != "ok" {
		t.Errorf("the call gave %q", got)
	}
}
