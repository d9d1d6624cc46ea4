package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"toolpipe/stream/netguard"
)

// soon makes a refusal that asks for no long wait.
func soon(code int) http.HandlerFunc { return status(code, "busy", "Retry-After-Ms", "1") }

func TestRetries(t *testing.T) {
	textThenReset := func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"hel"}}]}`+"\n\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	resetBeforeBody := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}
	for _, test := range []struct {
		name     string
		handlers []http.HandlerFunc
		requests int
		fails    bool
	}{
		{"503 then a reply", []http.HandlerFunc{soon(503), stream(hello)}, 2, false},
		{"408, 429, 529 then a reply", []http.HandlerFunc{soon(408), soon(429), soon(529), stream(hello)}, 4, false},
		{"four times 500", []http.HandlerFunc{soon(500)}, 4, true},
		{"no quota", []http.HandlerFunc{status(429, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`, "Retry-After-Ms", "1"), stream(hello)}, 1, true},
		{"500 about images", []http.HandlerFunc{status(500, `{"error":{"message":"image input is not supported - hint: provide the mmproj"}}`, "Retry-After-Ms", "1"), stream(hello)}, 1, true},
		{"500 about another image", []http.HandlerFunc{status(500, `{"error":{"message":"cannot pull the container image"}}`, "Retry-After-Ms", "1"), stream(hello)}, 2, false},
		{"400", []http.HandlerFunc{soon(400), stream(hello)}, 1, true},
		{"404", []http.HandlerFunc{soon(404), stream(hello)}, 1, true},
		{"409", []http.HandlerFunc{soon(409), stream(hello)}, 2, false},
		{"429 that says no", []http.HandlerFunc{status(429, "", "X-Should-Retry", "false"), stream(hello)}, 1, true},
		{"400 that says yes", []http.HandlerFunc{status(400, "", "X-Should-Retry", "true"), stream(hello)}, 2, false},
		{"asks for too long", []http.HandlerFunc{status(429, "", "Retry-After", "61"), stream(hello)}, 1, true},
		{"asks for ages", []http.HandlerFunc{status(429, "", "Retry-After", "999999999999"), stream(hello)}, 1, true},
		{"asks for a date", []http.HandlerFunc{status(429, "", "Retry-After", time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)), stream(hello)}, 1, true},
		{"error event, code 502", []http.HandlerFunc{stream(`data: {"error":{"message":"x","code":502}}` + "\n\n"), stream(hello)}, 2, false},
		{"error event, no code", []http.HandlerFunc{stream("event: error\ndata: upstream timed out\n\n"), stream(hello)}, 2, false},
		{"error event, code \"400\"", []http.HandlerFunc{stream(`data: {"error":{"message":"x","code":"400"}}` + "\n\n"), stream(hello)}, 1, true},
		{"error event after text", []http.HandlerFunc{stream(`data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n" + `data: {"error":{"message":"x","code":502}}` + "\n\n"), stream(hello)}, 1, true},
		{"cut after text", []http.HandlerFunc{textThenReset, stream(hello)}, 1, true},
		{"reset before the body", []http.HandlerFunc{resetBeforeBody, stream(hello)}, 2, false},
		{"empty body", []http.HandlerFunc{stream(""), stream(hello)}, 1, true},
		{"no reply", []http.HandlerFunc{stream("hello"), stream(hello)}, 1, true},
		{"cut without text", []http.HandlerFunc{stream(`data: {"choices":[{"delta":{}}]}` + "\n\n"), stream(hello)}, 2, false},
		{"network error upstream", []http.HandlerFunc{stream(`data: {"choices":[{"delta":{},"finish_reason":"stop","native_finish_reason":"network_error"}]}` + "\n\ndata: [DONE]\n\n"), stream(hello)}, 2, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := newModelServer(t, test.handlers...)
			c := newClient(t, Config{BaseURL: s.URL})
			text, retries := "", 0
			r := ask("hi")
			if strings.Contains(test.name, "image") {
				r.Messages[0].Parts = append(r.Messages[0].Parts, image)
			}
			reply, err := c.Reply(t.Context(), r, &Sink{
				Text:  func(p []byte) error { text += string(p); return nil },
				Retry: func(r Retry) { retries++ },
			})
			if e, ok := errors.AsType[*Error](err); ok && strings.HasSuffix(e.Hint, "; ") {
				t.Errorf("hint %q", e.Hint)
			}
			if (err != nil) != test.fails || s.requests() != test.requests || retries != test.requests-1 {
				t.Errorf("%d requests, %d retries, error %v", s.requests(), retries, err)
			}
			if !test.fails && (text != "hello" || textOfParts(reply.Message.Parts) != "hello") {
				t.Errorf("text %q", text)
			}
		})
	}
}

// The wait that the endpoint asks for is waited, and the event says so.
func TestRetryAfter(t *testing.T) {
	for asked, want := range map[[2]string]time.Duration{{"Retry-After", "60"}: time.Minute, {"Retry-After-Ms", "40"}: 40 * time.Millisecond} {
		s := newModelServer(t, status(429, "slow down", asked[0], asked[1]), stream(hello))
		c := newClient(t, Config{BaseURL: s.URL})
		began, waited := time.Now(), &[]time.Duration{want}
		if want == time.Minute { // the other one is really waited
			waited = waits(c)
		}
		var retries []Retry
		if _, err := c.Reply(t.Context(), ask("hi"), &Sink{Retry: func(r Retry) { retries = append(retries, r) }}); err != nil {
			t.Fatal(err)
		}
		if len(retries) != 1 || retries[0].After != want || retries[0].Status != 429 || retries[0].Attempt != 1 || !slices.Equal(*waited, []time.Duration{want}) {
			t.Errorf("%v: %+v, waited %v", asked, retries, *waited)
		}
		if want < time.Minute && time.Since(began) < want {
			t.Errorf("%v: after %v", asked, time.Since(began))
		}
	}
}

// A refusal says how long to wait: Gemini in the body, as an object or as a list of one, others in
// words.
func TestNamedWait(t *testing.T) {
	const object = `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.Help"},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`
	for body, want := range map[string]time.Duration{
		object: 34500 * time.Millisecond, "[" + object + "]": 34500 * time.Millisecond,
		`{"error":{"details":"x"}}`: 0, object[:150]: 0, `{"error":{"details":[{"@type":"x.google.rpc.RetryInfo","retryDelay":"-3s"}]}}`: 0,
		`{"error":{"message":"Please try again in 9.0s. Visit x"}}`:    9 * time.Second,
		"Please try again in 1m3s.":                                    63 * time.Second,
		"try again in 1h2m3.5s":                                        time.Hour + 2*time.Minute + 3500*time.Millisecond,
		"Try again in 820ms.":                                          820 * time.Millisecond,
		"retry after 20 seconds":                                       20 * time.Second,
		"Please retry after 7":                                         7 * time.Second,
		"Please wait 3600 seconds before retrying.":                    time.Hour,
		"please retry in about 2 minutes and 5 seconds":                125 * time.Second,
		"try again in 2026-11-30":                                      0,
		"try again in a few seconds":                                   0,
		"wait for 3 other requests":                                    0,
		"the context of 4000 tokens was exceeded, retry with a prompt": 0,
	} {
		if got := readRefusal(0, []byte(body)).wait; got != want {
			t.Errorf("%s: %v, want %v", body, got, want)
		}
	}
	if got := netguard.RetryAfter(http.Header{"Retry-After": {"7"}}); got != 7*time.Second {
		t.Errorf("header: %v", got)
	}
}

// With RetryFor, what a restart of the endpoint causes is retried for that long,
// however often; other failures are still retried three times.
func TestRetryFor(t *testing.T) {
	for _, test := range []struct {
		name     string
		refusal  http.HandlerFunc
		requests int // 0: more than 4
		hint     string
	}{
		{"503", status(503, "starting"), 0, ""},
		{"429", status(429, "slow down"), 0, ""},
		{"500", status(500, "broken"), 4, ""},
		{"400", status(400, "wrong"), 1, ""},
		{"quota", status(429, `{"error":{"code":"insufficient_quota"}}`), 1, ""},
		{"asks for more than a minute", status(503, "", "Retry-After", "90"), 0, "in 1m30s; the caller's way to wait"},
		{"asks for more than is left", status(503, "", "Retry-After", "3600"), 1, "in 1h0m0s; the caller's way to wait"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newModelServer(t, test.refusal)
			clock := time.Now()
			c := newClient(t, Config{BaseURL: s.URL, RetryFor: 10 * time.Minute, Hints: Hints{Later: "the caller's way to wait"}})
			c.now = func() time.Time { return clock }
			c.sleep = func(_ context.Context, d time.Duration) error { clock = clock.Add(d); return nil }
			began := clock
			_, err := c.Reply(t.Context(), ask("hi"), &Sink{Retry: func(r Retry) {
				if (r.Of == 0) != (test.requests == 0) {
					t.Errorf("%+v", r)
				}
			}})
			e, ok := errors.AsType[*Error](err)
			if n := s.requests(); !ok || test.requests != 0 && n != test.requests || test.requests == 0 && n <= 4 || e.Hint != "" && !strings.Contains(e.Hint, test.hint) || e.Hint == "" && test.hint != "" {
				t.Errorf("%d requests, %v, hint %q", n, err, e.Hint)
			}
			if took := clock.Sub(began); test.requests == 0 && (took < 8*time.Minute || took > 10*time.Minute) {
				t.Errorf("retried for %v", took)
			}
		})
	}
	s := newModelServer(t, hold(t, "", nil))
	s.Close()
	c := newClient(t, Config{BaseURL: s.URL, RetryFor: time.Hour})
	attempts := 0
	c.sleep = func(context.Context, time.Duration) error {
		if attempts++; attempts == 9 {
			return errors.New("enough")
		}
		return nil
	}
	if _, err := c.Reply(t.Context(), ask("hi"), nil); attempts != 9 {
		t.Errorf("%d attempts, %v", attempts, err)
	}
}

// An interrupt during a wait ends it at once with its cause.
func TestCancelDuringWait(t *testing.T) {
	s := newModelServer(t, status(503, "", "Retry-After", "50"))
	c := newClient(t, Config{BaseURL: s.URL})
	ctx, cancel := context.WithCancelCause(t.Context())
	interrupted := errors.New("interrupted")
	if _, err := c.Reply(ctx, ask("hi"), &Sink{Retry: func(Retry) { cancel(interrupted) }}); err != interrupted {
		t.Errorf("error %v", err)
	}
}

// A connection that died while it lay idle is replaced at once, even by a
// server that closes it only when the request comes.
func TestDeadConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				head := make([]byte, 64<<10)
				if n, _ := conn.Read(head); n > 0 {
					fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(hello), hello)
				}
				conn.Read(head) // the second request is never answered
			}()
		}
	}()
	c := newClient(t, Config{BaseURL: "http://" + l.Addr().String()})
	for range 3 {
		var retries []Retry
		reply, err := c.Reply(t.Context(), ask("hi"), &Sink{Retry: func(r Retry) { retries = append(retries, r) }})
		if err != nil || textOfParts(reply.Message.Parts) != "hello" {
			t.Fatalf("%+v, %v", reply, err)
		}
		if len(retries) > 1 || (len(retries) == 1 && retries[0].After != 0) {
			t.Errorf("retries %+v", retries)
		}
	}
}

// What an endpoint does not take is left out once it says so, for good.
func TestRepairs(t *testing.T) {
	calls := []Call{{ID: "a", Name: "f", Arguments: []byte("{}")}}
	conversation := func() *Request {
		r := ask("hi")
		r.MaxTokens = 10
		r.Tools = []Tool{{Name: "f"}}
		r.Messages = append(r.Messages, Message{Role: Assistant, Calls: calls}, Message{Role: ToolRole, CallID: "a", Name: "f", Parts: []Part{{Text: "x"}}})
		return r
	}
	for _, test := range []struct {
		api, refused, refusal string
		accepted              string
	}{
		{"chat", `"stream_options"`, `{"detail":"stream_options: Extra inputs are not permitted"}`, `"stream":true,"max_tokens"`},
		{"chat", `"max_tokens"`, `{"error":{"message":"Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens'"}}`, `"max_completion_tokens":10`},
		{"chat", `"content":null`, `invalid message content type: <nil>`, `"content":""`},
		{"responses", `"include"`, `{"error":{"message":"Encrypted content is not supported with this model.","param":"include"}}`, `"store":false`},
	} {
		t.Run(test.refusal, func(t *testing.T) {
			reply := hello
			if test.api == "responses" {
				reply = `data: {"type":"response.completed","response":{"status":"completed","output":[]}}` + "\n\n"
			}
			refusals := 0
			var s *modelServer
			s = newModelServer(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(s.last(), test.refused) {
					refusals++
					status(422, test.refusal)(w, r)
					return
				}
				stream(reply)(w, r)
			})
			c := newClient(t, Config{BaseURL: s.URL, API: test.api})
			r := conversation()
			var warned []string
			for range 2 {
				sink := &Sink{Retry: func(Retry) { t.Error("a repair is no retry") }, Warn: func(code, message string) { warned = append(warned, code+": "+message) }}
				if _, err := c.Reply(t.Context(), r, sink); err != nil {
					t.Fatal(err)
				}
			}
			if len(warned) != 1 || !strings.HasPrefix(warned[0], "request_repaired: the endpoint answered 422; the request is sent again with") {
				t.Errorf("warnings %q", warned)
			}
			if last := s.last(); refusals != 1 || !strings.Contains(last, test.accepted) {
				t.Errorf("%d refusals, then %s", refusals, last)
			}
		})
	}
}

// A refusal that a repair does not help against ends the exchange.
func TestRepairOnce(t *testing.T) {
	s := newModelServer(t, status(400, "stream_options and content and max_tokens"))
	c := newClient(t, Config{BaseURL: s.URL})
	r := ask("hi")
	r.MaxTokens = 1
	if _, err := c.Reply(t.Context(), r, nil); err == nil || s.requests() != 3 {
		t.Errorf("%d requests, %v", s.requests(), err)
	}
}

// Begin is called before each request, also before one that is sent again. Spent gets the tokens
// of a cut reply.
func TestBegin(t *testing.T) {
	refused := errors.New("no more")
	for _, allowed := range []int{0, 1, 2, 3} {
		s := newModelServer(t,
			status(400, `{"error":{"message":"Unsupported parameter: stream_options"}}`),
			stream(`data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":1}}`+"\n\n"),
			stream(hello))
		c := newClient(t, Config{BaseURL: s.URL})
		waits(c)
		begun := 0
		var spent []Usage
		_, err := c.Reply(t.Context(), ask("hi"), &Sink{
			Begin: func() error {
				if begun++; begun > allowed {
					return refused
				}
				return nil
			},
			TakesBack: func() bool { return true },
			Spent:     func(u Usage) { spent = append(spent, u) },
		})
		if s.requests() != allowed || allowed < 3 && err != refused || allowed == 3 && err != nil {
			t.Errorf("%d allowed: %d requests, error %v", allowed, s.requests(), err)
		}
		if cut := allowed >= 2; cut && !slices.Equal(spent, []Usage{{Input: 7, Output: 1}}) || !cut && len(spent) > 0 {
			t.Errorf("%d allowed: spent %+v", allowed, spent)
		}
	}
}
