package stream

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/jsontext"
)

// stateOf is the member of a written message that holds its Opaque.
func stateOf(t *testing.T, m Message) []byte {
	t.Helper()
	var written map[string]json.RawMessage
	if err := json.Unmarshal(writtenMessage(&m), &written); err != nil {
		t.Fatal(err)
	}
	return written[StateMember]
}

// Where the user edits the text or the calls of a message, what repeats them is
// made anew, and what does not is kept.
func TestStateOfEditedMessage(t *testing.T) {
	call := Call{ID: "a", Name: "f", Arguments: []byte(`{"x":1}`)}
	for _, test := range []struct {
		api                    string
		opaque                 Opaque
		unedited, edited, none string // the JSON, then without the call
		content                string
	}{
		{"chat", Opaque{json: []byte(`"reasoning_content":"hm"`), content: []byte(`[1]`)}, `"reasoning_content":"hm"`, `"reasoning_content":"hm"`, `"reasoning_content":"hm"`, `[1]`},
		{"messages", Opaque{json: []byte(`{"type":"thinking","thinking":"hm"},{"type":"text","text":"t"},{"type":"tool_use","id":"a","name":"f","input":{"x":1}}`)},
			`{"type":"thinking","thinking":"hm"},{"type":"text","text":"t"},{"type":"tool_use","id":"a","name":"f","input":{"x":1}}`,
			`{"type":"thinking","thinking":"hm"},{"type":"text","text":"t"},{"type":"tool_use","id":"a","name":"f","input":{"x":2}}`,
			`{"type":"thinking","thinking":"hm"},{"type":"text","text":"t"}`, ""},
		{"responses", Opaque{json: []byte(`{"type":"reasoning","id":"r"},{"type":"message","content":[]},{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}`)},
			`{"type":"reasoning","id":"r"},{"type":"message","content":[]},{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":1}"}`,
			`{"type":"reasoning","id":"r"},{"role":"assistant","content":"t"},{"type":"function_call","call_id":"a","name":"f","arguments":"{\"x\":2}"}`,
			`{"type":"reasoning","id":"r"},{"role":"assistant","content":"t"}`, ""},
	} {
		test.opaque.api = test.api
		m := Message{Role: Assistant, Parts: []Part{{Text: "t"}}, Calls: []Call{call}, Opaque: test.opaque}
		state := stateOf(t, m)
		edited := call
		edited.Arguments = []byte(`{"x":2}`)
		for want, calls := range map[string][]Call{"unedited " + test.unedited: {call}, "edited " + test.edited: {edited}, "none " + test.none: nil} {
			read := Message{Role: Assistant, Parts: []Part{{JSON: []byte(`"\u0074"`)}}, Calls: calls}
			if err := read.RestoreState(state); err != nil {
				t.Fatal(err)
			}
			what, wanted, _ := strings.Cut(want, " ")
			if got := strings.ReplaceAll(string(read.Opaque.json), `\u0074`, "t"); got != wanted {
				t.Errorf("%s, %s:\n got %s\nwant %s", test.api, what, read.Opaque.json, wanted)
			}
			if content := string(read.Opaque.content); (what == "unedited") != (content == test.content) && test.content != "" {
				t.Errorf("%s, %s: content %s", test.api, what, content)
			}
		}
	}
}

// TestStateOfLaxEndpoint holds that a written conversation can be read by a strict
// reader, whatever an endpoint has put into a reply, and that it gets back what it
// wants back.
func TestStateOfLaxEndpoint(t *testing.T) {
	deep := strings.Repeat("[", 300) + strings.Repeat("]", 300)
	for _, lax := range []string{`{"a":1,"a":2}`, `"\ud800"`, deep} {
		for api, body := range map[string]string{
			"chat":      `{"choices":[{"message":{"content":"x","reasoning_details":[{"type":"x","lax":LAX}]},"finish_reason":"stop"}]}`,
			"messages":  `{"type":"message","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"a","name":"f","input":{"lax":LAX}}],"stop_reason":"tool_use"}`,
			"responses": `{"object":"response","status":"completed","output":[{"type":"reasoning","encrypted_content":"x","lax":LAX},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x"}]}]}`,
		} {
			got := decode(t, bodyIn{api: api, data: []byte(strings.ReplaceAll(body, "LAX", lax))})
			if got.err != nil {
				t.Fatal(got.err)
			}
			m := got.reply.Message
			written := writtenMessage(&m)
			if err := jsontext.Check(slices.Concat([]byte(`{"messages":[`), written, []byte(`]}`)), jsontext.Options{}); err != nil {
				t.Errorf("%s: %v:\n%.300s", api, err, written)
				continue
			}
			read := Message{Role: Assistant, Parts: m.Parts, Calls: m.Calls}
			if err := read.RestoreState([]byte(gjson.GetBytes(written, StateMember).Raw)); err != nil || string(read.Opaque.json) != string(m.Opaque.json) || len(m.Opaque.json) == 0 {
				t.Errorf("%s: %v\n got %.300s\nwant %.300s", api, err, read.Opaque.json, m.Opaque.json)
			}
		}
		body := `{"choices":[{"message":{"tool_calls":[{"id":"a","extra_content":LAX,"function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`
		got := decode(t, bodyIn{data: []byte(strings.ReplaceAll(body, "LAX", lax))})
		if err := jsontext.Check(writtenMessage(&got.reply.Message), jsontext.Options{}); err != nil || len(got.reply.Message.Calls[0].Extra) == 0 {
			t.Errorf("a call: %v", err)
		}
	}
}

func TestBadState(t *testing.T) {
	for _, bad := range []string{`1`, `{}`, `{"api":"x","state":{}}`, `{"api":"chat","state":[]}`, `{"api":"messages","state":{}}`,
		`{"api":"chat","state":"{"}`, `{"api":"chat","state":"[]"}`, `{"api":"messages","state":"{}"}`} {
		if m := (Message{Role: Assistant}); m.RestoreState([]byte(bad)) == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

// An id that a server gives in each of its replies is sent only once, with its
// result.
func TestUniqueIDs(t *testing.T) {
	turn := func(ids ...string) (list []Message) {
		m := Message{Role: Assistant}
		for _, id := range ids {
			m.Calls = append(m.Calls, Call{ID: id, Name: "f"})
		}
		list = append(list, m)
		for _, id := range ids {
			list = append(list, Message{Role: ToolRole, CallID: id})
		}
		return list
	}
	messages := append(append(turn("call_0", "b"), turn("call_0", "c")...), turn("call_0")...)
	UniqueIDs(messages)
	got := ""
	for _, m := range messages {
		for _, c := range m.Calls {
			got += " " + c.ID
		}
		if m.CallID != "" {
			got += ">" + m.CallID
		}
	}
	if want := " call_0 b>call_0>b call00003 c>call00003>c call00006>call00006"; got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// A reply whose calls have ids of an earlier turn gets new ones, also in what goes
// back unread.
func TestRepeatedIDs(t *testing.T) {
	body := map[string]string{
		"chat":      `{"choices":[{"message":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`,
		"messages":  `{"type":"message","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"tool_use","id":"a","name":"f","input":{}}],"stop_reason":"tool_use"}`,
		"responses": `{"object":"response","status":"completed","output":[{"type":"reasoning","encrypted_content":"x"},{"type":"function_call","call_id":"a","name":"f","arguments":"{}"}]}`,
	}
	for _, d := range dialects {
		r := Request{Messages: []Message{{Role: Assistant, Calls: []Call{{ID: "a", Name: "f"}}}, {Role: ToolRole, CallID: "a"}}}
		got := decode(t, bodyIn{api: d.name, data: []byte(body[d.name]), request: r})
		if got.err != nil {
			t.Fatal(got.err)
		}
		m := got.reply.Message
		if m.Calls[0].ID != "call00002" || len(m.Opaque.json) > 0 && !strings.Contains(string(m.Opaque.json), `"call00002"`) {
			t.Errorf("%s: id %s, state %s", d.name, m.Calls[0].ID, m.Opaque.json)
		}
	}
}

// Ids of another endpoint are written as the messages API takes them, and stay
// apart.
func TestForeignIDs(t *testing.T) {
	c := newClient(t, Config{API: "messages", BaseURL: "http://127.0.0.1:1"})
	r := ask("hi")
	long := strings.Repeat("f", 64)
	ids := []string{"f.g:0", "f_g_0", "f-g.0", "functions." + long + ":0", "functions." + long + ":1", long, long + "g"}
	r.Messages = append(r.Messages, Message{Role: Assistant})
	for _, id := range ids {
		r.Messages[1].Calls = append(r.Messages[1].Calls, Call{ID: id, Name: "f"})
		r.Messages = append(r.Messages, Message{Role: ToolRole, CallID: id})
	}
	body := gjson.ParseBytes(c.body(r).bytes())
	sent, answered := body.Get("messages.1.content.#.id").Array(), body.Get("messages.2.content.#.tool_use_id").Array()
	if len(sent) != len(ids) || len(answered) != len(ids) {
		t.Fatalf("%v, %v", sent, answered)
	}
	seen := map[string]bool{}
	for i, id := range sent {
		if !regexp.MustCompile("^[a-zA-Z0-9_-]{1,64}$").MatchString(id.Str) || seen[id.Str] || answered[i].Str != id.Str {
			t.Errorf("%s is sent as %s, its result as %s", ids[i], id, answered[i])
		}
		seen[id.Str] = true
	}
	if sent[1].Str != ids[1] || sent[5].Str != long {
		t.Errorf("ids that the API takes are sent as %s and %s", sent[1], sent[5])
	}
}

// Endpoints that refuse something get the request once more without it.
func TestRepairsOfTools(t *testing.T) {
	long := strings.Repeat("é", 2000)
	for _, test := range []struct{ refusal, was, is string }{
		{`{"error":{"message":"Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but got 2000"}}`, long, `…"`},
		{`{"detail":[{"loc":["body","messages",2,"tool","name"],"msg":"Extra inputs are not permitted"}]}`, `"tool_call_id":"a","name":"f"`, `"tool_call_id":"a","content"`},
	} {
		s := newModelServer(t, status(400, test.refusal), stream(hello))
		c := newClient(t, Config{BaseURL: s.URL})
		r := withTools()
		r.Tools[0].Description = long
		r.Messages = append(r.Messages, Message{Role: Assistant, Calls: []Call{{ID: "a", Name: "f"}}}, Message{Role: ToolRole, CallID: "a", Name: "f"})
		warnings := 0
		if _, err := c.Reply(t.Context(), r, &Sink{Warn: func(string, string) { warnings++ }}); err != nil {
			t.Fatal(err)
		}
		if first, second := s.bodies[0], s.bodies[1]; !strings.Contains(first, test.was) || strings.Contains(second, test.was) || !strings.Contains(second, test.is) || warnings != 1 {
			t.Errorf("%s: %d warnings, %s", test.refusal, warnings, second)
		}
	}
}

// Asking whether arguments are complete must give what a whole check gives.
func FuzzArgumentsComplete(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{} `, `{}x`, `{}{}`, `"a\"b"`, `12`, `null`, `[1,{"}":"\\"}]`, `{"a`, `}`, ` `, `{"a":"` + strings.Repeat("x", 70) + `"} `, `{"a":"` + strings.Repeat("x", 70) + `"}{}`} {
		f.Add(s, uint8(1))
	}
	f.Fuzz(func(t *testing.T, s string, step uint8) {
		var c openCall
		for rest := s; rest != ""; {
			n := min(max(int(step), 1), len(rest))
			c.arguments = append(c.arguments, rest[:n]...)
			c.scan.add([]byte(rest[:n]))
			rest = rest[n:]
			want := valid(c.arguments)
			if first := strings.TrimLeft(string(c.arguments), " \t\r\n"); len(c.arguments) >= 64 && first != "" && !strings.ContainsAny(first[:1], `{["`) {
				continue // a long number, which no arguments are
			}
			if got := c.isComplete(); got != want {
				t.Fatalf("%q: complete %v, want %v", c.arguments, got, want)
			}
		}
	})
}

// Pieces of one entry are put together; entries that differ stay apart.
func TestFragments(t *testing.T) {
	for _, test := range []struct{ pieces, want, text string }{
		{`[{"type":"t","index":0,"text":"a"}] | [{"type":"t","index":1,"text":"b"}] | [{"type":"t","index":0,"text":"c","signature":"s"}]`,
			`{"type":"t","index":0,"signature":"s","text":"ac"},{"type":"t","index":1,"text":"b"}`, "abc"},
		{`[{"type":"t","text":"a","signature":""}] | [{"type":"t","text":"b","signature":"s"}] | [{"type":"t","text":"c"}]`,
			`{"type":"t","signature":"s","text":"ab"},{"type":"t","text":"c"}`, "abc"},
		{`[{"type":"e","data":"x","index":0}] | [{"type":"e","data":"y","index":0}] | [{"type":"e","data":"y","index":0}]`,
			`{"type":"e","data":"x","index":0},{"type":"e","data":"y","index":0}`, ""},
		{`[{"type":"reasoning","summary":[{"type":"summary_text","text":"a"}]}] | [{"type":"reasoning","summary":[{"type":"summary_text","text":"b","signature":"s"}]}]`,
			`{"type":"reasoning","summary":[{"type":"summary_text","signature":"s","text":"ab"}]}`, "ab"},
		{`[{"type":"t","id":"1","text":"a"}] | [{"type":"t","id":"2","text":"b"}] | [{"type":"t","text":"\ud83d"}] | [{"type":"t","text":"\ude00"}]`,
			`{"type":"t","id":"1","text":"a"},{"type":"t","id":"2","text":"b😀"}`, "ab😀"},
	} {
		var f fragments
		var text []byte
		for piece := range strings.SplitSeq(test.pieces, " | ") {
			text = appendPiece(text, f.add(gjson.Parse(piece)))
		}
		if got := fmt.Sprintf("%s %s", f.json(), text); got != test.want+" "+test.text {
			t.Errorf("got  %s\nwant %s %s", got, test.want, test.text)
		}
	}
}

// Deltas that name no item belong to one item, however many there are.
func TestManyDeltasWithoutIndex(t *testing.T) {
	body := strings.Repeat(`data: {"type":"response.output_text.delta","delta":"ab"}`+"\n\n", 2*maxBlocks) +
		`data: {"type":"response.completed","response":{"status":"completed","output":[]}}` + "\n\n"
	if got := decode(t, bodyIn{api: "responses", data: []byte(body)}); got.err != nil || len(got.text) != 4*maxBlocks {
		t.Errorf("%d bytes of text, %v", len(got.text), got.err)
	}
}

// What an endpoint invents to cost time ends soon: each event looks through what
// came before.
func TestManyItems(t *testing.T) {
	end := `data: {"type":"response.completed","response":{"status":"completed","output":[]}}` + "\n\n"
	body := ""
	for i := range 2 * maxItems {
		body += fmt.Sprintf("data: {\"type\":\"response.output_text.delta\",\"output_index\":%d,\"delta\":\"a\"}\n\n", i)
	}
	if got := decode(t, bodyIn{api: "responses", data: []byte(body + end)}); got.err == nil || got.err.(*Error).Kind != TooLarge {
		t.Errorf("items: %v", got.err)
	}
	body = ""
	for i := range 2 * maxItems {
		body += fmt.Sprintf("data: {\"type\":\"response.output_text.delta\",\"content_index\":%d,\"delta\":\"a\"}\n\n", i)
	}
	if got := decode(t, bodyIn{api: "responses", data: []byte(body + end)}); got.err != nil || len(got.text) != 2*maxItems {
		t.Errorf("parts: %d bytes, %v", len(got.text), got.err)
	}
}

// Calls without name and arguments count too: what comes behind too many is not read,
// so the reply must not seem whole.
func TestManyCalls(t *testing.T) {
	call := `{"delta":{"tool_calls":[{"index":%d,"function":{"name":"%s"}}]}}`
	body := ""
	for i := range maxCalls + 2 {
		body += "data: {\"choices\":[" + fmt.Sprintf(call, i, "f"[:i/(maxCalls+1)]) + "]}\n\n"
	}
	body += `data: {"choices":[{"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	if got := decode(t, bodyIn{api: "chat", data: []byte(body)}); got.err == nil || got.err.(*Error).Kind != TooLarge {
		t.Errorf("%+v, %v", got.reply, got.err)
	}
}

// The signature that Gemini adds to a call belongs to its endpoint and model too.
func TestExtraOfCalls(t *testing.T) {
	m := Message{Role: Assistant, Calls: []Call{{ID: "a", Name: "f", Extra: []byte(`"extra_content":{"s":1}`)}}}
	if stateOf(t, m) != nil {
		t.Error("a message that no endpoint wrote has a state")
	}
	m.Opaque = Opaque{api: "chat", endpoint: "http://127.0.0.1:1", model: "m"}
	read := Message{Role: Assistant, Calls: m.Calls}
	if err := read.RestoreState(stateOf(t, m)); err != nil {
		t.Fatal(err)
	}
	c := newClient(t, Config{BaseURL: "http://127.0.0.1:1"})
	for _, test := range []struct {
		model string
		kept  bool
	}{{"m", true}, {"other", false}} {
		messages := []Message{read}
		from := c.Adopt(&Request{Model: test.model}, messages)
		if kept := messages[0].Calls[0].Extra != nil; kept != test.kept || (from == "") != test.kept {
			t.Errorf("%s: kept %v, from %q", test.model, kept, from)
		}
	}
	if read.Calls[0].Extra == nil {
		t.Error("the calls of the caller were changed")
	}
}
