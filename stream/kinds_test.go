package stream

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// reported is a refusal as a user of an endpoint, its documentation or its source shows it.
type reported struct {
	Kind    Kind              `json:"kind"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Needs   string            `json:"needs"` // what the request had: form, tools, image
	Model   string            `json:"model"`
	WaitMS  int64             `json:"wait_ms"`
	From    string            `json:"from"`
}

func readReported(t *testing.T) (list []reported) {
	text, err := os.ReadFile("testdata/refusals.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(text) {
		var v reported
		if err := json.Unmarshal(line, &v); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		list = append(list, v)
	}
	return list
}

func (v *reported) request() *Request {
	r := &Request{Model: v.Model, Messages: []Message{{Role: User, Parts: []Part{{Text: "hi"}}}}}
	if strings.Contains(v.Needs, "form") {
		r.Schema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}`)
	}
	if strings.Contains(v.Needs, "tools") {
		r.Tools = []Tool{{Name: "f"}}
	}
	if strings.Contains(v.Needs, "image") {
		r.Messages[0].Parts = append(r.Messages[0].Parts, image)
	}
	return r
}

// Each refusal has the same kind as an answer with a status, and as an event in a stream.
func TestReportedRefusals(t *testing.T) {
	for _, v := range readReported(t) {
		f := readRefusal(v.Status, []byte(v.Body))
		if got := f.kind(v.request()); got != v.Kind && (v.Kind != "not_too_long" || got == TooLong) {
			t.Errorf("%s: %s, want %s: %d %.400s", v.From, got, v.Kind, v.Status, v.Body)
		}
		if want := time.Duration(v.WaitMS) * time.Millisecond; v.Kind == Passes && len(v.Headers) == 0 && f.wait.Round(time.Millisecond) != want {
			t.Errorf("%s: wait %v, want %v: %.300s", v.From, f.wait, want, v.Body)
		}
		root := gjson.Parse(v.Body)
		if !root.IsObject() || !gjson.Valid(v.Body) {
			continue
		}
		if f := reportedRefusal(root, "error"); f == nil {
			t.Errorf("%s: an event is not seen: %s", v.From, v.Body)
		} else if f.status = cmp.Or(v.Status, f.status); f.kind(v.request()) != v.Kind && v.Kind != "not_too_long" {
			t.Errorf("%s: as an event %s, want %s: %.400s", v.From, f.kind(v.request()), v.Kind, v.Body)
		}
	}
}

// asEvents are the forms of an error inside a stream.
var asEvents = map[string][]string{
	"chat":     {`data: {"error":?}` + "\n\n", "event: error\ndata: ?\n\n"},
	"messages": {"event: error\n" + `data: {"type":"error","error":?}` + "\n\n"},
	"responses": {
		`data: {"type":"response.failed","response":{"id":"r","status":"failed","error":?}}` + "\n\n",
		`data: {"type":"error","error":?}` + "\n\n" + `data: {"type":"response.failed","response":{"id":"r","status":"failed","error":null}}` + "\n\n",
		`data: {"type":"response.failed","response":{"id":"r","status":"failed","error":null}}` + "\n\n" + `data: {"type":"error","error":?}` + "\n\n",
	},
}

// Kinds of refusals × dialects × forms: how often it is asked again, whether another model is
// asked, and the hint.
func TestKinds(t *testing.T) {
	table, err := os.ReadFile("testdata/kinds.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(table)) {
		column := strings.Split(strings.TrimSpace(line), " | ")
		if line[0] == '#' {
			continue
		}
		for i := range column {
			column[i] = strings.TrimSuffix(column[i], " |")
		}
		code, _ := strconv.Atoi(column[1])
		for i, api := range APIs() {
			forms := map[string]http.HandlerFunc{"status": status(code, `{"error":`+column[2]+`}`)}
			for k, form := range asEvents[api] {
				event := strings.TrimSuffix(column[2], "}") + `,"status":` + column[1] + "}"
				forms["event "+strconv.Itoa(k)] = stream(strings.ReplaceAll(form, "?", event))
			}
			counts := strings.Fields(column[3])
			requests, _ := strconv.Atoi(counts[min(i, len(counts)-1)])
			for form, handler := range forms {
				t.Run(column[0]+" "+api+" "+form, func(t *testing.T) {
					s := newModelServer(t, handler)
					c := newClient(t, Config{API: api, BaseURL: s.URL, Key: "k", Hints: Hints{Later: "the caller's way to wait"}})
					waits(c)
					r := kindRequest(column[0], api)
					_, err := c.Reply(t.Context(), r, nil)
					e, ok := errors.AsType[*Error](err)
					if !ok || e.Kind != Kind(column[0]) || e.Status != code || s.requests() != requests {
						t.Fatalf("%d requests, want %d: %+v", s.requests(), requests, err)
					}
					if e.Kind.Elsewhere() != (column[4] == "yes") || e.Again != (requests == 4) || len(column) > 5 && !strings.Contains(e.Hint, column[5]) {
						t.Errorf("elsewhere %t, again %t, hint %q", e.Kind.Elsewhere(), e.Again, e.Hint)
					}
				})
			}
		}
	}
}

// kindRequest is a request that a refusal of that kind can be about.
func kindRequest(kind, api string) *Request {
	v := reported{Kind: Kind(kind)}
	switch v.Kind {
	case FormRefused:
		v.Needs = "form"
	case PairRefused:
		v.Needs = "form tools"
	case ToolRefused:
		v.Needs = "tools"
	}
	r := v.request()
	call := Message{Role: Assistant, Calls: []Call{{ID: "a", Name: "f", Arguments: []byte("{}")}}}
	result := Message{Role: ToolRole, CallID: "a", Name: "f", Parts: []Part{{Text: "x"}}}
	switch r.Model = "m"; v.Kind {
	case PictureRefused:
		result.Parts = append(result.Parts, image)
	case StateInvalid:
		call.Opaque = Opaque{api: api, json: []byte(map[string]string{
			"chat":      `"reasoning_content":"hm"`,
			"messages":  `{"type":"thinking","thinking":"hm","signature":"S"},{"type":"tool_use","id":"a","name":"f","input":{}}`,
			"responses": `{"type":"reasoning","encrypted_content":"E"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}`,
		}[api])}
	case ForeignCall:
	default:
		return r
	}
	r.Messages = append(r.Messages, call, result)
	return r
}
