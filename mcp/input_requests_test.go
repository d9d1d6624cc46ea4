package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// asking answers the first call with input_required and the next with what it
// was told.
func asking(input string) webHandler {
	n := 0
	return instead(modernWeb, "tools/call", func(w http.ResponseWriter, r webRequest) {
		if n++; n == 1 {
			sendJSON(w, 200, r.reply(`{"resultType":"input_required","content":null,`+input+`}`))
			return
		}
		said := fmt.Sprintf("%s %s", jsontext.Member(r.Params, "inputResponses"), jsontext.Member(r.Params, "requestState"))
		sendJSON(w, 200, r.reply(fmt.Sprintf(`{"resultType":"complete","content":[{"type":"text","text":%s}]}`, jsontext.Quoted(said))))
	})
}

const form = `{"type":"object","properties":{"name":{"type":"string","default":"Zoë"},"age":{"type":"integer","default":30},"note":{"type":"string"}},"required":["name"]}`

func question(schema string) string {
	return `"inputRequests":{"k\u0031":{"method":"elicitation/create","params":{"message":"who?","requestedSchema":` + schema + `}}}`
}

func TestRounds(t *testing.T) {
	state := `"requestState":"a\u0000b\/\"c"`
	tests := []struct {
		name, input, elicit, want string
	}{
		{"state only", state, "", ` "a\u0000b\/\"c"`},
		{"no state", question(form), "defaults", `{"k\u0031":{"action":"accept","content":{"name":"Zoë","age":30}}} `},
		{"both", question(form) + "," + state, "defaults", `{"k\u0031":{"action":"accept","content":{"name":"Zoë","age":30}}} "a\u0000b\/\"c"`},
		{"required without default", question(strings.Replace(form, `["name"]`, `["note"]`, 1)), "defaults", `{"k\u0031":{"action":"cancel"}} `},
		{"decline", question(form), "decline", `{"k\u0031":{"action":"decline"}} `},
		{"not declared", question(form), "off", `{"k\u0031":{"action":"decline"}} `},
		{"a URL", `"inputRequests":{"u":{"method":"elicitation/create","params":{"mode":"url","url":"https://x.test"}}}`, "defaults", `{"u":{"action":"decline"}} `},
		{"sampling", `"inputRequests":{"s":{"method":"sampling/createMessage","params":{}}}`, "defaults", `error: the server asked for "sampling/createMessage", which toolpipe does not offer`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			web := serveWeb(t, asking(tt.input))
			s, _ := connect(t, Spec{URL: web.URL, Elicit: tt.elicit})
			if got := called(t, s, "t", `{"a":1}`); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			calls := web.got("tools/call")
			if strings.HasPrefix(tt.want, "error") {
				return
			}
			if len(calls) != 2 || string(calls[0].ID) == string(calls[1].ID) || string(jsontext.Member(calls[1].Params, "arguments")) != `{"a":1}` {
				t.Fatalf("calls: %+v", calls)
			}
			called(t, s, "t", `{}`)
			if next := web.got("tools/call")[2]; jsontext.Member(next.Params, "inputResponses") != nil || jsontext.Member(next.Params, "requestState") != nil {
				t.Errorf("leaked into another call: %s", next.Params)
			}
			declared := string(jsontext.Member(calls[0].Params, "_meta", "io.modelcontextprotocol/clientCapabilities"))
			if want := map[bool]string{true: `{"elicitation":{"form":{}},` + extensions + `}`, false: `{` + extensions + `}`}[tt.elicit == "defaults" || tt.elicit == "decline"]; declared != want {
				t.Errorf("capabilities %s, want %s", declared, want)
			}
		})
	}
}

func TestEndlessRounds(t *testing.T) {
	t.Parallel()
	web := serveWeb(t, instead(modernWeb, "tools/call", func(w http.ResponseWriter, r webRequest) {
		sendJSON(w, 200, r.reply(`{"resultType":"input_required","requestState":"again"}`))
	}))
	s, _ := connect(t, Spec{URL: web.URL})
	if e := callFails(t, s, "t", `{}`); e.RPC || !strings.Contains(e.Message, "without an end") {
		t.Errorf("%+v", e)
	}
	if n := len(web.got("tools/call")); n != maxRounds {
		t.Errorf("%d rounds", n)
	}
}

// TestAsk: a person's answer goes to the server, and only an object may.
func TestAsk(t *testing.T) {
	for answer, want := range map[string]string{
		`accept {"name":"x"}`: `{"k\u0031":{"action":"accept","content":{"name":"x"}}} `,
		`accept "x"`:          `{"k\u0031":{"action":"decline"}} `,
		`cancel null`:         `{"k\u0031":{"action":"cancel"}} `,
		`decline null`:        `{"k\u0031":{"action":"decline"}} `,
	} {
		web := serveWeb(t, asking(question(form)))
		hooks := Hooks{Elicit: func(_ context.Context, asked wire.Form) (string, []byte) {
			message, schema := asked.Message, asked.Schema
			if message != "who?" || string(schema) != form {
				t.Errorf("asked %q with %s", message, schema)
			}
			action, content, _ := strings.Cut(answer, " ")
			return action, json.RawMessage(content)
		}}
		s, err := Connect(bounded(t), Spec{Name: "peer", URL: web.URL, Elicit: "ask"}, hooks, &process.Processes{})
		if err != nil {
			t.Fatal(err)
		}
		if got := called(t, s, "t", `{}`); got != want {
			t.Errorf("%s: got %s, want %s", answer, got, want)
		}
		s.Close()
	}
}

// TestLegacyElicitation: the question comes on the stream that belongs to no
// request, as SDKs of 2025-11-25 send it.
func TestLegacyElicitation(t *testing.T) {
	opened, answer := make(chan func(string), 1), make(chan string, 1)
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		switch {
		case r.verb == http.MethodGet:
			sendSSE(w, ": open\n\n")
			w.(http.Flusher).Flush()
			done := make(chan struct{})
			opened <- func(ev string) {
				io.WriteString(w, ev)
				w.(http.Flusher).Flush()
				close(done)
			}
			<-done
		case r.Method == nil && r.ID != nil:
			w.WriteHeader(202)
			result, _ := r.Result()
			answer <- string(result)
		case jsontext.Text(r.Method) == "tools/call":
			(<-opened)(`data: {"jsonrpc":"2.0","id":0,"method":"elicitation/create","params":{"message":"who?","requestedSchema":` + form + "}}\n\n")
			sendJSON(w, 200, r.reply(fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, jsontext.Quoted(<-answer))))
		default:
			legacyWeb(w, r)
		}
	})
	s, _ := connect(t, Spec{URL: web.URL, Elicit: "defaults"})
	if got, want := called(t, s, "t", `{}`), `{"action":"accept","content":{"name":"Zoë","age":30}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestQuietStreamIsOpenedAgain: a proxy that ends a stream on which nothing comes does
// not end the listening.
func TestQuietStreamIsOpenedAgain(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	again := make(chan struct{})
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		if r.verb != http.MethodGet {
			legacyWeb(w, r)
			return
		}
		if opened.Add(1) == listenTries+1 {
			close(again)
		}
		sendSSE(w, ": open\n\n")
		w.(http.Flusher).Flush()
		time.Sleep(listenOpening + listenOpening/10)
	})
	connect(t, Spec{URL: web.URL, Elicit: "defaults"})
	if !goroutine.Await(again, hang) {
		t.Errorf("the stream was opened %d times", opened.Load())
	}
}

// TestElicitationBelongsToACall: a server may ask only while a request of ours
// is in progress, and its form is cancelled when that ends.
func TestElicitationBelongsToACall(t *testing.T) {
	asked, shown, over := make(chan func(string), 1), make(chan bool), make(chan error, 1)
	answers := make(chan string, 1)
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		switch {
		case r.verb == http.MethodGet:
			sendSSE(w, ": open\n\n")
			w.(http.Flusher).Flush()
			asked <- func(id string) {
				io.WriteString(w, `data: {"jsonrpc":"2.0","id":`+id+`,"method":"elicitation/create","params":{"message":"who?","requestedSchema":`+form+"}}\n\n")
				w.(http.Flusher).Flush()
			}
			<-t.Context().Done()
		case r.Method == nil && r.ID != nil:
			w.WriteHeader(202)
			answers <- r.body
		case jsontext.Text(r.Method) == "tools/call":
			ask := <-asked
			asked <- ask
			ask(`"in"`)
			<-shown
			sendJSON(w, 200, r.reply(`{"content":[]}`)) // without waiting for the answer
		default:
			legacyWeb(w, r)
		}
	})
	hooks := Hooks{Elicit: func(ctx context.Context, _ wire.Form) (string, []byte) {
		shown <- true
		<-ctx.Done()
		over <- context.Cause(ctx)
		return "cancel", nil
	}}
	s, err := Connect(bounded(t), Spec{Name: "peer", URL: web.URL, Elicit: "ask"}, hooks, &process.Processes{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ask := <-asked
	asked <- ask
	ask(`"before"`)
	if got := <-answers; !strings.Contains(got, `"id":"before"`) || !strings.Contains(got, "-32602") {
		t.Errorf("before the call: %s", got)
	}
	called(t, s, "t", `{}`)
	<-over
	if got := <-answers; !strings.Contains(got, `"id":"in"`) || !strings.Contains(got, `{"action":"cancel"}`) {
		t.Errorf("in the call: %s", got)
	}
	ask(`"after"`)
	if got := <-answers; !strings.Contains(got, `"id":"after"`) || !strings.Contains(got, "-32602") {
		t.Errorf("after the call: %s", got)
	}
}

func TestURLElicitationIsShown(t *testing.T) {
	web := serveWeb(t, instead(legacyWeb, "tools/call", func(w http.ResponseWriter, r webRequest) {
		sendJSON(w, 200, r.refuse(wire.CodeURLElicitation, "sign in first", `{"elicitations":[{"mode":"url","url":"https://x.test/login","message":"Log in"}]}`))
	}))
	s, _ := connect(t, Spec{URL: web.URL})
	if e := callFails(t, s, "t", `{}`); !e.RPC || !strings.Contains(e.Message, "https://x.test/login (Log in)") {
		t.Errorf("%+v", e)
	}
}

// Only a server of 2026-07-28 may ask for input in a result. From any other it is an
// answer that nobody can read: the tool may have run.
func TestInputOfLegacyServer(t *testing.T) {
	web := serveWeb(t, instead(legacyWeb, "tools/call", func(w http.ResponseWriter, r webRequest) {
		sendJSON(w, 200, r.reply(`{"resultType":"input_required","requestState":"again"}`))
	}))
	s, _ := connect(t, Spec{URL: web.URL})
	if e := callFails(t, s, "t", `{}`); !e.Sent || e.RPC || !strings.Contains(e.Message, "input_required") {
		t.Errorf("%+v", e)
	}
	if n := len(web.got("tools/call")); n != 1 {
		t.Errorf("%d rounds", n)
	}
}

// A run that ends between two rounds sends no other. The tool has not run.
func TestEndBetweenRounds(t *testing.T) {
	ended := errors.New("the run has ended")
	ctx, cancel := context.WithCancelCause(bounded(t))
	web := serveWeb(t, asking(question(form)))
	hooks := Hooks{Elicit: func(context.Context, wire.Form) (string, []byte) {
		cancel(ended)
		return "accept", []byte("{}")
	}}
	s, err := Connect(bounded(t), Spec{Name: "peer", URL: web.URL, Elicit: "ask"}, hooks, &process.Processes{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if e := callFailsWith(t, ctx, s, "t", `{}`); e.Sent || e.RPC || !errors.Is(e, ended) || e.Message != ended.Error() {
		t.Errorf("%+v", e)
	}
	if n := len(web.got("tools/call")); n != 1 {
		t.Errorf("%d rounds", n)
	}
}
