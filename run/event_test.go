package run

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"toolpipe/approve"
	"toolpipe/stream/jsontext"
)

// nasty holds everything that must not reach a reader unescaped.
const nasty = "a\x00\x1b[2J\x7f\u0085\u009b\u202e\u2028\u200b\U000e0041\"\\\n\t\xff é 漢 \u2066"

// everyEvent is one of each kind, with nasty text wherever text can be.
var everyEvent = []struct {
	kind  string
	event Event
}{
	{"start", &StartEvent{Version: "1", Model: nasty, API: "chat", Servers: []ServerInfo{{nasty, "2026-07-28", 3}}, Policy: "ab", ConfigRules: 2}},
	{"text", &TextEvent{1, []byte(nasty)}},
	{"reasoning", &ReasoningEvent{1, []byte(nasty)}},
	{"tool_call", &CallEvent{1, "id", "s", "t", "s__t", json.RawMessage("{\"a\":\"\u202e\", \n\"b\":1e2}"), nil}},
	{"tool_call", &CallEvent{1, "id", "", "", nasty, nil, []byte(nasty)}},
	{"approval", &ApprovalEvent{"id", "deny", "policy", nasty, nasty}},
	{"progress", &ProgressEvent{"id", json.RawMessage("1.50"), json.RawMessage("3"), nasty}},
	{"tool_result", &ResultEvent{ID: "id", Status: ResultOK, Text: []byte(nasty), Content: json.RawMessage("[ ]"), Structured: json.RawMessage("{\r\n}"), Bytes: 3, Time: time.Second}},
	{"tool_result", &ResultEvent{ID: "id", Status: ResultError, TextJSON: []byte("\"\u009b\""), Truncated: true}},
	{"turn", &TurnEvent{2, nasty, Usage{1, 2, 3, 4}, 1, time.Second}},
	{"retry", &RetryEvent{1, 3, time.Second, 503, nasty}},
	{"warning", &WarningEvent{"code", nasty, "s"}},
	{"tool", &ToolEvent{Name: "s__t", Server: "s", Tool: nasty, Description: nasty, Schema: json.RawMessage("{}"), Verdict: "ask"}},
	{"server", &ListedServerEvent{Name: "s", Target: nasty, Message: nasty}},
	{"resource", &ItemEvent{Kind: "resource", Server: "s", URI: nasty, Template: true}},
	{"prompt", &ItemEvent{Kind: "prompt", Server: "s", Arguments: json.RawMessage("[]")}},
	{"explanation", &ExplanationEvent{Name: "s__t", Arguments: json.RawMessage("{}"), Rules: []ExplainedRule{{"deny", nasty, nasty}, {"allow", "x", ""}}}},
	{"end", &EndEvent{Status: StatusModel, Exit: 3, Text: []byte(nasty), Err: &Error{Message: nasty, Hints: []string{"a", nasty}}, Items: []Event{&WarningEvent{}}}},
}

// TestEventsAreStrictLines: whatever is in an event, its line is one strict
// JSON object without a character that could disturb a reader or a terminal.
func TestEventsAreStrictLines(t *testing.T) {
	for _, e := range everyEvent {
		line := e.event.appendJSON(nil)
		if err := jsontext.Check(line, jsontext.Options{}); err != nil {
			t.Errorf("%s: %v in %q", e.kind, err, line)
			continue
		}
		var m map[string]any
		if err := json.Unmarshal(line, &m); err != nil || m["type"] != e.kind {
			t.Errorf("type is %v, not %s: %v", m["type"], e.kind, err)
		}
		for _, r := range string(line) {
			if r == utf8.RuneError && !bytes.ContainsRune([]byte(nasty), r) || r < ' ' || approve.Unsafe(r) {
				t.Errorf("%s: %U stands in %q", e.kind, r, line)
			}
		}
	}
}

// TestStringsKeepTheirValue: escaping changes how a string is written, never
// what it is.
func TestStringsKeepTheirValue(t *testing.T) {
	want := strings.ToValidUTF8(nasty, "\ufffd")
	for _, got := range []string{unquote(t, appendString(nil, nasty)), unquote(t, appendString(nil, []byte(nasty)))} {
		if got != want {
			t.Errorf("%q became %q", want, got)
		}
	}
	quoted, _ := json.Marshal(want)
	if got := unquote(t, appendJSON(nil, quoted)); got != want {
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
	o := &ndjsonOutput{w: newWriter(&out, "x")}
	e := &TextEvent{1, []byte("word ")}
	b.ReportAllocs()
	for b.Loop() {
		o.event(e)
		out.Reset()
	}
}
