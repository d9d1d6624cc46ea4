package stream

import (
	"strings"
	"testing"
)

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
