package stream

import (
	"errors"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

// An answer that is no reply: one line that says what came back, a hint for
// the usual cause, and never the key.
func TestRefusals(t *testing.T) {
	const key = "sk-very-secret-0123456789"
	for _, test := range []struct {
		name    string
		handler http.HandlerFunc
		kind    Kind
		message string // what it must hold, words separated by |
		hint    string
	}{
		{"wrong key", status(401, `{"error":{"message":"Incorrect API key provided: `+key+`"}}`), KeyRefused, "401 Unauthorized|Incorrect API key provided: [secret]", "right key"},
		{"forbidden", status(403, ``), KeyRefused, "403 Forbidden", "right key"},
		{"no such model", status(404, `{"error":"model \"x\" not found"}`), NoSuchModel, `404 Not Found|model "x" not found`, "this model"},
		{"wrong path", status(404, "404 page not found\n"), WrongPath, "/v1/chat/completions answered 404 Not Found|404 page not found", "/v1"},
		{"wrong method", status(405, ""), WrongPath, "/v1/chat/completions answered 405 Method Not Allowed", "/v1"},
		{"roles", status(500, `{"error":"Jinja: Conversation roles must alternate user/assistant"}`, "Retry-After-Ms", "1"), RoleRefused, "500|alternate", "tool_role"},
		{"tool role", status(400, `Unexpected role 'tool'`), RoleRefused, "400", "tool_role"},
		{"long body", status(400, strings.Repeat("x", 5000)), RequestDefect, strings.Repeat("x", 400) + " …", ""},
		{"control characters", status(400, "a\x1b[31mb\r\nc\u202ed\x00"), RequestDefect, "a [31mb c d", ""},
		{"message in JSON", status(400, `{"error":{"type":"x","message":"the message","param":null}}`), RequestDefect, "400 Bad Request: the message", ""},
		{"message of the provider behind", status(400, `{"error":{"message":"Provider returned error","metadata":{"raw":"{\"error\":{\"message\":\"too many\"}}","provider_name":"P"}}}`), RequestDefect, "Provider returned error (P: too many)", ""},
		{"list of FastAPI", status(422, `{"detail":[{"type":"missing","loc":["body","messages",2,"content"],"msg":"Field required","input":{}},{"loc":["body","n"],"msg":"Extra inputs"}]}`), RequestDefect, "Entity: body.messages.2.content: Field required; body.n: Extra inputs", ""},
		{"list of Mistral", status(422, `{"object":"error","message":{"detail":[{"loc":["body","n"],"msg":"Extra inputs"}]}}`), RequestDefect, "Entity: body.n: Extra inputs", ""},
		{"JSON behind a byte order mark", status(400, "\ufeff\r\n{\"error\":{\"message\":\"the message\"}}"), RequestDefect, "400 Bad Request: the message", ""},
		{"title of a page", status(403, "<html><head><TITLE>\nBlocked</TITLE></head><body>nginx"), KeyRefused, "403 Forbidden: Blocked", ""},
		{"unknown event", stream("data: {\"detail\":\"Not Found\"}\n\n"), Malformed, `{"detail":"Not Found"}`, ""},
		{"redirect", status(307, "", "Location", "https://evil.example/path?q=1"), WrongPath, "307|https://evil.example, which is not followed", "the caller's way to another URL"},
		{"html", status(200, "<!DOCTYPE html><title>Login</title>", "Content-Type", "text/html"), Malformed, "HTML|text/html|Login", "/v1"},
		{"empty", status(200, ""), Malformed, "empty", ""},
		{"no content", status(204, ""), Malformed, "empty", ""},
		{"blank", status(200, "\n\n \n"), Malformed, "empty", ""},
		{"plain text", status(200, "upstream connect error"), Malformed, "upstream connect error", ""},
		{"other JSON", status(200, `{"detail":"Not Found"}`), Malformed, `{"detail":"Not Found"}`, ""},
		{"cut JSON", status(200, `{"choices":[{"message":{"content":"a`), Cut, "", ""},
		{"error JSON", status(200, `{"error":{"message":"no credit","code":402}}`), Quota, "no credit", ""},
		{"only the end marker", stream("data: [DONE]\n\n"), Malformed, "", ""},
		{"bad event", stream("data: {\"choices\":[}\n\n"), Malformed, "no JSON", ""},
		{"unknown encoding", status(200, "abc", "Content-Encoding", "br"), Malformed, "br", ""},
		{"broken gzip", status(200, "\x1f\x8b\x08garbage"), Malformed, "gzip", ""},
		{"error event with the key", stream(`data: {"error":{"message":"bad key ` + key + `","code":401}}` + "\n\n"), KeyRefused, "bad key [secret]", "right key"},
		{"html with the key", status(200, "<html>"+key), Malformed, "[secret]", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := newModelServer(t, test.handler)
			c := newClient(t, Config{BaseURL: s.URL + "/v1?secret=s3cret", Key: key, Hints: Hints{Redirect: "the caller's way to another URL"}})
			waits(c)
			_, err := c.Reply(t.Context(), ask("hi"), nil)
			e, ok := err.(*Error)
			if !ok {
				t.Fatalf("error %v", err)
			}
			if e.Kind != test.kind {
				t.Errorf("kind %s, want %s: %s", e.Kind, test.kind, e.Message)
			}
			for _, words := range strings.Split(test.message, "|") {
				if !strings.Contains(e.Message, words) {
					t.Errorf("message %q does not hold %q", e.Message, words)
				}
			}
			if !strings.Contains(e.Hint, test.hint) {
				t.Errorf("hint %q does not hold %q", e.Hint, test.hint)
			}
			if all := e.Message + e.Hint; strings.Contains(all, key) || strings.Contains(all, "s3cret") || strings.ContainsAny(all, "\r\n\x1b\x00") {
				t.Errorf("message %q, hint %q", e.Message, e.Hint)
			}
		})
	}
}

// A message is cut after a word or in it, with one space before the mark, and of a text
// of any length no more is read than may be shown.
func TestClean(t *testing.T) {
	for text, want := range map[string]string{
		" a\n\tb ":                            "a b",
		"abcdef":                              "abcd …",
		"abc def":                             "abc …",
		"abc\u00e9":                           "abc …",
		strings.Repeat(" ", 5):                "",
		"a" + strings.Repeat(" ", 1000) + "b": "a …",
	} {
		if got := clean(text, 4); got != want {
			t.Errorf("%.20q: %q, want %q", text, got, want)
		}
	}
	words := strings.Repeat("a ", 1<<20)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	clean(words, maxShown)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes of memory for a message of 2 MiB", n)
	}
}

// Without a key the hint says how the caller takes one.
func TestNoKeyHint(t *testing.T) {
	c := newClient(t, Config{BaseURL: newModelServer(t, status(401, "")).URL, Hints: Hints{NoKey: "the caller's way to a key"}})
	_, err := c.Reply(t.Context(), ask("hi"), nil)
	if e, ok := errors.AsType[*Error](err); !ok || e.Hint != "the caller's way to a key" {
		t.Errorf("%v, hint %q", err, e.Hint)
	}
}

func TestUnreachable(t *testing.T) {
	s := newModelServer(t, stream(hello))
	s.Close()
	var retries []Retry
	c := newClient(t, Config{BaseURL: s.URL})
	waited := waits(c)
	_, err := c.Reply(t.Context(), ask("hi"), &Sink{Retry: func(r Retry) { retries = append(retries, r) }})
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Kind != Unreachable || !strings.Contains(e.Message, s.URL) || !strings.Contains(e.Hint, "running") {
		t.Errorf("error %v", err)
	}
	if len(retries) != 3 || len(*waited) != 3 {
		t.Fatalf("retries %+v, waits %v", retries, *waited)
	}
	for i, r := range retries {
		least := 500 * time.Millisecond << i
		if r.Attempt != i+1 || r.Of != 3 || r.After != (*waited)[i] || r.After < least || r.After > least*5/4 {
			t.Errorf("retry %+v after %v", r, (*waited)[i])
		}
	}
}

// A URL or key that cannot be meant is a usage error before any packet.
func TestNewRefuses(t *testing.T) {
	for _, test := range []struct {
		cfg   Config
		words string
	}{
		{Config{}, "no base URL"},
		{Config{BaseURL: "localhost:8080/v1"}, "not of the form"},
		{Config{BaseURL: "ftp://localhost/v1"}, "not of the form"},
		{Config{BaseURL: "127.0.0.1:8080/v1"}, `"127.0.0.1:8080/v1" is not of the form`},
		{Config{BaseURL: "u:sekrit@h/v1"}, "not of the form"},
		{Config{BaseURL: "h/v1?key=sekrit"}, `"h/v1" is not of the form`},
		{Config{BaseURL: "http://127.0.0.1:0/v1"}, "no port 0"},
		{Config{BaseURL: "http://127.0.0.1:99999/v1"}, "no port 99999"},
		{Config{BaseURL: "HTTP://192.0.2.1/v1", Key: "sekrit"}, `"192.0.2.1" over plain http`},
		{Config{BaseURL: "http:///v1"}, "not of the form"},
		{Config{BaseURL: "https://good.example@evil.example/v1"}, "user name"},
		{Config{BaseURL: "https://u:sekrit@h/v1"}, "user name"},
		{Config{BaseURL: "https://h/v1#x"}, "fragment"},
		{Config{BaseURL: "http://192.0.2.1/v1", Key: "sekrit"}, `"192.0.2.1" over plain http`},
		{Config{BaseURL: "http://localhost.evil.example/v1", Key: "sekrit"}, "plain http"},
		{Config{BaseURL: "http://a.example/v1", Key: "sekrit", InsecureHTTP: []string{"b.example"}}, "plain http"},
		{Config{BaseURL: "https://h/v1", Key: "sekrit\n"}, "offset 6"},
		{Config{BaseURL: "https://h/v1", API: "soap"}, `"soap"`},
		{Config{Replay: "no-such-file"}, "no-such-file"},
		{Config{BaseURL: "https://h/v1", Record: "no-such-dir/x"}, "no-such-dir"},
	} {
		_, err := New(test.cfg)
		if err == nil || !strings.Contains(err.Error(), test.words) || strings.Contains(err.Error(), "sekrit") {
			t.Errorf("%+v: %v", test.cfg, err)
		}
	}
	for _, cfg := range []Config{
		{BaseURL: "http://192.0.2.1/v1"},
		{BaseURL: "http://127.0.0.1:1/v1", Key: "k"},
		{BaseURL: "http://[::1]/v1", Key: "k"},
		{BaseURL: "http://LOCALHOST/v1/", Key: "k"},
		{BaseURL: "http://B.example/v1", Key: "k", InsecureHTTP: []string{"b.example"}},
		{BaseURL: "https://h/v1", Key: "k"},
	} {
		if _, err := New(cfg); err != nil {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestURLs(t *testing.T) {
	for base, want := range map[string]string{
		"http://h":                             "http://h/chat/completions",
		"http://h/v1":                          "http://h/v1/chat/completions",
		"http://h/v1/":                         "http://h/v1/chat/completions",
		"http://h/v1/chat/completions":         "http://h/v1/chat/completions",
		"https://h/openai/v1?api-version=2025": "https://h/openai/v1/chat/completions?api-version=2025",
	} {
		c, err := New(Config{BaseURL: base})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.endpoint.url.String(); got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
	}
}

// The key goes to exactly the configured origin.
func TestKeyOnlyAtOrigin(t *testing.T) {
	c := newClient(t, Config{BaseURL: "https://good.example/v1", Key: "sekrit"})
	for _, origin := range []string{"https://good.example:444", "https://evil.example", "http://good.example", "https://good.example.", "https://good.example@evil.example"} {
		c.endpoint.origin = origin
		x := newExchange(&chatDialect, ask("hi"), nil)
		x.client, x.sent = c, &body{}
		if h := x.httpRequest(t.Context()).Header.Get("Authorization"); h != "" {
			t.Errorf("%s got the key", origin)
		}
	}
}

// Insecure names the host that a key goes to in the clear, however scheme and
// host are written, and no other.
func TestInsecure(t *testing.T) {
	for url, want := range map[string]string{
		"http://model.example/v1": "model.example", "HTTP://MODEL.example:8080/v1": "MODEL.example",
		"https://model.example/v1": "", "http://localhost/v1": "", "http://127.0.0.1:1/v1": "",
	} {
		hosts := []string{"Model.Example", "localhost"}
		if got := newClient(t, Config{BaseURL: url, Key: "k", InsecureHTTP: hosts}).Insecure(); got != want {
			t.Errorf("%s: %q, want %q", url, got, want)
		}
		if got := newClient(t, Config{BaseURL: url}).Insecure(); got != "" {
			t.Errorf("%s without a key: %q", url, got)
		}
	}
}

// The error of a wrong API names the right one, as far as the answer tells.
func TestOtherAPI(t *testing.T) {
	for _, test := range []struct {
		api     string
		handler http.HandlerFunc
		want    string
	}{
		{"chat", status(404, `{"error":{"message":"This model is only supported in v1/responses and not in v1/chat/completions."}}`), "responses"},
		{"chat", status(400, `{"error":{"message":"Function tools with reasoning_effort are not supported for this model in /v1/chat/completions. Please use /v1/responses instead."}}`), "responses"},
		{"chat", status(400, `{"type":"error","error":{"message":"anthropic-version: header is required"}}`), "messages"},
		{"chat", status(404, "404 page not found"), ""},
		{"chat", status(500, "v1/responses"), ""},
		{"responses", status(404, "404 page not found"), "chat"},
		{"responses", status(404, `{"error":{"message":"The model x does not exist"}}`), ""},
		{"responses", status(400, `{"error":{"message":"Missing required parameter: 'messages'."}}`), "chat"},
		{"messages", status(405, ""), "chat"},
		{"messages", status(400, `{"error":{"message":"Missing required parameter: 'input'."}}`), "responses"},
		{"chat", status(200, `{"type":"message","role":"assistant","content":[]}`), "messages"},
		{"chat", stream("event: response.created\ndata: {\"type\":\"response.created\",\"response\":{}}\n\n"), "responses"},
		{"responses", status(200, `{"choices":[{"message":{"content":"x"}}]}`), "chat"},
		{"messages", stream(delta("hi")), "chat"},
	} {
		s := newModelServer(t, test.handler)
		c := newClient(t, Config{API: test.api, BaseURL: s.URL, Hints: Hints{OtherAPI: func(api string) string { return "the way to " + api }}})
		waits(c)
		_, err := c.Reply(t.Context(), ask("hi"), nil)
		e, ok := errors.AsType[*Error](err)
		if want := "the way to " + test.want; !ok || (e.Hint == want) != (test.want != "") {
			t.Errorf("%s: %v, hint %q, want %q", test.api, err, e.Hint, want)
		}
	}
}

// Headers go with each request to the origin, win over the dialect's own, and
// their values are shown nowhere.
func TestHeaders(t *testing.T) {
	const secret = "azure-secret-0123456789"
	var wire strings.Builder
	s := newModelServer(t, status(401, "not with "+secret))
	headers := []Header{{"api-key", secret, true}, {"Anthropic-Beta", "tools-2026", false}, {"authorization", "Basic eDp5", false}}
	c := newClient(t, Config{BaseURL: s.URL, Key: "k-0123456789", Headers: headers, Wire: func(_ byte, line []byte) { wire.Write(line) }})
	_, err := c.Reply(t.Context(), ask("hi"), nil)
	h := s.headers[0]
	if h.Get("Api-Key") != secret || h.Get("Anthropic-Beta") != "tools-2026" || h.Get("Authorization") != "Basic eDp5" {
		t.Errorf("%v", h)
	}
	for _, hidden := range []string{secret, "tools-2026", "eDp5"} {
		if all := wire.String() + err.Error(); strings.Contains(all, hidden) {
			t.Errorf("%q is shown in %s", hidden, all)
		}
	}
	if _, err := New(Config{BaseURL: "http://192.0.2.1/v1", Headers: headers}); err == nil {
		t.Error("a secret header would go over plain http")
	}
	if _, err := New(Config{BaseURL: "http://192.0.2.1/v1", Headers: headers[1:]}); err != nil {
		t.Error(err)
	}
	c.endpoint.origin = "https://evil.example"
	x := newExchange(&chatDialect, ask("hi"), nil)
	x.client, x.sent = c, &body{}
	if h := x.httpRequest(t.Context()).Header; h.Get("Api-Key") != "" || h.Get("Anthropic-Beta") != "" {
		t.Errorf("another origin gets %v", h)
	}
}
