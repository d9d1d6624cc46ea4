package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// listing answers tools/list with pages chosen by the cursor.
func listing(base webHandler, pages func(cursor string) string) webHandler {
	return instead(base, "tools/list", func(w http.ResponseWriter, r webRequest) {
		sendJSON(w, 200, r.reply(pages(string(jsontext.Member(r.Params, "cursor")))))
	})
}

func namedTools(names ...string) string {
	var list []string
	for _, n := range names {
		list = append(list, fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object"}}`, n))
	}
	return `"tools":[` + strings.Join(list, ",") + `]`
}

func TestPages(t *testing.T) {
	var n atomic.Int32
	tests := []struct {
		name  string
		base  webHandler
		pages func(cursor string) string
		want  string
	}{
		{"two", legacyWeb, func(c string) string {
			if c == `"p2"` {
				return "{" + namedTools("b") + "}"
			}
			return "{" + namedTools("a") + `,"nextCursor":"p2"}`
		}, "a b"},
		{"null ends", legacyWeb, func(string) string { return "{" + namedTools("a") + `,"nextCursor":null}` }, "a"},
		{"empty ends a legacy list", legacyWeb, func(string) string { return "{" + namedTools("a") + `,"nextCursor":""}` }, "a"},
		{"empty is a modern cursor", modernWeb, func(c string) string {
			if c == `""` {
				return "{" + namedTools("b") + "}"
			}
			return "{" + namedTools("a") + `,"nextCursor":""}`
		}, "a b"},
		{"empty for ever", modernWeb, func(c string) string { return "{" + namedTools("a") + `,"nextCursor":""}` }, "a"},
		{"the same cursor for ever", legacyWeb, func(string) string {
			return "{" + namedTools(fmt.Sprint("t", n.Add(1))) + `,"nextCursor":"x"}`
		}, "t1 t2"},
		{"an empty page first", legacyWeb, func(c string) string {
			if c == `"p2"` {
				return "{" + namedTools("a") + "}"
			}
			return `{"tools":[],"nextCursor":"p2"}`
		}, "a"},
		{"nothing new for ever", legacyWeb, func(c string) string {
			return "{" + namedTools("a") + fmt.Sprintf(`,"nextCursor":"x%d"}`, n.Add(1))
		}, "a"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := connect(t, Spec{URL: serveWeb(t, listing(tt.base, tt.pages)).URL})
			if got := toolNames(s); got != tt.want {
				t.Errorf("tools %q, want %q", got, tt.want)
			}
		})
	}
	t.Run("a hundred and more", func(t *testing.T) {
		web := serveWeb(t, listing(legacyWeb, func(string) string {
			k := n.Add(1)
			return "{" + namedTools(fmt.Sprint("t", k)) + fmt.Sprintf(`,"nextCursor":"%d"}`, k)
		}))
		s, rec := connect(t, Spec{URL: web.URL})
		if got := strings.Fields(toolNames(s)); len(got) != maxPages || rec.warned("list_cut") != 1 {
			t.Errorf("%d tools, warnings %q", len(got), rec.warnings)
		}
	})
	t.Run("empty pages without end", func(t *testing.T) {
		web := serveWeb(t, listing(legacyWeb, func(string) string { return fmt.Sprintf(`{"nextCursor":"%d"}`, n.Add(1)) }))
		s, rec := connect(t, Spec{URL: web.URL})
		if got := toolNames(s); got != "" || rec.warned("list_cut") != 1 || len(web.got("tools/list")) != maxPages {
			t.Errorf("tools %q, warnings %q after %d pages", got, rec.warnings, len(web.got("tools/list")))
		}
	})
	t.Run("more tools than there may be", func(t *testing.T) {
		var names []string
		for i := range maxTools + 5 {
			names = append(names, fmt.Sprint("t", i))
		}
		web := serveWeb(t, listing(legacyWeb, func(string) string { return "{" + namedTools(names...) + "}" }))
		s, rec := connect(t, Spec{URL: web.URL})
		if got := strings.Fields(toolNames(s)); len(got) != maxTools || rec.warned("list_cut") != 1 {
			t.Errorf("%d tools, warnings %q", len(got), rec.warnings)
		}
	})
}

// TestBrokenTools: each broken tool is named and left out, the rest stay.
func TestBrokenTools(t *testing.T) {
	nested := strings.Repeat(`{"properties":{"a":`, maxSchemaDepth+1) + "{}" + strings.Repeat("}}", maxSchemaDepth+1)
	many := `{"properties":{` + strings.Repeat(`"a":{},`, maxSchemaNodes) + `"b":{}}}`
	broken := map[string]string{
		"":        `{"name":"","inputSchema":{}}`,
		"remote":  `{"name":"remote","inputSchema":{"properties":{"a":{"$ref":"http://127.0.0.1:1/x.json"}}}}`,
		"file":    `{"name":"file","inputSchema":{"allOf":[{"$ref":"file:///etc/passwd"}]}}`,
		"output":  `{"name":"output","inputSchema":{},"outputSchema":{"items":{"$ref":"other.json"}}}`,
		"deep":    `{"name":"deep","inputSchema":` + nested + `}`,
		"many":    `{"name":"many","inputSchema":` + many + `}`,
		"large":   `{"name":"large","inputSchema":{"description":"` + strings.Repeat("x", maxSchema) + `"}}`,
		"space":   `{"name":"space","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}}`,
		"empty":   `{"name":"empty","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":""}}}}`,
		"number":  `{"name":"number","inputSchema":{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}}`,
		"twice":   `{"name":"twice","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}}`,
		"one-of":  `{"name":"one-of","inputSchema":{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}}`,
		"items":   `{"name":"items","inputSchema":{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}}`,
		"newline": `{"name":"newline","inputSchema":{"properties":{"a":{"type":"string","x-mcp-header":"A\r\nB"}}}}`,
	}
	sound := []string{
		`{"name":"task","inputSchema":{},"execution":{"taskSupport":"required"}}`,
		`{"name":"local","inputSchema":{"$defs":{"a":{}},"properties":{"a":{"$ref":"#/$defs/a"}}}}`,
		`{"name":"own-id","inputSchema":{"$id":"https://x.test/s","properties":{"a":{"$ref":"https://x.test/s#/a"}}}}`,
		`{"name":"data","inputSchema":{"properties":{"$ref":{"type":"string"},"a":{"default":{"$ref":"http://x"},"enum":[{"$ref":"http://x"}]}}}}`,
		`{"name":"header","inputSchema":{"properties":{"a":{"properties":{"b":{"type":"boolean","x-mcp-header":"B"}}}}}}`,
		`{"name":"no-schema"}`,
	}
	list := slices.Clone(sound)
	for _, tool := range broken {
		list = append(list, tool)
	}
	list = append(list, sound[1])
	web := serveWeb(t, listing(modernWeb, func(string) string { return `{"tools":[` + strings.Join(list, ",") + `]}` }))
	s, rec := connect(t, Spec{URL: web.URL})
	if got := toolNames(s); got != "task local own-id data header no-schema" {
		t.Errorf("tools %q", got)
	}
	if n := rec.warned("tool_dropped"); n != len(broken)+1 {
		t.Errorf("%d warnings for %d tools: %q", n, len(broken)+1, rec.warnings)
	}
	for name := range broken {
		if !slices.ContainsFunc(rec.warnings, func(w string) bool { return strings.Contains(w, fmt.Sprintf("tool %q is left out: ", name)) }) {
			t.Errorf("no warning names %q", name)
		}
	}
}

// TestParamHeaders: arguments are mirrored as the annotations of the list ask. If the server has
// changed them and refuses a call, the list is read again, and the call is sent once more.
func TestParamHeaders(t *testing.T) {
	var renamed atomic.Bool
	handle := listing(modernWeb, func(string) string {
		header := "Region"
		if renamed.Load() {
			header = "Zone"
		}
		return `{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{
			"region":{"type":"string","x-mcp-header":"` + header + `"},
			"n":{"type":"integer","x-mcp-header":"N"},
			"deep":{"type":"object","properties":{"flag":{"type":"boolean","x-mcp-header":"Flag"}}},
			"plain":{"type":"string"}}}}]}`
	})
	web := serveWeb(t, instead(handle, "tools/call", func(w http.ResponseWriter, r webRequest) {
		if renamed.Load() && r.header.Get("Mcp-Param-Zone") == "" {
			sendJSON(w, 400, r.refuse(wire.CodeHeaderMismatch, "Mcp-Param-Zone is missing", ""))
			return
		}
		modernWeb(w, r)
	}))
	s, _ := connect(t, Spec{URL: web.URL})
	called(t, s, "t", `{"region":"Köln\r\nX: y","n":42.0,"deep":{"flag":false},"plain":"p"}`)
	h := web.got("tools/call")[0].header
	if h.Get("Mcp-Param-Region") != "=?base64?S8O2bG4NClg6IHk=?=" || h.Get("Mcp-Param-N") != "42" || h.Get("Mcp-Param-Flag") != "false" || h.Get("X") != "" || h.Get("Mcp-Param-Plain") != "" {
		t.Errorf("headers: %v", h)
	}
	called(t, s, "t", `{"region":null,"deep":{}}`)
	for name := range web.got("tools/call")[1].header {
		if strings.HasPrefix(name, "Mcp-Param-") {
			t.Errorf("header %s for nothing", name)
		}
	}
	if e := callFails(t, s, "t", `{"n":9007199254740993}`); e.Sent || !strings.Contains(e.Message, `argument "n"`) {
		t.Errorf("%+v", e)
	}
	renamed.Store(true)
	for range 2 {
		if got := called(t, s, "t", `{"region":"eu"}`); got != "ok" {
			t.Errorf("the call gave %q", got)
		}
	}
	calls := web.got("tools/call")
	if n := len(web.got("tools/list")); len(calls) != 5 || n != 2 {
		t.Fatalf("%d calls and %d lists went out", len(calls), n)
	}
	for i, want := range []string{"", "eu", "eu"} {
		if got := calls[2+i].header.Get("Mcp-Param-Zone"); got != want {
			t.Errorf("call %d: the header is %q, want %q", 2+i, got, want)
		}
	}
}

// TestParamHeadersOfNoList: a refusal that no list of tools explains is the answer, and the call
// is not sent again.
func TestParamHeadersOfNoList(t *testing.T) {
	for name, base := range map[string]webHandler{"legacy": legacyWeb, "modern": modernWeb} {
		web := serveWeb(t, instead(base, "tools/call", func(w http.ResponseWriter, r webRequest) {
			sendJSON(w, 400, r.refuse(wire.CodeHeaderMismatch, "Mcp-Name differs", ""))
		}))
		s, _ := connect(t, Spec{URL: web.URL})
		if e := callFails(t, s, "t", `{}`); !e.RPC || e.Code != wire.CodeHeaderMismatch || e.Message != "Mcp-Name differs" {
			t.Errorf("%s: %+v", name, e)
		}
		if calls, lists := len(web.got("tools/call")), len(web.got("tools/list")); calls != 1 || lists == 1 != (name == "legacy") {
			t.Errorf("%s: %d calls and %d lists went out", name, calls, lists)
		}
	}
}

// TestFirstListRefused: the first list of tools is part of the start, in its
// time and in what is said of its failure.
func TestFirstListRefused(t *testing.T) {
	t.Parallel()
	list := func(f webHandler) Spec { return Spec{URL: serveWeb(t, instead(legacyWeb, "tools/list", f)).URL} }
	for name, tt := range map[string]struct {
		spec Spec
		want []string // in message, hint and stderr
	}{
		"hangs": {stdio("-fault", "list-hangs", "-stderr", `waiting for the disk\n`), []string{`server "peer" (stdio): no answer within the start-up timeout`, "(tried: server/discover, initialize, tools/list)", "raise startup_timeout", "waiting for the disk"}},
		"fails": {stdio("-fault", "list-fails", "-stderr", `the table is gone\n`), []string{`server "peer" (stdio): database is locked`, "initialize, tools/list)", "the table is gone"}},
		"dies":  {stdio("-fault", "list-dies", "-stderr", `panic: out of cheese\n`), []string{`server "peer" (stdio): the server ended (exit status 3)`, "out of cheese"}},
		"page": {list(func(w http.ResponseWriter, r webRequest) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>sign in")
		}), []string{`server "peer" (http): the response is not JSON`, "a web page without a title: \"sign in\"", "is the URL right?", "tools/list)"}},
		"500": {list(func(w http.ResponseWriter, r webRequest) { http.Error(w, "db down", 500) }), []string{"HTTP status 500", "db down", "tools/list)"}},
		"401": {list(func(w http.ResponseWriter, r webRequest) { http.Error(w, "who are you", 401) }), []string{"401"}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "hangs" {
				tt.spec.StartupTimeout = 3 * time.Second // for what answers, also on a busy machine
			}
			_, rec, err := tryConnect(t, tt.spec)
			e, ok := errors.AsType[*ConnectError](err)
			if !ok {
				t.Fatalf("the error is %v", err)
			}
			if len(rec.snapshot(&rec.warnings)) > 0 {
				t.Errorf("told twice: %q", rec.warnings)
			}
			said := e.Message + "\n" + e.Hint + "\n" + e.Stderr
			for _, want := range tt.want {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not in %q", want, said)
				}
			}
		})
	}
	why := errors.New("interrupted")
	ctx, cancel := context.WithCancelCause(bounded(t))
	listing := Hooks{Wire: func(_ byte, line []byte) {
		if bytes.Contains(line, []byte("tools/list")) {
			cancel(why)
		}
	}}
	if _, err := Connect(ctx, stdio("-fault", "list-hangs"), listing, &process.Processes{}); err != why {
		t.Errorf("the end of the run gives %v", err)
	}
}

// TestFirstListIsSlow: the first list has the time of the start, not that of a
// call.
func TestFirstListIsSlow(t *testing.T) {
	t.Parallel()
	spec := stdio("-fault", "list-slow")
	spec.ToolTimeout = time.Millisecond
	s, _ := connect(t, spec)
	if names := toolNames(s); names != "t" {
		t.Errorf("tools %q", names)
	}
}

// TestLostBesideTheFirstList: a server that ends as soon as it has listed its
// tools is told of all the same.
func TestLostBesideTheFirstList(t *testing.T) {
	_, rec := connect(t, stdio("-fault", "list-then-dies"))
	for ctx := bounded(t); rec.warned("server_lost") == 0; time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatal("no warning")
		}
	}
}

// TestNoToolsIsAList: that a server has no tools is the answer to the list.
func TestNoToolsIsAList(t *testing.T) {
	s, _ := connect(t, stdio("-fault", "list-none"))
	if names := toolNames(s); names != "" {
		t.Errorf("tools %q", names)
	}
}

// TestFirstListEndsTheSession: a session that failed to start is ended then, once.
func TestFirstListEndsTheSession(t *testing.T) {
	server := &sessions{}
	web := serveWeb(t, instead(server.handle, "tools/list", func(w http.ResponseWriter, r webRequest) { http.Error(w, "db down", 500) }))
	if _, _, err := tryConnect(t, Spec{URL: web.URL}); err == nil {
		t.Fatal("there is a list")
	}
	if n := len(web.got("DELETE")); n != 1 {
		t.Errorf("%d times ended", n)
	}
}

// TestWatchOverHTTP: a server of a revision with a handshake announces changes on the stream
// that belongs to no request.
func TestWatchOverHTTP(t *testing.T) {
	ended := make(chan struct{})
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		if r.verb != http.MethodGet {
			legacyWeb(w, r)
			return
		}
		sendSSE(w, `data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n\n")
		w.(http.Flusher).Flush()
		<-ended
	})
	s, _ := connect(t, Spec{URL: web.URL})
	defer close(ended)
	s.Watch()
	for ctx := bounded(t); !s.ToolsAnnounced(); time.Sleep(time.Millisecond) {
		if ctx.Err() != nil {
			t.Fatal("the announcement was not heard")
		}
	}
}
