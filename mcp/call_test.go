package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"strings"
	"sync/atomic"
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

// What a server says of its progress is taken only in the types of the protocol.
func TestReadProgress(t *testing.T) {
	for params, want := range map[string]wire.Progress{
		`{"progress":1.5,"total":2,"message":"m"}`:                {Progress: json.RawMessage("1.5"), Total: json.RawMessage("2"), Message: "m"},
		`{"message":"m","total":2,"progress":1,"x":7,"y":"no"}`:   {Progress: json.RawMessage("1"), Total: json.RawMessage("2"), Message: "m"},
		`{"progress":"1","total":true,"message":"m","token":"t"}`: {Message: "m"},
		`{}`: {},
	} {
		if got := readProgress([]byte(params)); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", params, got)
		}
	}
}

// The next round of a request has its params, and what the server asked for.
func TestNextRound(t *testing.T) {
	for _, x := range []struct{ answers, state, want string }{
		{"", "", `{"name":"t"}`},
		{`{"a":1}`, "", `{"name":"t","inputResponses":{"a":1}}`},
		{"", `"s"`, `{"name":"t","requestState":"s"}`},
		{`{"a":1}`, "null", `{"name":"t","inputResponses":{"a":1}}`},
	} {
		if got := string(nextRound([]byte(`{"name":"t"}`), bytesOrNil(x.answers), bytesOrNil(x.state))); got != x.want {
			t.Errorf("%q %q: %s", x.answers, x.state, got)
		}
	}
}

func bytesOrNil(s string) []byte {
	if s == "" {
		return nil
	}
	return []byte(s)
}

// Arguments that are no object are not sent.
func TestArgumentsAreAnObject(t *testing.T) {
	server := toolserver.New("s", "1")
	server.Add(wire.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) {
		t.Error("the tool was called")
		return toolserver.TextResult("done"), nil
	})
	s, err := Connect(t.Context(), Spec{Name: "s", Local: server.Pipe}, Hooks{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, args := range []string{`[]`, `"x"`, `1`, ``} {
		_, err := s.Call(t.Context(), "t", json.RawMessage(args), nil)
		if e, ok := errors.AsType[*wire.NoReplyError](err); !ok || e.Message != "not one JSON object" || e.Sent {
			t.Errorf("%s: %+v", args, err)
		}
	}
}

// While a person answers what the server asks, the call has all its time: only a
// silence after that ends it.
func TestCallWaitsWhileSomebodyIsAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSession(Spec{Name: "s", ToolTimeout: 10 * time.Second}, Hooks{}, nil)
		s.ready.Store(true)
		ctx, _, stop := s.watch(t.Context())
		defer stop()
		s.asking.Add(1)
		time.Sleep(35 * time.Second)
		s.asking.Add(-1)
		if synctest.Wait(); ctx.Err() != nil {
			t.Fatal("the call has ended")
		}
		time.Sleep(11 * time.Second)
		if want := (TimeoutError{Limit: 10 * time.Second}); context.Cause(ctx) != want {
			t.Errorf("%v, want %v", context.Cause(ctx), want)
		}
	})
}

// A sleep of the reader of our output that was over before a progress does not make
// the time after it longer.
func TestProgressAfterOutputWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var waited atomic.Int64
		s := newSession(Spec{Name: "s", ToolTimeout: 10 * time.Second}, Hooks{OutputWait: func() time.Duration { return time.Duration(waited.Load()) }}, nil)
		s.ready.Store(true)
		ctx, alive, stop := s.watch(t.Context())
		defer stop()
		time.Sleep(5 * time.Second)
		waited.Store(int64(time.Hour))
		alive()
		time.Sleep(11 * time.Second)
		if synctest.Wait(); ctx.Err() == nil {
			t.Error("the deadline has not expired")
		}
	})
}

// A progress that comes while the time for it ends does not make the error speak of
// the time for the whole call.
func TestProgressTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit = 10 * time.Second
		began, asked := time.Now(), 0
		given := make(chan func(), 1)
		s := newSession(Spec{Name: "s", ToolTimeout: limit}, Hooks{OutputWait: func() time.Duration {
			if time.Since(began) >= limit {
				if asked++; asked == 2 { // after the limit of silence
					(<-given)()
				}
			}
			return 0
		}}, nil)
		s.ready.Store(true)
		ctx, progress, stop := s.watch(t.Context())
		defer stop()
		given <- progress
		<-ctx.Done()
		if want := (TimeoutError{Limit: limit}); context.Cause(ctx) != want {
			t.Errorf("%v, want %v", context.Cause(ctx), want)
		}
	})
}

// Only of a server in this process it is known that its text says all that is structured.
func TestTextComplete(t *testing.T) {
	server := toolserver.New("s", "1")
	server.Add(wire.Tool{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) {
		return &wire.Result{Content: toolserver.TextResult("the text").Content, Structured: json.RawMessage(`{"n":17}`)}, nil
	})
	local, err := Connect(t.Context(), Spec{Name: "s", Local: server.Pipe}, Hooks{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	if got := called(t, local, "t", `{}`); strings.Contains(got, "17") {
		t.Errorf("in this process: %q", got)
	}
	web := serveWeb(t, instead(modernWeb, "tools/call", func(w http.ResponseWriter, r webRequest) {
		sendJSON(w, 200, r.reply(`{"resultType":"complete","content":[{"type":"text","text":"the text"}],"structuredContent":{"n":17}}`))
	}))
	remote, _ := connect(t, Spec{URL: web.URL})
	if got := called(t, remote, "t", `{}`); !strings.Contains(got, "17") {
		t.Errorf("elsewhere: %q", got)
	}
}

// A result that is none has come all the same: the tool has run.
func TestResultThatIsNone(t *testing.T) {
	web := serveWeb(t, instead(modernWeb, "tools/call", func(w http.ResponseWriter, r webRequest) {
		sendJSON(w, 200, r.reply(`17`))
	}))
	s, _ := connect(t, Spec{URL: web.URL})
	if e := callFails(t, s, "t", `{}`); !e.Sent || e.RPC || errors.Unwrap(errors.Unwrap(e)) == nil || !strings.HasPrefix(e.Message, `server "peer", tool "t": `) {
		t.Errorf("%+v", e)
	}
}
