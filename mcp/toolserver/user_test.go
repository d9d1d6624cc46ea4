package toolserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/mcp/wire"
)

// asking is a server whose every call asks the user, within a minute, and answers with what
// came of that.
func asking() *Server {
	s := New("s", "1")
	s.Front = &Front{Call: func(ctx context.Context, c *HostCall) func() (*wire.Result, error) {
		return func() (*wire.Result, error) {
			if c.Ask == nil {
				return TextResult("cannot ask"), nil
			}
			limited, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("too late"))
			defer cancel()
			answer, err := c.Ask(limited, wire.Form{Message: "Sure?", Schema: []byte(`{"type":"object"}`)})
			return TextResult(fmt.Sprintf("%s %s %v", answer.Action, answer.Content, err)), nil
		}
	}}
	return s
}

// talk serves s and gives the functions that write a line to it and read the next that is
// not progress.
func talk(t *testing.T, s *Server) (say func(string), hear func() string, progress *int) {
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	lines := bufio.NewScanner(fromServer)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Serve(t.Context(), 0, in, out, time.Second)
		out.Close()
	}()
	t.Cleanup(func() {
		toServer.Close()
		go io.Copy(io.Discard, fromServer)
		<-done
	})
	progress = new(int)
	hear = func() string {
		for lines.Scan() {
			if !strings.Contains(lines.Text(), "notifications/progress") {
				return lines.Text()
			}
			*progress++
		}
		return "the end"
	}
	return func(line string) { io.WriteString(toServer, line+"\n") }, hear, progress
}

const (
	legacyHost = `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"capabilities":{"elicitation":{}}}}`
	aCall      = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"x","_meta":{"progressToken":1}}}`
)

// TestNoAnswer: a legacy client that gives no answer hears that the question is open, and
// then that it is no longer asked.
func TestNoAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		say, hear, progress := talk(t, asking())
		say(legacyHost)
		hear()
		began := time.Now()
		say(aCall)
		if got := hear(); !strings.Contains(got, `"id":1,"method":"elicitation/create"`) {
			t.Error(got)
		}
		if got := hear(); !strings.Contains(got, `"method":"notifications/cancelled","params":{"requestId":1`) {
			t.Error(got)
		}
		if got := hear(); !strings.Contains(got, "too late") || time.Since(began) != time.Minute || *progress < 5 {
			t.Errorf("%s after %v, %d times progress", got, time.Since(began), *progress)
		}
		say(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}`) // too late, and ignored
		say(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)
		if got := hear(); got != `{"jsonrpc":"2.0","id":8,"result":{}}` {
			t.Error(got)
		}
	})
}

// TestOneQuestionAtATime: a legacy client gets the second question after its answer to
// the first. The result of the first call may come before that question or after it.
func TestOneQuestionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		say, hear, _ := talk(t, asking())
		say(legacyHost)
		hear()
		say(aCall)
		say(strings.Replace(aCall, `"id":7`, `"id":8`, 1))
		expect := func(lines ...string) {
			for range lines {
				got := hear()
				known := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(got, line) })
				if known < 0 {
					t.Fatalf("%s, want one of %q", got, lines)
				}
				lines[known] = "once only"
			}
		}
		expect(`"id":1,"method":"elicitation/create"`)
		say(`{"jsonrpc":"2.0","id":9,"method":"ping"}`)
		expect(`"id":9,"result":{}`) // and no second question
		say(`{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"a":1}}}`)
		expect(`accept {\"a\":1} <nil>`, `"id":2,"method":"elicitation/create"`)
		say(`{"jsonrpc":"2.0","id":2,"result":{"action":"accept","content":{"a":2}}}`)
		expect(`accept {\"a\":2} <nil>`)
	})
}

// TestModernHostThatDoesNotComeBack: its call ends without an answer, and a state that is
// too late is refused.
func TestModernHostThatDoesNotComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		say, hear, _ := talk(t, asking())
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
		say(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x",` + meta + `}}`)
		got := hear()
		_, state, _ := strings.Cut(got, `"requestState":"`)
		state, _, _ = strings.Cut(state, `"`)
		if state == "" {
			t.Fatal(got)
		}
		time.Sleep(2 * time.Minute)
		say(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"x","requestState":"` + state + `","inputResponses":{"question":{"action":"accept"}},` + meta + `}}`)
		if got := hear(); !strings.Contains(got, `"id":2,"error":{"code":-32602`) {
			t.Error(got)
		}
		// An answer that is missing is asked for again, with another state.
		say(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x",` + meta + `}}`)
		_, state, _ = strings.Cut(hear(), `"requestState":"`)
		state, _, _ = strings.Cut(state, `"`)
		say(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"x","requestState":"` + state + `",` + meta + `}}`)
		if got := hear(); !strings.Contains(got, `"id":4,"result":{"resultType":"input_required"`) || strings.Contains(got, state) {
			t.Error(got)
		}
	})
}

func TestDeclaresForms(t *testing.T) {
	for message, want := range map[string]bool{
		legacyHost: true,
		`{"method":"initialize","params":{"capabilities":{"elicitation":{"form":{}}}}}`:                                     true,
		`{"method":"initialize","params":{"capabilities":{"elicitation":{"url":{}}}}}`:                                      false,
		`{"method":"initialize","params":{"capabilities":{"elicitation":true}}}`:                                            false,
		`{"method":"initialize","params":{"capabilities":{}}}`:                                                              false,
		`{"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}}}`: true,
		"": false, "[]": false, "{": false,
	} {
		if got := DeclaresForms([]byte(message)); got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
}

// TestListen: a client of 2026-07-28 hears of what it has asked for, under the id of its
// own request, until it cancels that or the server ends.
func TestListen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := asking()
		var subscribed []string
		s.Front.ToolsChange = true
		s.Front.Subscribe = func(_ context.Context, uri string, on bool) error {
			if uri == "none" {
				return errors.New("no such resource")
			}
			subscribed = append(subscribed, fmt.Sprint(uri, on))
			return nil
		}
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		lines := bufio.NewScanner(fromServer)
		ended := make(chan error, 1)
		go func() { ended <- s.Serve(t.Context(), 0, in, out, time.Second); out.Close() }()
		say := func(line string) { io.WriteString(toServer, line+"\n") }
		hear := func() string { lines.Scan(); return lines.Text() }
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
		expect := func(want string) {
			t.Helper()
			if got := hear(); got != want {
				t.Errorf("%s\nwant %s", got, want)
			}
		}
		say(`{"jsonrpc":"2.0","id":"a","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x","none"]},` + meta + `}}`)
		expect(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"a"},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x"]}}}`)
		say(`{"jsonrpc":"2.0","id":2,"method":"subscriptions/listen","params":{"notifications":{"promptsListChanged":true,"resourceSubscriptions":["x"]},` + meta + `}}`)
		hear()
		s.Replace([]wire.Tool{{Name: "new"}})
		expect(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"a"}}}`)
		s.Announce("notifications/resources/list_changed", []byte("{}")) // which nobody has asked for
		s.Announce("notifications/resources/updated", []byte(`{"uri":"y"}`))
		s.Announce("notifications/resources/updated", []byte(`{"uri":"x","_meta":{"io.modelcontextprotocol/subscriptionId":7}}`))
		expect(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x","_meta":{"io.modelcontextprotocol/subscriptionId":"a"}}}`)
		expect(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x","_meta":{"io.modelcontextprotocol/subscriptionId":2}}}`)
		say(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
		synctest.Wait()
		s.Announce("notifications/prompts/list_changed", []byte("{}"))
		s.Announce(listChanged, []byte("{}"))
		expect(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"a"}}}`)
		toServer.Close()
		expect(`{"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"a"}}}`)
		err := <-ended
		synctest.Wait()
		if err != nil || strings.Join(subscribed, " ") != "xtrue xfalse" {
			t.Errorf("%v, %q", err, subscribed)
		}
	})
}
