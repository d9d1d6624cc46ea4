package event

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"toolpipe/run/failure"
	"toolpipe/stream/text/escape"
	"toolpipe/stream/text/jsontext"
)

// nasty holds everything that must not reach a reader unescaped.
const nasty = "a\x00\x1b[2J\x7f\u0085\u009b\u202e\u2028\u200b\U000e0041\"\\\n\t\xff é 漢 \u2066"

// everyEvent is one of each kind, with nasty text wherever text can be.
var everyEvent = []struct {
	kind  string
	event Event
}{
	{"start", &Start{Version: "1", Model: nasty, API: "chat", Servers: []ServerInfo{{nasty, "2026-07-28", 3, nasty}}, Policy: "ab", ConfigRules: 2, Limits: Limits{Sandbox: nasty, SandboxPartial: []string{nasty}, FilesAnyway: true}}},
	{"input", &Input{nasty, 9, 2}},
	{"text", &Text{1, []byte(nasty)}},
	{"reasoning", &Reasoning{1, []byte(nasty)}},
	{"citation", &Citation{1, nasty, nasty, json.RawMessage("0"), json.RawMessage("7")}},
	{"tool_call", &Call{1, "id", "s", "t", "s__t", json.RawMessage("{\"a\":\"\u202e\", \n\"b\":1e2}"), nil, "0123456789abcdef"}},
	{"tool_call", &Call{1, "id", "", "", nasty, nil, []byte(nasty), ""}},
	{"approval", &Approval{"id", "deny", "policy", nasty, nasty, Egress{"ask", Source{nasty, 1, "id", nasty}, Source{nasty, 0, nasty, ""}}, time.Second}},
	{"task", &Task{"id", nasty, nasty}},
	{"progress", &Progress{"id", json.RawMessage("1.50"), json.RawMessage("3"), nasty}},
	{"tool_result", &Result{ID: "id", Status: ResultOK, Text: jsontext.Quoted(nasty), Content: json.RawMessage("[ ]"), Structured: json.RawMessage("{\r\n}"), Bytes: 3, Took: Took{Time: time.Second, Began: time.Second}, Change: Change{nasty, nasty, true}}},
	{"tool_result", &Result{ID: "id", Status: ResultError, Text: []byte("\"\u009b\""), Truncated: true}},
	{"turn", &Turn{2, nasty, Usage{1, 2, 3, 4, 6}, time.Second, "m", true, Cost{json.RawMessage("0.5"), nasty, true}}},
	{"retry", &Retry{1, 3, time.Second, 503, nasty, true}},
	{"plan", &Plan{nasty, "ab", "cd", nasty, nasty, nasty, 5, Made{1, 2, 1, 1, nasty}}},
	{"staged", &Staged{ID: nasty, Server: nasty, Tool: nasty, Name: nasty, Arguments: json.RawMessage("{}"), Status: "open", StagedFor: StagedFor{Rule: nasty, Reason: nasty, Private: nasty, Untrusted: nasty, File: nasty, Diff: nasty}, Said: nasty, Problem: nasty, Shown: nasty}},
	{"trim", &Trim{2, 3, 4, 1, 4096}},
	{"warning", &Warning{Code: "code", Message: nasty, Server: "s", Scopes: []string{nasty}}},
	{"login_url", &LoginURL{"https://x", "https://y/?a=b&c=d", "http://localhost/callback"}},
	{"login", &Login{Server: "https://x", Account: nasty, Issuer: nasty, Scopes: []string{nasty, "b"}, Status: "valid", Refreshable: true}},
	{"tool", &Tool{Name: "s__t", Server: "s", Tool: nasty, Description: nasty, Schema: json.RawMessage("{}"), Standing: Standing{Verdict: "ask", Except: nasty}, Traits: Traits{Declared: nasty, Reads: []string{nasty}, Assumed: []string{"reads"}}}},
	{"server", &Server{Name: "s", Target: nasty, Message: nasty}},
	{"resource", &Item{Kind: "resource", Server: "s", URI: nasty, Template: true}},
	{"prompt", &Item{Kind: "prompt", Server: "s", Arguments: []PromptArgument{{nasty, nasty, true}}}},
	{"commentary", &Commentary{1, []byte(nasty)}},
	{"attention", &Attention{nasty}},
	{"preset", &Preset{nasty, []string{nasty}, nasty, nasty}},
	{"check", &Check{nasty, "ok", nasty, nasty}},
	{"contents", &Contents{Server: "s", URI: nasty, MIME: nasty, Blob: []byte("YQ==")}},
	{"text", &Nested{nasty, &Text{1, []byte(nasty)}}},
	{"tool_call", &OfConnection{7, &Call{1, "id", "s", "t", "s__t", json.RawMessage("{}"), nil, ""}}},
	{"explanation", &Explanation{Name: "s__t", Arguments: json.RawMessage("{}"), Rules: []ExplainedRule{{"deny", nasty, nasty, ""}, {"allow", "x", "", ""}}, Others: []ExplainedRule{{"ask", nasty, "", nasty}}}},
	{"end", &End{Status: failure.StatusModel, Exit: 3, Text: Pieces{nasty}, Err: &failure.Error{Message: nasty, Hints: []string{"a", nasty}}, Collected: Collected{Items: []Event{&Warning{}}}}},
}

// TestEveryEvent: the tests look at each kind of event that there is.
func TestEveryEvent(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	tested := map[string]bool{}
	for _, e := range everyEvent {
		tested[reflect.TypeOf(e.event).Elem().Name()] = true
	}
	kinds := 0
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "kind" {
			kinds++
			if name := f.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name; !tested[name] {
				t.Errorf("%s is not in everyEvent", name)
			}
		}
	}
	if kinds != len(tested) {
		t.Errorf("event.go has %d kinds, %d are tested", kinds, len(tested))
	}
}

// TestEventsAreStrictLines: whatever is in an event, its line is one strict
// JSON object without a character that could disturb a reader or a terminal.
func TestEventsAreStrictLines(t *testing.T) {
	for _, e := range everyEvent {
		line := appendEvent(nil, e.event)
		if err := jsontext.Check(line, jsontext.Options{}); err != nil {
			t.Errorf("%s: %v in %q", e.kind, err, line)
			continue
		}
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil || m["type"] != e.kind {
			t.Errorf("type is %v, not %s: %v", m["type"], e.kind, err)
		}
		for _, r := range string(line) {
			if r == utf8.RuneError && !bytes.ContainsRune([]byte(nasty), r) || r < ' ' || escape.Unsafe(r) {
				t.Errorf("%s: %U stands in %q", e.kind, r, line)
			}
		}
	}
}

// TestOrder holds the members of an event, their order, and which of them are left out.
func TestOrder(t *testing.T) {
	facts := failure.ModelFacts{Kind: "overloaded", HTTPStatus: 503, Code: "busy", Retryable: true, RetryAfter: 2 * time.Second}
	for _, c := range []struct {
		event Event
		want  string
	}{
		{&End{Err: &failure.Error{Message: "m", Hints: []string{"a", "b"}, Model: facts}}, `"error":{"message":"m","hint":"a\nb","kind":"overloaded","http_status":503,"code":"busy","retryable":true,"retry_after_ms":2000}}`},
		{&End{Err: &failure.Error{Message: "m", Model: failure.ModelFacts{Kind: "empty_answer"}}}, `"error":{"message":"m","kind":"empty_answer","retryable":false}}`},
		{&End{Err: &failure.Error{Message: "m", Model: failure.ModelFacts{Retryable: true}}}, `"error":{"message":"m"}}`},
		{&OfConnection{2, &Nested{"7", &Attention{"now"}}}, `{"type":"attention","connection":2,"parent":"7","reason":"now"}`},
		{&Nested{"7", &Text{1, []byte("t")}}, `{"type":"text","parent":"7","turn":1,"text":"t"}`},
	} {
		if got := string(appendEvent(nil, c.event)); !strings.HasSuffix(got, c.want) {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

// TestStringsKeepTheirValue: escaping changes how a string is written, never
// what it is.
func TestStringsKeepTheirValue(t *testing.T) {
	want := strings.ToValidUTF8(nasty, "\ufffd")
	for _, got := range []string{unquote(t, AppendString(nil, nasty)), unquote(t, AppendString(nil, []byte(nasty)))} {
		if got != want {
			t.Errorf("%q became %q", want, got)
		}
	}
	quoted, _ := json.Marshal(want)
	if got := unquote(t, AppendJSON(nil, quoted)); got != want {
		t.Errorf("as JSON: %q became %q", want, got)
	}
}

func unquote(t *testing.T, b []byte) (s string) {
	t.Helper()
	if err := json.Unmarshal(b, &s); err != nil {
		t.Fatalf("%v: %q", err, b)
	}
	return s
}

func BenchmarkTextEvent(b *testing.B) {
	var out bytes.Buffer
	o := &NDJSONOutput{Writer: NewWriter(&out, "x")}
	e := &Text{1, []byte("word ")}
	b.ReportAllocs()
	for b.Loop() {
		o.Event(e)
		out.Reset()
	}
}

// appendEvent appends an event as one line without its newline.
func appendEvent(dst []byte, e Event) []byte {
	o := object{b: dst}
	o.event(e)
	return o.b
}
