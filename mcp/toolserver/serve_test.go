package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/mcp/wire"
)

// example is a server with a tool for each way in which a call may end.
func example() *Server {
	s := New("example", "1.2")
	tool := func(name string, fn ToolFunc) { s.Add(wire.Tool{Name: name}, fn) }
	tool("echo", func(_ context.Context, args json.RawMessage, _ func(wire.Progress)) (*wire.Result, error) {
		return TextResult(string(args)), nil
	})
	tool("object", func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) {
		return &wire.Result{Content: TextResult("n is 1").Content, Structured: json.RawMessage(`{"n":1}`)}, nil
	})
	tool("list", func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) {
		return &wire.Result{Structured: json.RawMessage(`[1]`)}, nil
	})
	tool("odd blocks", func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) {
		return wire.ReadResult([]byte(`{"content":[5,null,["x"],"a",{"type":"new"}]}`))
	})
	tool("nothing", func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) { return nil, nil })
	tool("fails", func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) {
		return nil, errors.New("no such file")
	})
	tool("panics", func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) { panic("a secret") })
	tool("progresses", func(_ context.Context, _ json.RawMessage, progress func(wire.Progress)) (*wire.Result, error) {
		progress(wire.Progress{Progress: json.RawMessage("1"), Total: json.RawMessage("2.5"), Message: "\"half\""})
		progress(wire.Progress{})
		return TextResult("done"), nil
	})
	return s
}

// exchange is what a server answers to the lines of a stream, a line each.
func exchange(t *testing.T, s *Server, lines ...string) string {
	t.Helper()
	var out bytes.Buffer
	if err := s.Serve(t.Context(), 0, strings.NewReader(strings.Join(lines, "\n")), &out, wire.ShutdownGrace); err != nil {
		t.Error(err)
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func TestRequests(t *testing.T) {
	const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	request := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":"r","method":"` + method + `","params":{` + params + `}}`
	}
	result := func(of string) string { return `{"jsonrpc":"2.0","id":"r","result":` + of + `}` }
	failure := func(of string) string { return `{"jsonrpc":"2.0","id":"r","error":` + of + `}` }
	call := func(tool, rest string) string { return request("tools/call", `"name":"`+tool+`"`+rest) }
	for _, c := range []struct{ name, in, want string }{
		{"initialize", request("initialize", `"protocolVersion":"2025-03-26"`), result(`{"protocolVersion":"2025-03-26","capabilities":{"tools":{}},"serverInfo":{"name":"example","version":"1.2"}}`)},
		{"an unknown revision", request("initialize", `"protocolVersion":"1999-01-01"`), result(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"example","version":"1.2"}}`)},
		{"discover", request("server/discover", modern), result(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","supportedVersions":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"],` +
			`"capabilities":{"tools":{}},"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"example","version":"1.2"}}}`)},
		{"another version", request("tools/list", `"_meta":{"io.modelcontextprotocol/protocolVersion":"2027-01-01"}`), failure(`{"code":-32022,"message":"unsupported protocol version",` +
			`"data":{"requested":"2027-01-01","supported":["2026-07-28","2025-11-25","2025-06-18","2025-03-26","2024-11-05"]}}`)},
		{"ping", request("ping", ""), result("{}")},
		{"a ping that 2026-07-28 does not have", request("ping", modern), failure(`{"code":-32601,"message":"no method \"ping\""}`)},
		{"initialize in 2026-07-28", request("initialize", modern), failure(`{"code":-32601,"message":"no method \"initialize\""}`)},
		{"a request of 2026-07-28 without capabilities", request("tools/list", `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`), failure(`{"code":-32602,"message":"_meta has no io.modelcontextprotocol/clientCapabilities"}`)},
		{"an unknown method", request("tools/none", ""), failure(`{"code":-32601,"message":"no method \"tools/none\""}`)},
		{"a notification", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""},
		{"an answer", result("{}"), ""},
		{"not JSON", `{"jsonrpc":`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"a value is missing at the end at byte 11"}}`},
		{"a batch", "[" + request("ping", "") + "," + request("ping", "") + "]", result("{}") + "\n" + result("{}")},
		{"a call", call("echo", `,"arguments":{"b":1,"a":"\u00e9"}`), result(`{"content":[{"type":"text","text":"{\"b\":1,\"a\":\"\\u00e9\"}"}]}`)},
		{"a modern call", call("echo", `,"arguments":{},`+modern), result(`{"resultType":"complete","content":[{"type":"text","text":"{}"}]}`)},
		{"no arguments", call("echo", ""), result(`{"content":[{"type":"text","text":"{}"}]}`)},
		{"arguments of another kind", call("echo", `,"arguments":[1]`), failure(`{"code":-32602,"message":"arguments are not an object"}`)},
		{"an object", call("object", ""), result(`{"content":[{"type":"text","text":"n is 1"}],"structuredContent":{"n":1}}`)},
		{"a list, which only 2026-07-28 knows", call("list", ""), result(`{"content":[{"type":"text","text":"[1]"}]}`)},
		{"a list in 2026-07-28", call("list", ","+modern), result(`{"resultType":"complete","content":[],"structuredContent":[1]}`)},
		{"blocks that are no objects", call("odd blocks", ""), result(`{"content":[` + strings.Repeat(`{"type":"text","text":"[unsupported content: ]"},`, 3) + `{"type":"text","text":"a"},{"type":"new"}]}`)},
		{"no result", call("nothing", ""), result(`{"content":[]}`)},
		{"a tool that fails", call("fails", ""), result(`{"content":[{"type":"text","text":"no such file"}],"isError":true}`)},
		{"an unknown tool", call("none", ""), failure(`{"code":-32602,"message":"server \"example\" has no tool \"none\""}`)},
		{"progress", call("progresses", `,"_meta":{"progressToken":7}`), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1,"total":2.5,"message":"\"half\""}}` + "\n" +
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":0}}` + "\n" + result(`{"content":[{"type":"text","text":"done"}]}`)},
		{"progress that is not asked for", call("progresses", ""), result(`{"content":[{"type":"text","text":"done"}]}`)},
	} {
		if got := exchange(t, example(), c.in); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
	}
	if got := exchange(t, example(), call("panics", "")); !strings.Contains(got, `"code":-32603,"message":"defect in tool \"panics\": panic`) || strings.Contains(got, "secret") {
		t.Errorf("a panic: %s", got)
	}
}

// A call without a client has the result that a client would have read.
func TestCallWithoutClient(t *testing.T) {
	s := example()
	r, err := s.Call(t.Context(), "echo", json.RawMessage(`{}`), nil)
	if err != nil || string(r.Raw) != `[{"type":"text","text":"{}"}]` || r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := s.Call(t.Context(), "fails", nil, nil); err != nil || string(r.Raw) != `[{"type":"text","text":"no such file"}]` || !r.IsError {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := s.Call(t.Context(), "none", nil, nil); err == nil || !strings.Contains(err.Error(), `has no tool "none"`) {
		t.Error(err)
	}
}

func TestListing(t *testing.T) {
	s := New("s", "1")
	s.Instructions = "Be \"brief\"."
	none := func(context.Context, json.RawMessage, func(wire.Progress)) (*wire.Result, error) { return nil, nil }
	s.Add(wire.Tool{Name: "a", Title: "A", Description: "d", InputSchema: json.RawMessage(`{ "type":"object" }`), OutputSchema: json.RawMessage(`{"type":"object"}`), Annotations: json.RawMessage(`{"x":1}`)}, none)
	s.Add(wire.Tool{Name: "b", Annotations: json.RawMessage(`{"readOnlyHint":true}`)}, none)
	want := `"tools":[{"name":"a","title":"A","description":"d","inputSchema":{ "type":"object" },"outputSchema":{"type":"object"},"annotations":{"x":1}},` +
		`{"name":"b","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}}]}`
	if got := exchange(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`); got != `{"jsonrpc":"2.0","id":1,"result":{`+want+`}` {
		t.Errorf("%s", got)
	}
	got := exchange(t, s, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`)
	if got != `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","ttlMs":0,"cacheScope":"private",`+want+`}` {
		t.Errorf("%s", got)
	}
	for _, method := range []string{"initialize", "server/discover"} {
		if got := exchange(t, s, `{"jsonrpc":"2.0","id":1,"method":"`+method+`"}`); !strings.Contains(got, `"instructions":"Be \"brief\"."`) {
			t.Errorf("%s: %s", method, got)
		}
	}
}

// waits is a server whose tool says that it has begun, and ends with its context.
func waits() (s *Server, begun chan any) {
	s, begun = New("waits", "1"), make(chan any, 10)
	s.Add(wire.Tool{Name: "wait"}, func(ctx context.Context, _ json.RawMessage, _ func(wire.Progress)) (*wire.Result, error) {
		begun <- ctx.Value(contextKey{})
		<-ctx.Done()
		begun <- "ended"
		return TextResult("late"), nil
	})
	return s, begun
}

type contextKey struct{}

const waitCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}`

func send(t *testing.T, p wire.Transport, ctx context.Context, message string) {
	t.Helper()
	if err := p.Send(ctx, []byte(message)); err != nil {
		t.Fatal(err)
	}
}

// A call sees the values of the context it was sent with, ends when it is
// cancelled, and then has no answer. One with the id of a call that runs is no
// second call.
func TestCancel(t *testing.T) {
	s, begun := waits()
	p := s.Pipe()
	defer p.Close()
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), contextKey{}, "value"))
	send(t, p, ctx, waitCall)
	cancel()
	if got := <-begun; got != "value" {
		t.Errorf("the call sees %v", got)
	}
	send(t, p, t.Context(), waitCall)
	send(t, p, t.Context(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	if got := <-begun; got != "ended" {
		t.Errorf("another call began: %v", got)
	}
	send(t, p, t.Context(), `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	if got, err := p.Receive(); err != nil || string(got) != `{"jsonrpc":"2.0","id":2,"result":{}}` {
		t.Errorf("%s, %v", got, err)
	}
}

// Close ends the calls that run. After it nothing is sent or received.
func TestPipeClose(t *testing.T) {
	s, begun := waits()
	p := s.Pipe()
	send(t, p, t.Context(), waitCall)
	<-begun
	p.Close()
	if got := <-begun; got != "ended" {
		t.Errorf("%v", got)
	}
	p.Close()
	if got, err := p.Receive(); err != io.EOF {
		t.Errorf("received %s, %v", got, err)
	}
	if err := p.Send(t.Context(), []byte(waitCall)); !errors.Is(err, wire.ErrNotSent) || !errors.Is(err, wire.ErrGone) {
		t.Errorf("sent after the end: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Pipe().Send(ended, []byte(waitCall)); !errors.Is(err, wire.ErrNotSent) {
		t.Errorf("sent with a context that has ended: %v", err)
	}
}

// At the end of the stream a call has a moment to finish; after that it is
// cancelled, and what it says then is still written.
func TestServeEnd(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		want  string
	}{{wire.ShutdownGrace / 2, "done"}, {time.Hour, "cut"}} {
		synctest.Test(t, func(t *testing.T) {
			s := New("s", "1")
			s.Add(wire.Tool{Name: "wait"}, func(ctx context.Context, _ json.RawMessage, _ func(wire.Progress)) (*wire.Result, error) {
				select {
				case <-time.After(c.takes):
					return TextResult("done"), nil
				case <-ctx.Done():
					return TextResult("cut"), nil
				}
			})
			began := time.Now()
			if got := exchange(t, s, waitCall); got != `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"`+c.want+`"}]}}` || time.Since(began) > 2*wire.ShutdownGrace {
				t.Errorf("a call that takes %v: %q after %v", c.takes, got, time.Since(began))
			}
		})
	}
}

// When as many calls run as may, the next one is refused until one of them ends; the
// client is read on.
func TestManyCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, running := New("s", "1"), atomic.Int64{}
		s.Add(wire.Tool{Name: "wait"}, func(ctx context.Context, _ json.RawMessage, _ func(wire.Progress)) (*wire.Result, error) {
			running.Add(1)
			defer running.Add(-1)
			<-ctx.Done()
			return nil, nil
		})
		p := s.Pipe()
		call := func(id int) {
			send(t, p, t.Context(), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait"}}`, id))
			synctest.Wait()
		}
		for id := range maxRunning + 1 {
			call(id)
		}
		if n := running.Load(); n != maxRunning {
			t.Errorf("%d calls run", n)
		}
		if got, err := p.Receive(); err != nil || !strings.HasPrefix(string(got), fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":-32000,"message":"busy: 1024 `, maxRunning)) {
			t.Errorf("%s, %v", got, err)
		}
		send(t, p, t.Context(), `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
		synctest.Wait()
		call(maxRunning + 1)
		if n := running.Load(); n != maxRunning {
			t.Errorf("after the end of one, %d calls run", n)
		}
		send(t, p, t.Context(), `{"jsonrpc":"2.0","id":1,"method":"`+strings.Repeat("x", 50<<20)+`"}`)
		if got, err := p.Receive(); err != nil || !strings.Contains(string(got), "more than 1024 bytes") || len(got) > 200 {
			t.Errorf("%.200s, %v", got, err)
		}
		p.Close()
		synctest.Wait()
		if n := running.Load(); n != 0 {
			t.Errorf("after the end, %d calls run", n)
		}
	})
}

// A client that does not read loses progress beyond a bound, but no answer.
func TestSlowReceiver(t *testing.T) {
	s, told := New("s", "1"), make(chan bool)
	s.Add(wire.Tool{Name: "wait"}, func(_ context.Context, _ json.RawMessage, progress func(wire.Progress)) (*wire.Result, error) {
		for range 2 * maxQueued {
			progress(wire.Progress{})
		}
		close(told)
		return TextResult("done"), nil
	})
	p := s.Pipe()
	defer p.Close()
	send(t, p, t.Context(), strings.Replace(waitCall, `"name"`, `"_meta":{"progressToken":1},"name"`, 1))
	<-told
	for n := range maxQueued + 1 {
		got, err := p.Receive()
		if err != nil || bytes.Contains(got, []byte("done")) != (n == maxQueued) {
			t.Fatalf("message %d: %s, %v", n, got, err)
		}
	}
}

// An error of the writer is Serve's.
func TestServeWriteError(t *testing.T) {
	err := New("s", "1").Serve(t.Context(), 0, strings.NewReader(`{"jsonrpc":"2.0","id":2,"method":"ping"}`), broken{}, wire.ShutdownGrace)
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
