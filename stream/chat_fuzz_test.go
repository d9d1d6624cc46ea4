package stream

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// chunkWriter makes chunks out of fuzz bytes, so that each of them is a
// chunk that some server could send.
type chunkWriter struct{ in []byte }

func (w *chunkWriter) pick(choices ...string) string {
	if len(w.in) == 0 {
		return choices[0]
	}
	b := w.in[0]
	w.in = w.in[1:]
	return choices[int(b)%len(choices)]
}

func (w *chunkWriter) tool() string {
	return "{" + strings.Trim(w.pick("", `"index":0,`, `"index":1,`, `"index":"0",`)+
		w.pick("", `"id":"a",`, `"id":"b",`, `"id":"",`, `"id":7,`)+
		w.pick("", `"function":{"name":"f"},`, `"function":{"name":"g","arguments":"{}"},`, `"function":{"name":"f","arguments":"{\"a\":"},`,
			`"function":{"arguments":"1}"},`, `"function":{"name":"","arguments":"{\"a\":1}"},`, `"function":{"name":"f","arguments":"{\"a\":1}"},`,
			`"function":{"arguments":{"b":[1]}},`, `"function":{"name":"f","arguments":null},`), ",") + "}"
}

func (w *chunkWriter) delta() string {
	switch w.pick("text", "text", "text", "tool", "tools", "reason", "both", "parts", "empty", "null") {
	case "tool":
		return `{"tool_calls":[` + w.tool() + `]}`
	case "tools":
		return `{"content":null,"tool_calls":[` + w.tool() + "," + w.tool() + `]}`
	case "reason":
		return `{` + w.pick(`"reasoning"`, `"reasoning_content"`, `"thinking"`) + `:"hm","content":""}`
	case "both":
		return `{"reasoning":"h","reasoning_content":"m","content":"x"}`
	case "parts":
		return `{"content":["a",{"type":"text","text":"b"}]}`
	case "empty":
		return `{}`
	case "null":
		return `null`
	}
	return `{"content":` + w.pick(`"a"`, `"b\n"`, `""`, `"\u00e9\ud83d\ude00"`, `"0123456789\\\"012345"`) + `}`
}

func (w *chunkWriter) chunk() string {
	switch w.pick("delta", "delta", "delta", "delta", "finish", "message", "other", "usage", "done", "error") {
	case "finish":
		return `{"choices":[{"delta":` + w.delta() + `,"finish_reason":` + w.pick(`"stop"`, `"tool_calls"`, `""`, `null`, `"error"`) + `}]}`
	case "message":
		return `{"choices":[{` + w.pick("", `"delta":{},`, `"delta":{"content":"d"},`) + `"message":` + w.delta() + `,"finish_reason":null}]}`
	case "other":
		return `{"choices":[{"index":1,"delta":` + w.delta() + `},{"index":0,"delta":` + w.delta() + `}]}`
	case "usage":
		return `{"choices":[],"usage":{"prompt_tokens":1}}`
	case "done":
		return "[DONE]"
	case "error":
		return w.pick(`{"error":null,"choices":[]}`, `{"error":{"message":"x"}}`, `{"error":""}`, `{"object":"error"}`)
	}
	return `{"id":"c","choices":[{"index":0,"delta":` + w.delta() + `,"finish_reason":null}]}`
}

// printed is what slowChat prints, of a decoded reply.
func printed(d decoded) string {
	if d.err != nil {
		return "error"
	}
	s := fmt.Sprintf("text %q reasoning %q finish %q", d.text, d.reasoning, d.reply.Finish)
	ids := map[string]bool{}
	for _, c := range d.reply.Message.Calls {
		id := c.ID
		if strings.HasPrefix(id, "call0") && len(id) == 9 {
			id = ""
		}
		if ids[c.ID] {
			return "two calls have the id " + c.ID
		}
		ids[c.ID] = true
		s += fmt.Sprintf(" call %s %q %q", id, c.Name, c.Arguments)
	}
	return s
}

// uniqueIDs drops repeated ids from what slowChat prints, as the client does.
func uniqueIDs(s string) string {
	parts := strings.Split(s, " call ")
	seen := map[string]bool{}
	for i, p := range parts[1:] {
		id, rest, _ := strings.Cut(p, " ")
		if seen[id] {
			parts[i+1] = " " + rest
		}
		seen[id] = id != ""
	}
	return strings.Join(parts, " call ")
}

func FuzzChat(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x01\x00\x01\x02\x04\x00\x00"), uint16(1))
	f.Add([]byte("\x00\x03\x01\x01\x06\x00\x03\x01\x02\x06\x04\x08\x01"), uint16(7))
	for i := range 40 {
		f.Add([]byte(strings.Repeat(string([]byte{byte(i), byte(i / 2), byte(i * 7), byte(i * 13), byte(i * 5)}), 6)), uint16(i))
	}
	f.Fuzz(func(t *testing.T, in []byte, step uint16) {
		w := &chunkWriter{in[:min(len(in), 200)]}
		var chunks []string
		body := ""
		for len(w.in) > 0 {
			c := w.chunk()
			chunks = append(chunks, c)
			body += "data: " + c + "\n\n"
		}
		want := uniqueIDs(slowChat(chunks))
		for _, in := range []bodyIn{{}, {slow: true}, {reads: []int{int(step)}}} {
			in.api, in.data = "chat", []byte(body)
			if got := printed(decode(t, in)); got != want {
				t.Fatalf("slow %v, reads %v\n got %s\nwant %s\nof %s", in.slow, in.reads, got, want, body)
			}
		}
	})
}

// Whatever bytes come, the fast way and the slow way agree, the reads do not
// matter, and all that is shown is in the reply.
func FuzzDecoders(f *testing.F) {
	for i, d := range dialects {
		for _, c := range readRules(f, d.name) {
			f.Add(c.events(), uint8(i), uint16(3))
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, api uint8, step uint16) {
		in := bodyIn{api: dialects[int(api)%len(dialects)].name, data: body}
		whole := decode(t, in)
		in.reads = []int{int(step)}
		split := decode(t, in)
		in.reads, in.slow = nil, true
		slow := decode(t, in)
		for _, other := range []decoded{split, slow} {
			if other.text != whole.text || other.reasoning != whole.reasoning || (other.err == nil) != (whole.err == nil) {
				t.Fatalf("%+v\n%+v", whole, other)
			}
			if a, _ := json.Marshal(other.reply); whole.err == nil {
				if b, _ := json.Marshal(whole.reply); string(a) != string(b) {
					t.Fatalf("%s\n%s", a, b)
				}
			}
		}
		if whole.err == nil && !whole.reply.HasAside && textOfParts(whole.reply.Message.Parts) != whole.text {
			t.Fatalf("shown %q, replied %q", whole.text, textOfParts(whole.reply.Message.Parts))
		}
	})
}
