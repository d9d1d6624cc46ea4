package mcp

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

type webHandler = func(http.ResponseWriter, webRequest)

// TestNegotiationOverHTTP holds what each kind of answer to server/discover leads to.
func TestNegotiationOverHTTP(t *testing.T) {
	discover := func(status int, body string) webHandler {
		return instead(legacyWeb, "server/discover", func(w http.ResponseWriter, r webRequest) {
			sendJSON(w, status, strings.ReplaceAll(body, "ID", string(r.ID)))
		})
	}
	raw := func(status int, kind, body string) webHandler {
		return instead(legacyWeb, "server/discover", func(w http.ResponseWriter, r webRequest) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			io.WriteString(w, body)
		})
	}
	failure := func(code int, data string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":ID,"error":{"code":%d,"message":"no"%s}}`, code, data)
	}
	supported := func(list string) string { return `,"data":{"supported":[` + list + `],"requested":"2026-07-28"}` }
	tests := []struct {
		name   string
		handle webHandler
		want   string // the revision, or part of the error
	}{
		{"modern", modernWeb, "2026-07-28"},
		{"modern and all others", discover(200, `{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2024-11-05","2026-07-28","2025-11-25"]}}`), "2026-07-28"},
		{"legacy only", discover(200, `{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2025-03-26","2025-06-18"]}}`), "2025-06-18"},
		{"future only", discover(200, `{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":["2030-01-01"]}}`), "no protocol revision in common"},
		{"a result without versions", discover(200, `{"jsonrpc":"2.0","id":ID,"result":{}}`), "2025-11-25"},
		{"empty event stream", raw(200, "text/event-stream", ""), "2025-11-25"},
		{"HTML", raw(200, "text/html", "<!doctype html><title>hello</title>"), "2025-11-25"},
		{"no JSON", raw(200, "application/json", "OK"), "2025-11-25"},
		{"unsupported, only legacy", discover(400, failure(-32022, supported(`"2025-06-18","2024-11-05"`))), "2025-06-18"},
		{"unsupported, only future", discover(400, failure(-32022, supported(`"2031-01-01"`))), "2031-01-01"},
		{"unsupported once", func() webHandler {
			refuse, n := discover(400, failure(-32022, supported(`"2026-07-28"`))), 0
			return instead(modernWeb, "server/discover", func(w http.ResponseWriter, r webRequest) {
				if n++; n == 1 {
					refuse(w, r)
					return
				}
				modernWeb(w, r)
			})
		}(), "2026-07-28"},
		{"unsupported for ever", discover(400, failure(-32022, supported(`"2026-07-28"`))), "lists 2026-07-28 as supported and refuses it"},
		{"header mismatch", discover(400, failure(-32020, "")), "refuses server/discover"},
		{"missing capability", discover(400, failure(-32021, "")), "refuses server/discover"},
		{"method not found on 200", discover(200, failure(-32601, "")), "2025-11-25"},
		{"server error on 400", discover(400, failure(-32000, "")), "2025-11-25"},
		{"parse error without id", discover(400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`), "2025-11-25"},
		{"404 in text", raw(404, "text/plain", "Invalid session ID"), "2025-11-25"},
		{"400 in a foreign envelope", discover(400, `{"type":"about:blank","title":"Bad Request"}`), "2025-11-25"},
		{"405", raw(405, "text/plain", ""), "2025-11-25"},
		{"outage of the probe", raw(503, "text/plain", "try later"), "2025-11-25"},
		{"outage", func(w http.ResponseWriter, r webRequest) { http.Error(w, "try later: "+jsontext.Text(r.Method), 503) }, "HTTP status 503 Service Unavailable: try later: server/discover"},
		{"modern behind an outage", func() webHandler {
			n := 0
			return instead(modernWeb, "server/discover", func(w http.ResponseWriter, r webRequest) {
				if n++; n == 1 {
					http.Error(w, "warming up", 503)
					return
				}
				modernWeb(w, r)
			})
		}(), "2026-07-28"},
		{"401", raw(401, "text/plain", "who are you"), "HTTP status 401 Unauthorized: who are you"},
		{"an error that is a word", raw(401, "application/json", `{"error":"unauthorized"}`), "HTTP status 401 Unauthorized: unauthorized (tried"},
		{"broken", func(w http.ResponseWriter, r webRequest) { dies(w) }, "the server closed the connection without an answer (tried"},
		{"redirected elsewhere", func(w http.ResponseWriter, r webRequest) {
			w.Header().Set("Location", "http://elsewhere.invalid/mcp")
			w.WriteHeader(308)
		}, "elsewhere.invalid"},
		{"redirected as GET", func(w http.ResponseWriter, r webRequest) {
			w.Header().Set("Location", "/mcp/")
			w.WriteHeader(302)
		}, "HTTP status 302 Found to \"/mcp/\"; only 307 and 308"},
		{"initialize refuses versions", instead(legacyWeb, "initialize", func(w http.ResponseWriter, r webRequest) {
			if v := jsontext.Text(jsontext.Member(r.Params, "protocolVersion")); v != "2025-06-18" {
				sendJSON(w, 400, r.refuse(-32602, "Unsupported protocol version (supported: 2025-06-18)", ""))
				return
			}
			legacyWeb(w, r)
		}), "2025-06-18"},
		{"newer than known", instead(legacyWeb, "initialize", func(w http.ResponseWriter, r webRequest) {
			sendJSON(w, 200, r.reply(initResult("2025-12-12")))
		}), "2025-11-25"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			web := serveWeb(t, tt.handle)
			s, rec, err := tryConnect(t, Spec{URL: web.URL + "/mcp"})
			if err != nil {
				if e := err.(*ConnectError); !strings.Contains(e.Message, tt.want) || !strings.Contains(e.Message, `server "peer" (http): `) || !strings.Contains(e.Message, "tried: server/discover") {
					t.Errorf("%q is not in %q", tt.want, e.Message)
				}
				return
			}
			if s.Protocol() != tt.want {
				t.Errorf("speaks %s, want %s", s.Protocol(), tt.want)
			}
			if mismatch := tt.name == "newer than known"; (rec.warned("protocol_mismatch") == 1) != mismatch {
				t.Errorf("warnings: %q", rec.warnings)
			}
			if s.Protocol() == wire.ModernRevision && len(web.got("initialize")) > 0 && tt.name != "modern behind an outage" {
				t.Error("initialize was sent to a modern server")
			}
			if got := called(t, s, "t", `{}`); got != "ok" {
				t.Errorf("the call gave %q", got)
			}
		})
	}
}

// TestRepliesOverHTTP: whatever form a reply comes in, it is read.
func TestRepliesOverHTTP(t *testing.T) {
	call := func(f webHandler) webHandler { return instead(legacyWeb, "tools/call", f) }
	sse := func(format string) webHandler {
		return call(func(w http.ResponseWriter, r webRequest) { sendSSE(w, fmt.Sprintf(format, r.reply(okResult))) })
	}
	typed := func(kind, format string) webHandler {
		return call(func(w http.ResponseWriter, r webRequest) {
			w.Header()["Content-Type"] = []string{kind}
			if kind == "" {
				w.Header()["Content-Type"] = nil
			}
			io.WriteString(w, strings.ReplaceAll(format, "%s", r.reply(okResult)))
		})
	}
	tests := []struct {
		name   string
		handle webHandler
		want   string
	}{
		{"CRLF a byte at a time", call(func(w http.ResponseWriter, r webRequest) {
			slowly(w, ": hello\r\n\r\nevent: message\r\ndata: "+r.reply(okResult)+"\r\n\r\n")
		}), "ok"},
		{"CR", sse("data: %s\r\r"), "ok"},
		{"no blank line at the end", sse("event: message\ndata: %s"), "ok"},
		{"data in several lines", call(func(w http.ResponseWriter, r webRequest) {
			sendSSE(w, "data: "+strings.Replace(r.reply(okResult), `"result"`, "\ndata: \"result\"", 1)+"\n\n")
		}), "ok"},
		{"others before it", sse("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":999,\"result\":{}}\n\n: ping\n\ndata:\n\ndata: %s\n\n"), "ok"},
		{"a batch", call(func(w http.ResponseWriter, r webRequest) { sendJSON(w, 200, "["+r.reply(okResult)+"]") }), "ok"},
		{"another id", call(func(w http.ResponseWriter, r webRequest) {
			sendJSON(w, 200, `{"jsonrpc":"2.0","id":0,"result":`+okResult+`}`)
		}), "ok"},
		{"JSON called text", call(func(w http.ResponseWriter, r webRequest) {
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, "\xEF\xBB\xBF \n"+r.reply(okResult))
		}), "ok"},
		{"events called bytes", call(func(w http.ResponseWriter, r webRequest) {
			w.Header().Set("Content-Type", "application/octet-stream")
			io.WriteString(w, "data: "+r.reply(okResult)+"\n\n")
		}), "ok"},
		{"JSON called events", call(func(w http.ResponseWriter, r webRequest) { sendSSE(w, r.reply(okResult)) }), "ok"},
		{"events called JSON", typed("application/json", "event: message\ndata: %s\n\n"), "ok"},
		{"a comment called JSON", typed("application/json", ": hello\n\nid: 1\ndata: %s\n\n"), "ok"},
		{"events without a type", typed("", "id: 1\ndata: %s\n\n"), "ok"},
		{"JSON with a mark", typed("application/json", "\xEF\xBB\xBF%s"), "ok"},
		{"JSON without a type", typed("", "%s"), "ok"},
		{"id 0 on the stream", call(func(w http.ResponseWriter, r webRequest) {
			sendSSE(w, "data: {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":"+okResult+"}\n\n")
		}), "ok"},
		{"a page", call(func(w http.ResponseWriter, r webRequest) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<!doctype html>\n<title>Sign in</title>"+strings.Repeat(".", 1000))
		}), "error: the response is not JSON (HTTP status 200, text/html): the web page \"Sign in\""},
		{"plain words", typed("", "Ошибка: identity unknown"), "error: the response is not JSON (HTTP status 200, no Content-Type): Ошибка: identity unknown"},
		{"packed", call(func(w http.ResponseWriter, r webRequest) { packed(w, r.reply(okResult)) }), "ok"},
		{"slow", call(func(w http.ResponseWriter, r webRequest) { trickle(w, r.reply(okResult)) }), "ok"},
		{"an error on 200", call(func(w http.ResponseWriter, r webRequest) { sendJSON(w, 200, r.refuse(-32602, "bad n", "")) }), "error: bad n"},
		{"an error on 500", call(func(w http.ResponseWriter, r webRequest) { sendJSON(w, 500, r.refuse(-32603, "oops", "")) }), "error: oops"},
		{"an error in text", call(func(w http.ResponseWriter, r webRequest) { http.Error(w, "too big", 413) }), "error: HTTP status 413 Request Entity Too Large: too big"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			web := serveWeb(t, tt.handle)
			s, _ := connect(t, Spec{URL: web.URL})
			if got := called(t, s, "t", `{}`); got != tt.want {
				t.Errorf("the call gave %q, want %q", got, tt.want)
			}
			if n := len(web.got("tools/call")); n != 1 {
				t.Errorf("%d calls went out", n)
			}
		})
	}
}

// TestNotificationAnswers: for a message without id the class of the status
// is all that counts.
func TestNotificationAnswers(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter){
		"202":      func(w http.ResponseWriter) { w.WriteHeader(202) },
		"204":      func(w http.ResponseWriter) { w.WriteHeader(204) },
		"empty":    func(w http.ResponseWriter) {},
		"null":     func(w http.ResponseWriter) { sendJSON(w, 200, "null") },
		"text":     func(w http.ResponseWriter) { io.WriteString(w, "thanks") },
		"an event": func(w http.ResponseWriter) { sendSSE(w, "data: {}\n\n") },
	} {
		t.Run(name, func(t *testing.T) {
			web := serveWeb(t, instead(legacyWeb, "notifications/initialized", func(w http.ResponseWriter, _ webRequest) { answer(w) }))
			s, _ := connect(t, Spec{URL: web.URL})
			if got := called(t, s, "t", `{}`); got != "ok" {
				t.Errorf("the call gave %q", got)
			}
		})
	}
}

// TestUnknownOutcomeOverHTTP: what may have been executed is unknown and is
// not sent again.
func TestUnknownOutcomeOverHTTP(t *testing.T) {
	t.Parallel()
	for _, base := range []struct {
		name   string
		handle webHandler
	}{{"legacy", legacyWeb}, {"modern", modernWeb}} {
		for name, answer := range map[string]webHandler{
			"breaks":        func(w http.ResponseWriter, r webRequest) { dies(w) },
			"stream ends":   func(w http.ResponseWriter, r webRequest) { sendSSE(w, ": working\n\n") },
			"stream breaks": func(w http.ResponseWriter, r webRequest) { sendSSE(w, ": x\n\n"); w.(http.Flusher).Flush(); dies(w) },
			"empty":         func(w http.ResponseWriter, r webRequest) {},
			"not JSON":      func(w http.ResponseWriter, r webRequest) { sendJSON(w, 200, `{"jsonrpc":"2.0","id":`) },
			"gateway":       func(w http.ResponseWriter, r webRequest) { http.Error(w, "timeout", 504) },
			"JSON gateway": func(w http.ResponseWriter, r webRequest) {
				sendJSON(w, 504, `{"error":{"code":504,"message":"upstream"}}`)
			},
			"no id": func(w http.ResponseWriter, r webRequest) {
				sendJSON(w, 500, `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"oops"}}`)
			},
			"other id": func(w http.ResponseWriter, r webRequest) {
				sendJSON(w, 502, `{"jsonrpc":"2.0","id":"zz","error":{"code":-32603,"message":"oops"}}`)
			},
			"task": func(w http.ResponseWriter, r webRequest) {
				sendJSON(w, 200, r.reply(`{"resultType":"task","taskId":"1"}`))
			},
			"fancy":            func(w http.ResponseWriter, r webRequest) { sendJSON(w, 200, r.reply(`{"resultType":"fancy"}`)) },
			"reply over limit": func(w http.ResponseWriter, r webRequest) { flood(w) },
			"hangs":            nil, // see hangs
		} {
			t.Run(base.name+"/"+name, func(t *testing.T) {
				if name == "reply over limit" && testing.Short() {
					t.Skip("moves tens of MiB")
				}
				t.Parallel()
				ctx, cancel := context.WithCancel(bounded(t))
				defer cancel()
				if name == "hangs" {
					answer = hangs(cancel)
				}
				web := serveWeb(t, instead(base.handle, "tools/call", answer))
				s, _ := connect(t, Spec{URL: web.URL})
				e := callFailsWith(t, ctx, s, "t", `{}`)
				if !e.Sent || e.RPC || strings.Contains(e.Message, "EOF") {
					t.Errorf("%+v", e)
				}
				calls := web.got("tools/call")
				if len(calls) != 1 {
					t.Fatalf("%d calls went out", len(calls))
				}
				for name := range calls[0].header {
					if strings.Contains(strings.ToLower(name), "idempotency") {
						t.Errorf("header %s", name)
					}
				}
			})
		}
	}
}

// flood sends more than a message may have.
func flood(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	io.WriteString(w, `{"jsonrpc":"2.0","id":1,"result":{"x":"`)
	for range (wire.MaxFrame >> 20) + 1 {
		if _, err := io.WriteString(w, strings.Repeat("x", 1<<20)); err != nil {
			return
		}
	}
}

// hangs is a tool whose call is cancelled when it has reached the tool.
func hangs(cancel func()) webHandler {
	return func(_ http.ResponseWriter, r webRequest) {
		cancel()
		<-r.gone
	}
}

func TestNeverSentOverHTTP(t *testing.T) {
	web := serveWeb(t, legacyWeb)
	s, _ := connect(t, Spec{URL: web.URL})
	web.CloseClientConnections()
	web.Close()
	s.http.conns.closeIdle()
	if e := callFails(t, s, "t", `{}`); e.Sent || e.RPC {
		t.Errorf("%+v", e)
	}
}

func TestCancelOverHTTP(t *testing.T) {
	ctx, cancel := context.WithCancel(bounded(t))
	web := serveWeb(t, instead(legacyWeb, "tools/call", hangs(cancel)))
	s, _ := connect(t, Spec{URL: web.URL})
	if e := callFailsWith(t, ctx, s, "t", `{}`); !e.Sent {
		t.Errorf("%+v", e)
	}
	s.Close()
	if n := len(web.got("notifications/cancelled")); n != 1 {
		t.Errorf("the server was told %d times", n)
	}
}

// TestModernHeaders: what 2026-07-28 asks for on every POST.
func TestModernHeaders(t *testing.T) {
	web := serveWeb(t, modernWeb)
	s, _ := connect(t, Spec{URL: web.URL, Bearer: "tok", Headers: map[string]string{"X-Team": "red"}})
	called(t, s, "an odd tööl", `{}`)
	s.Close()
	posts := web.got("POST")
	if len(posts) != 3 || len(web.got("GET"))+len(web.got("DELETE")) != 0 {
		t.Fatalf("%d posts", len(posts))
	}
	for _, r := range posts {
		for name, want := range map[string]string{
			"Mcp-Protocol-Version": wire.ModernRevision,
			"Mcp-Method":           jsontext.Text(r.Method),
			"Authorization":        "Bearer tok",
			"X-Team":               "red",
			"Accept":               "application/json, text/event-stream",
			"Mcp-Session-Id":       "",
		} {
			if got := r.header.Get(name); got != want {
				t.Errorf("%s: header %s is %q, want %q", r.Method, name, got, want)
			}
		}
	}
	if got, want := posts[2].header.Get("Mcp-Name"), "=?base64?YW4gb2RkIHTDtsO2bA==?="; got != want {
		t.Errorf("Mcp-Name is %q, want %q", got, want)
	}
}
