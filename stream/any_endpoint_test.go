package stream

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// sentTo returns the conversation that a client sends, after change has changed its options.
func sentTo(t *testing.T, api string, messages []Message, change func(*options)) gjson.Result {
	t.Helper()
	c := newClient(t, Config{API: api, BaseURL: "http://127.0.0.1:1"})
	if change != nil {
		change(&c.options)
	}
	body := gjson.ParseBytes(c.body(&Request{Model: "m", Messages: messages}).bytes())
	if api == "responses" {
		return body.Get("input")
	}
	return body.Get("messages")
}

// callRound is a question, a round with one call, and the next question. state is the endpoint's; a
// question mark in it is the id of the call.
func callRound(id, api, state string) []Message {
	call := Message{Role: Assistant, Calls: []Call{{ID: id, Name: "f", Arguments: []byte("{}")}}}
	if api != "" {
		call.Opaque = Opaque{api: api, endpoint: "http://127.0.0.1:1", model: "m", json: []byte(strings.ReplaceAll(state, "?", id))}
	}
	return []Message{{Role: User, Parts: []Part{{Text: "a"}}}, call, {Role: ToolRole, CallID: id, Name: "f", Parts: []Part{{Text: "ok"}}}, {Role: User, Parts: []Part{{Text: "b"}}}}
}

// idPaths are the paths of the id in a call and in its result, in a round without state.
var idPaths = map[string][2]string{
	"chat":      {"1.tool_calls.0.id", "2.tool_call_id"},
	"messages":  {"1.content.0.id", "2.content.0.tool_use_id"},
	"responses": {"1.call_id", "2.call_id"},
}

// An id goes to an endpoint as it came, unless the endpoint may refuse it.
func TestIDsOfCalls(t *testing.T) {
	nine := func(o *options) { o.nineIDs = true }
	maps := func(o *options) { o.mapsIDs = true }
	l := func(n int) string { return strings.Repeat("x", n) }
	for _, test := range []struct {
		api, id string
		own     bool
		change  func(*options)
		kept    bool
	}{
		{"chat", "call_AbCdEfGhIjKlMnOpQrStUvWx", false, nil, true},
		{"chat", "functions.f:0", false, nil, true},
		{"chat", l(40), false, nil, true},
		{"chat", l(41), false, nil, false},
		{"chat", l(41), true, nil, true},
		{"chat", l(41), true, maps, false},
		{"chat", "functions.f:0", true, maps, false},
		{"chat", "call_1", true, maps, true},
		{"chat", "call_1", true, nine, false},
		{"chat", "abcDEF123", false, nine, true},
		{"chat", "abc_EF123", false, nine, false},
		{"messages", "functions.f:0", false, nil, false},
		{"messages", "functions.f:0", true, nil, true},
		{"messages", "functions.f:0", true, maps, false},
		{"messages", l(64), false, nil, true},
		{"messages", l(65), false, nil, false},
		{"messages", "toolu_1", false, nine, false},
		{"responses", "functions.f:0", false, nil, true},
		{"responses", l(64), false, nil, true},
		{"responses", l(65), false, nil, false},
		{"responses", l(69), true, nil, true},
		{"responses", l(69), true, maps, false},
	} {
		api := ""
		if test.own {
			api = test.api
		}
		messages := callRound(test.id, api, "")
		sent := sentTo(t, test.api, messages, test.change)
		call, result := sent.Get(idPaths[test.api][0]).Str, sent.Get(idPaths[test.api][1]).Str
		if call != result || (call == test.id) != test.kept || !test.kept && len(call) != 32 && (len(call) != 9 || !hasOnly(call, "")) {
			t.Errorf("%s, own %v: %s is sent as %q, its result as %q", test.api, test.own, test.id, call, result)
		}
		if again := sentTo(t, test.api, messages, test.change); again.Raw != sent.Raw || messages[1].Calls[0].ID != test.id || messages[2].CallID != test.id {
			t.Errorf("%s: %s is not always the same, or was changed in the conversation", test.api, test.id)
		}
	}
}

// The endpoint's state repeats the ids of calls.
func TestIDsInState(t *testing.T) {
	for api, test := range map[string]struct{ state, call, result, other string }{
		"messages":  {`{"type":"server_tool_use","id":"s_1"},{"type":"tool_use","id":"?","name":"f","input":{},"caller":{"type":"direct"}}`, "1.content.1.id", "2.content.0.tool_use_id", "1.content.0.id"},
		"responses": {`{"type":"reasoning","id":"s_1","encrypted_content":"E"},{"type":"function_call","id":"fc_1","call_id":"?","name":"f","arguments":"{}","namespace":"d"}`, "2.call_id", "3.call_id", "1.id"},
	} {
		messages := callRound("call_1", api, test.state)
		for _, change := range []func(*options){nil, func(o *options) { o.nineIDs = true }} {
			sent := sentTo(t, api, messages, change)
			call, result := sent.Get(test.call).Str, sent.Get(test.result).Str
			if call != result || (call == "call_1") != (change == nil) || call == "" || sent.Get(test.other).Str != "s_1" || !strings.Contains(sent.Raw, "direct") && !strings.Contains(sent.Raw, "namespace") {
				t.Errorf("%s: %s", api, sent.Raw)
			}
		}
	}
}

func TestMistralIDs(t *testing.T) {
	for url, nine := range map[string]bool{"https://api.mistral.ai/v1": true, "https://codestral.mistral.ai/v1": true, "https://api.openai.com/v1": false, "https://notmistral.ai/v1": false} {
		if c := newClient(t, Config{BaseURL: url}); c.options.nineIDs != nine {
			t.Errorf("%s: %v", url, c.options.nineIDs)
		}
	}
}

// A replay has no host, so it decides by the recorded ids: at its beginning, and when another model
// takes over.
func TestReplayOfMistral(t *testing.T) {
	s := newModelServer(t, stream(hello), stream(hello))
	cfg := Config{BaseURL: s.URL, Record: filepath.Join(t.TempDir(), "tape")}
	first, second := &Request{Model: "m", Messages: callRound("call_1", "", "")[:1]}, &Request{Model: "m", Messages: callRound("call_1", "", "")}
	recorded := newClient(t, cfg)
	for i, r := range []*Request{first, second} {
		recorded.options.nineIDs = i > 0
		recorded.Rewrite()
		if _, err := recorded.Reply(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	recorded.Close()
	if strings.Contains(s.last(), "call_1") {
		t.Fatal(s.last())
	}
	replayed := newClient(t, Config{Replay: cfg.Record})
	next := newClient(t, Config{Beside: replayed})
	if _, err := replayed.Reply(t.Context(), first, nil); err != nil {
		t.Fatal(err)
	}
	next.Adopt(second, second.Messages)
	if _, err := next.Reply(t.Context(), second, nil); err != nil {
		t.Error(err)
	}
}

// A call of another model gets the state that the endpoint demands, if a refusal or the endpoint's
// own calls showed the demand.
func TestStateOfForeignCalls(t *testing.T) {
	const signature, reasoning = "tool_calls.0.extra_content.google.thought_signature", "reasoning_content"
	own := func(id, state, extra string) []Message {
		m := callRound(id, "chat", state)
		if extra != "" {
			m[1].Calls[0].Extra = []byte(extra)
		}
		return m[1:]
	}
	foreign := callRound("a", "", "")
	signed := own("b", "", `"extra_content":{"google":{"thought_signature":"S"}}`)
	thought := own("b", `"reasoning_content":"hm"`, "")
	for name, test := range map[string]struct {
		messages                    []Message
		change                      func(*options)
		foreign, own, place, place2 string // the JSON at the place in the foreign and in the own call
	}{
		"nothing":            {append(foreign, own("b", "", "")...), nil, "", "", signature, reasoning},
		"signature refused":  {append(foreign, own("b", "", "")...), func(o *options) { o.fill.signature = true }, `"skip_thought_signature_validator"`, `"skip_thought_signature_validator"`, signature, signature},
		"signature learned":  {append(foreign, signed...), nil, `"skip_thought_signature_validator"`, `"S"`, signature, signature},
		"reasoning refused":  {append(foreign, own("b", "", "")...), func(o *options) { o.fill.reasoning = true }, `""`, `""`, reasoning, reasoning},
		"reasoning learned":  {append(foreign, thought...), nil, `""`, `"hm"`, reasoning, reasoning},
		"only own reasoning": {append(foreign[:1:1], append(thought, own("c", "", "")...)...), nil, `"hm"`, "", reasoning, reasoning},
	} {
		sent := sentTo(t, "chat", test.messages, test.change)
		asked := sent.Get(`#(role=="assistant")#`).Array()
		if got := [2]string{asked[0].Get(test.place).Raw, asked[1].Get(test.place2).Raw}; got != [2]string{test.foreign, test.own} {
			t.Errorf("%s: %q in %s", name, got, sent.Raw)
		}
	}

	// Of parallel calls only the first one has a signature.
	parallel := callRound("a", "", "")
	parallel[1].Calls = append(parallel[1].Calls, Call{ID: "b", Name: "f"})
	if sent := sentTo(t, "chat", parallel, func(o *options) { o.fill.signature = true }); sent.Get("1.tool_calls.1.extra_content").Exists() || !sent.Get("1.tool_calls.0.extra_content").Exists() || parallel[1].Calls[0].Extra != nil {
		t.Error(sent.Raw)
	}

	// What a reply shows changes the messages that were sent before.
	c := newClient(t, Config{BaseURL: "http://127.0.0.1:1"})
	r := &Request{Model: "m", Messages: callRound("a", "", "")}
	if first := string(c.body(r).bytes()); strings.Contains(first, reasoning) {
		t.Error(first)
	}
	r.Messages = append(r.Messages, thought...)
	if second := gjson.ParseBytes(c.body(r).bytes()); second.Get("messages.1.reasoning_content").Raw != `""` || second.Get("messages.#").Int() != 7 {
		t.Error(second.Raw)
	}
}

// DeepSeek's form of the messages API demands thinking in each message.
func TestThinkingOfForeignCalls(t *testing.T) {
	messages := append(callRound("a", "", ""), callRound("b", "messages", `{"type":"thinking","thinking":"hm","signature":"S"},{"type":"tool_use","id":"?","name":"f","input":{}}`)[1:]...)
	messages = append(messages, Message{Role: Assistant, Parts: []Part{{Text: "t"}}})
	for _, fills := range []bool{false, true} {
		sent := sentTo(t, "messages", messages, func(o *options) { o.fill.reasoning = fills })
		want := map[bool]string{false: `[["tool_use"],["thinking","tool_use"]]`, true: `[["thinking","tool_use"],["thinking","tool_use"],["thinking","text"]]`}[fills]
		if got := sent.Get(`#(role=="assistant")#.content.#.type`).Raw; got != want {
			t.Errorf("%v: %s in %s", fills, got, sent.Raw)
		}
	}
}

func TestThinkingLeftOut(t *testing.T) {
	c := newClient(t, Config{API: "messages", BaseURL: "http://127.0.0.1:1"})
	r := &Request{Model: "m", Messages: callRound("a", "", ""), Params: []Param{{Name: "thinking", Value: []byte(`{"type":"enabled","budget_tokens":2000}`)}, {Name: "top_k", Value: []byte("5")}}}
	if body := gjson.ParseBytes(c.body(r).bytes()); !body.Get("thinking").Exists() {
		t.Error(body.Raw)
	}
	c.options.noThinking = true
	if body := gjson.ParseBytes(c.body(r).bytes()); body.Get("thinking").Exists() || body.Get("top_k").Int() != 5 {
		t.Error(body.Raw)
	}
}

// The state that an endpoint refused is left out of the messages up to then, in all dialects.
func TestStateLeftOut(t *testing.T) {
	for api, state := range map[string]string{
		"chat":      `"reasoning_content":"STATE"`,
		"messages":  `{"type":"thinking","thinking":"STATE","signature":"S"},{"type":"tool_use","id":"?","name":"f","input":{}}`,
		"responses": `{"type":"reasoning","encrypted_content":"STATE"},{"type":"function_call","call_id":"?","name":"f","arguments":"{}"}`,
	} {
		c := newClient(t, Config{API: api, BaseURL: "http://127.0.0.1:1"})
		r := &Request{Model: "m", Messages: callRound("a", api, state)}
		r.Messages[1].Calls[0].Extra = []byte(`"extra_content":"STATE"`)
		if body := string(c.body(r).bytes()); !strings.Contains(body, "STATE") {
			t.Errorf("%s: %s", api, body)
		}
		c.options.noState = true
		c.Rewrite()
		if body := string(c.body(r).bytes()); strings.Contains(body, "STATE") || strings.Count(body, `"a"`) < 3 {
			t.Errorf("%s: %s", api, body)
		}
		r.Messages = append(r.Messages, callRound("b", api, state)[1:]...)
		if body := string(c.body(r).bytes()); strings.Count(body, "STATE") != 1 {
			t.Errorf("%s: %s", api, body)
		}
	}
}

// A message that says nothing is not sent.
func TestSilentMessages(t *testing.T) {
	user := func(text string) Message { return Message{Role: User, Parts: []Part{{Text: text}}} }
	for name, test := range map[string]struct {
		api, text, state, want string
	}{
		"nothing":                {"chat", "", "", `[{"role":"user","content":"a\n\nb"}]`},
		"white space":            {"chat", " \n", "", `[{"role":"user","content":"a\n\nb"}]`},
		"reasoning":              {"chat", "", `"reasoning_content":"hm"`, `[{"role":"user","content":"a\n\nb"}]`},
		"white space, messages":  {"messages", "\n\n", "", `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`},
		"thinking":               {"messages", "", `{"type":"thinking","thinking":"hm","signature":"S"},{"type":"redacted_thinking","data":"D"}`, `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]`},
		"thinking at the end":    {"messages", "t", `{"type":"text","text":"t"},{"type":"thinking","thinking":"hm","signature":"S"}`, `[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"text","text":"t"}]},{"role":"user","content":[{"type":"text","text":"b"}]}]`},
		"an action":              {"messages", "", `{"type":"server_tool_use","id":"s","name":"n","input":{}}`, `[{"role":"user","content":[{"type":"text","text":"a"}]},{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"n","input":{}}]},{"role":"user","content":[{"type":"text","text":"b"}]}]`},
		"nothing, responses":     {"responses", "", "", `[{"role":"user","content":"a"},{"role":"user","content":"b"}]`},
		"reasoning, responses":   {"responses", "", `{"type":"reasoning","id":"r","encrypted_content":"E"}`, `[{"role":"user","content":"a"},{"role":"user","content":"b"}]`},
		"reasoning at the end":   {"responses", "t", `{"type":"message","role":"assistant","content":[]},{"type":"reasoning","id":"r"},{"type":"reasoning","id":"s"}`, `[{"role":"user","content":"a"},{"type":"message","role":"assistant","content":[]},{"role":"user","content":"b"}]`},
		"reasoning and a search": {"responses", "", `{"type":"reasoning","id":"r"},{"type":"web_search_call","id":"w"}`, `[{"role":"user","content":"a"},{"type":"reasoning","id":"r"},{"type":"web_search_call","id":"w"},{"role":"user","content":"b"}]`},
	} {
		reply := Message{Role: Assistant, Parts: []Part{{Text: test.text}}}
		if test.state != "" {
			reply.Opaque = Opaque{api: test.api, endpoint: "http://127.0.0.1:1", model: "m", json: []byte(test.state)}
		}
		messages := []Message{user("a"), reply, user("b")}
		if got := sentTo(t, test.api, messages, nil); got.Raw != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got.Raw, test.want)
		}
		if strings.Contains(string(writtenMessage(&reply)), "hm") != strings.Contains(test.state, "hm") {
			t.Errorf("%s: the written conversation has lost something", name)
		}
	}
	for api, want := range map[string]string{
		"chat":      `[{"role":"user","content":"a\n\nb"},{"role":"user","content":[{"type":"image_url","image_url":{"url":"http://i"}}]},{"role":"user","content":"c"}]`,
		"messages":  `[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"image","source":{"type":"url","url":"http://i"}},{"type":"text","text":"c"}]}]`,
		"responses": `[{"role":"user","content":"a"},{"role":"user","content":"b"},{"role":"user","content":[{"type":"input_image","image_url":"http://i"}]},{"role":"user","content":"c"}]`,
	} {
		silent := Message{Role: Assistant}
		messages := []Message{user("a"), silent, silent, {Role: System, Parts: []Part{{Text: " "}}}, {Role: User, Parts: []Part{{JSON: []byte(`"b"`)}}},
			{Role: User, Parts: []Part{{Text: " "}, {Image: &Image{URL: "http://i"}}, {JSON: []byte(`"\n\u0020"`)}}}, user("c"), user(" \t")}
		if got := sentTo(t, api, messages, nil); got.Raw != want {
			t.Errorf("%s:\n got %s\nwant %s", api, got.Raw, want)
		}
	}
	noRole := sentTo(t, "chat", []Message{user("a"), {Role: Assistant}, user("b")}, func(o *options) { o.noToolRole = true })
	if want := `[{"role":"user","content":"a\n\nb"}]`; noRole.Raw != want {
		t.Errorf("without the tool role: %s", noRole.Raw)
	}
}

// Members of a call that are not known go back as they came, in the same run and in a later one.
func TestMembersOfCallItems(t *testing.T) {
	item := `{"type":"function_call","call_id":"ID","name":"f","namespace":"d","caller":{"type":"program","caller_id":"p"},"arguments":"{\"x\": 1}"}`
	custom := `{"type":"custom_tool_call","id":"ct_1","call_id":"ID","name":"g","namespace":"d","input":"y"}`
	for _, it := range []string{item, custom} {
		body := `{"object":"response","status":"completed","output":[` + it + `]}`
		r := Request{Messages: []Message{{Role: Assistant, Calls: []Call{{ID: "used", Name: "f"}}}, {Role: ToolRole, CallID: "used"}}}
		for id, sent := range map[string]string{"new": "new", "used": "call00002"} { // an id that is used already is changed
			got := decode(t, bodyIn{api: "responses", data: []byte(strings.ReplaceAll(body, "ID", id)), request: r})
			if got.err != nil {
				t.Fatal(got.err)
			}
			if state, want := string(got.reply.Message.Opaque.json), strings.ReplaceAll(it, "ID", sent); !sameJSON(state, want) || got.reply.Message.Calls[0].ID != sent {
				t.Errorf("got  %s\nwant %s", state, want)
			}
		}
	}
	begun := `data: {"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc_1","call_id":"a","name":"f","namespace":"d","arguments":""}}

data: {"type":"response.function_call_arguments.done","output_index":0,"arguments":"{}"}

data: {"type":"response.completed","response":{"status":"completed","output":[]}}

`
	if got := decode(t, bodyIn{api: "responses", data: []byte(begun)}); got.err != nil || !strings.Contains(string(got.reply.Message.Opaque.json), `"namespace":"d"`) {
		t.Errorf("%v: %s", got.err, got.reply.Message.Opaque.json)
	}
	plain := `{"object":"response","status":"completed","output":[{"type":"function_call","id":"fc_1","call_id":"a","name":"f","namespace":null,"arguments":"{}","status":"completed"}]}`
	if got := decode(t, bodyIn{api: "responses", data: []byte(plain)}); got.err != nil || len(got.reply.Message.Opaque.json) > 0 {
		t.Errorf("%v: %s", got.err, got.reply.Message.Opaque.json)
	}
}
