package mcp

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"toolpipe/mcp/process"
	"toolpipe/mcp/wire"
)

// listed connects to a server with that one page of tools.
func listed(t *testing.T, page string) (*Session, *record, []wire.Tool) {
	t.Helper()
	s, rec := connect(t, Spec{URL: serveWeb(t, listing(legacyWeb, func(string) string { return page })).URL})
	return s, rec, s.Tools()
}

// TestToolsLeftOutAreCounted: a page of nothing but broken tools costs a
// bounded number of warnings, of a bounded length, and of entries looked at.
func TestToolsLeftOutAreCounted(t *testing.T) {
	_, rec, tools := listed(t, `{"tools":[{"name":"good"}`+strings.Repeat(",{}", 200_000)+`]}`)
	if n := rec.warned("tool_dropped"); len(tools) != 1 || n != maxDropped+1 || rec.warned("list_cut") != 1 {
		t.Errorf("%d tools, %d warnings of tools left out, %d of the list", len(tools), n, rec.warned("list_cut"))
	}
	last := ""
	for _, w := range rec.snapshot(&rec.warnings) {
		if strings.HasPrefix(w, "tool_dropped") {
			last = w
		}
	}
	if want := fmt.Sprintf("%d more tools are left out", maxItems-1-maxDropped); !strings.Contains(last, want) {
		t.Errorf("the last warning is %q, not of %q", last, want)
	}
}

func TestLongNamesAndTitles(t *testing.T) {
	long := strings.Repeat("é", 40_000)
	_, rec, tools := listed(t, fmt.Sprintf(`{"tools":[{"name":%q},{"name":"title","title":%q},{"name":"other-title","annotations":{"title":%q}},
		{"name":"annotations","annotations":{"readOnlyHint":true,"x":%q}},{"name":"description","description":%q},{"name":%q}]}`,
		long, long[:4000], long[:4000], long, long, strings.Repeat("n", maxToolName)))
	var names []string
	for _, tool := range tools {
		names = append(names, tool.Name[:min(11, len(tool.Name))])
		if len(tool.Title) > maxTitle+3 || len(tool.Description) > maxDescription+3 || len(tool.Annotations) > maxAnnotations {
			t.Errorf("%s: a title of %d bytes, a description of %d, annotations of %d", tool.Name, len(tool.Title), len(tool.Description), len(tool.Annotations))
		}
	}
	if got := strings.Join(names, " "); got != "title other-title description nnnnnnnnnnn" || rec.warned("tool_dropped") != 2 {
		t.Errorf("tools %q, %d left out", got, rec.warned("tool_dropped"))
	}
	for _, w := range rec.snapshot(&rec.warnings) {
		if len(w) > 1000 {
			t.Errorf("a warning of %d bytes: %.80s", len(w), w)
		}
	}
}

// TestListsDoNotKeepThePages: what a session and its caller keep of a list is
// in proportion to the tools, not to the pages that they came on.
func TestListsDoNotKeepThePages(t *testing.T) {
	const pages, padding = 12, 4 << 20
	n := 0
	web := serveWeb(t, listing(legacyWeb, func(string) string {
		n++
		next := ""
		if n < pages {
			next = fmt.Sprintf(`,"nextCursor":"%d"`, n)
		}
		return fmt.Sprintf(`{"tools":[{"name":"t%d","annotations":{"readOnlyHint":true},"outputSchema":{"type":"object"},"inputSchema":{"type":"object"}}],"padding":%q%s}`, n, strings.Repeat("x", padding), next)
	}))
	before := heap()
	s, err := Connect(bounded(t), Spec{Name: "peer", URL: web.URL, StartupTimeout: hang}, Hooks{}, &process.Processes{}) // hooks would keep what they are shown
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tools := s.Tools()
	if len(tools) != pages {
		t.Fatalf("%d tools", len(tools))
	}
	if kept := heap() - before; kept > 2*padding {
		t.Errorf("%d tools keep %d bytes", len(tools), kept)
	}
	runtime.KeepAlive(tools)
	runtime.KeepAlive(s)
}

func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // what pools hold goes in the second
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestLongLists: the bytes of a list have a limit, and so has a cursor.
func TestLongLists(t *testing.T) {
	if testing.Short() {
		t.Skip("moves tens of MiB")
	}
	n := 0
	for name, page := range map[string]func() string{
		"entries": func() string {
			return fmt.Sprintf(`{"prompts":[{"name":"p%d","description":%q}],"nextCursor":"%d"}`, n, strings.Repeat("x", maxListBytes/4), n)
		},
		"cursors": func() string {
			return fmt.Sprintf(`{"prompts":[{"name":"p%d"}],"nextCursor":"%d%s"}`, n, n, strings.Repeat("x", maxCursor))
		},
	} {
		t.Run(name, func(t *testing.T) {
			web := serveWeb(t, instead(legacyWeb, "prompts/list", func(w http.ResponseWriter, r webRequest) {
				n++
				sendJSON(w, 200, r.reply(page()))
			}))
			s, rec := connect(t, Spec{URL: web.URL})
			prompts := 0
			err := s.Items(bounded(t), Prompts, func([]byte) { prompts++ })
			if err != nil || prompts == 0 || prompts > 4 || rec.warned("list_cut") != 1 {
				t.Errorf("%d prompts, %v, %.300q", prompts, err, rec.snapshot(&rec.warnings))
			}
		})
	}
}

// TestTextOfAServerIsBounded: what a server says stands in warnings, log lines
// and errors, which go to a terminal and to the model.
func TestTextOfAServerIsBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 64*maxReported)
	web := serveWeb(t, instead(legacyWeb, "tools/call", func(w http.ResponseWriter, r webRequest) {
		sendSSE(w, fmt.Sprintf("data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"data\":%q}}\n\ndata: %s\n\n", long, r.refuse(-32000, "why: "+long, "")))
	}))
	s, rec := connect(t, Spec{URL: web.URL})
	if e := callFails(t, s, "t", `{}`); !e.RPC || len(e.Message) > maxReported+3 || !strings.HasPrefix(e.Message, "why: xxx") {
		t.Errorf("an error of %d bytes: %.40s", len(e.Message), e.Message)
	}
	odd := serveWeb(t, instead(legacyWeb, "initialize", func(w http.ResponseWriter, r webRequest) { sendJSON(w, 200, r.reply(initResult("1"+long))) }))
	_, warned := connect(t, Spec{URL: odd.URL})
	for _, line := range append(rec.snapshot(&rec.logs), warned.snapshot(&warned.warnings)...) {
		if len(line) > maxReported+100 {
			t.Errorf("a line of %d bytes: %.40s", len(line), line)
		}
	}
	refusing := serveWeb(t, instead(legacyWeb, "initialize", func(w http.ResponseWriter, r webRequest) { sendJSON(w, 200, r.refuse(-32000, long, "")) }))
	if _, _, err := tryConnect(t, Spec{URL: refusing.URL}); err == nil || len(err.Error()) > maxReported+100 {
		t.Errorf("a failed start is told in %d bytes", len(err.Error()))
	}
}
