package stream

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// fuzzDialect feeds a decoder with events made of fuzz bytes and compares it
// with a slow reader of the same events.
func fuzzDialect(f *testing.F, api string, event func(*chunkWriter) string, slow func([]map[string]any) string) {
	for i := range 60 {
		f.Add([]byte(strings.Repeat(string([]byte{byte(i), byte(i / 3), byte(i * 7), byte(i * 11), byte(i * 5)}), 7)), uint16(i))
	}
	f.Fuzz(func(t *testing.T, in []byte, step uint16) {
		w := &chunkWriter{in[:min(len(in), 200)]}
		var events []map[string]any
		body := ""
		for len(w.in) > 0 {
			data := event(w)
			var v map[string]any
			if err := json.Unmarshal([]byte(data), &v); err != nil {
				t.Fatalf("%s: %v", data, err)
			}
			events = append(events, v)
			body += "data: " + data + "\n\n"
		}
		want := uniqueIDs(slow(events))
		for _, in := range []bodyIn{{}, {slow: true}, {reads: []int{int(step)}}} {
			in.api, in.data = api, []byte(body)
			if got := printed(decode(t, in)); got != want {
				t.Fatalf("slow %v, reads %v\n got %s\nwant %s\nof %s", in.slow, in.reads, got, want, body)
			}
		}
	})
}

func (w *chunkWriter) messagesEvent() string {
	index := w.pick("0", "0", "1", "2")
	switch w.pick("text", "text", "start", "input", "thinking", "stop", "begin", "delta", "end", "error", "ping") {
	case "start":
		return `{"type":"content_block_start","index":` + index + `,"content_block":` + w.pick(`{"type":"text","text":""}`, `{"type":"text","text":"t"}`,
			`{"type":"tool_use","id":"a","name":"f","input":{}}`, `{"type":"tool_use","id":"b","name":"g","input":{"x":1}}`,
			`{"type":"thinking","thinking":""}`, `{"type":"server_tool_use","id":"s","name":"w","input":{}}`) + `}`
	case "input":
		return `{"type":"content_block_delta","index":` + index + `,"delta":{"type":"input_json_delta","partial_json":` + w.pick(`""`, `"{\"a\":"`, `"1}"`) + `}}`
	case "thinking":
		return `{"type":"content_block_delta","index":` + index + `,"delta":{"type":"thinking_delta","thinking":"h"}}`
	case "stop":
		return `{"type":"content_block_stop","index":` + index + `}`
	case "begin":
		return `{"type":"message_start","message":{"id":` + w.pick(`"m1"`, `"m2"`) + `}}`
	case "delta":
		return `{"type":"message_delta","delta":{"stop_reason":` + w.pick(`"end_turn"`, `"tool_use"`, `null`) + `}}`
	case "end":
		return `{"type":"message_stop"}`
	case "error":
		return w.pick(`{"type":"news"}`, `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`)
	case "ping":
		return `{"type":"ping"}`
	}
	return `{"type":"content_block_delta","index":` + index + `,"delta":{"type":"text_delta","text":` + w.pick(`"a"`, `"b\n"`, `""`) + `}}`
}

type slowBlock struct {
	kind, id, name, input string
	index                 int
	whole                 string // input in the start
	stopped               bool
}

// slowMessages reads the events of a message, one rule after another.
func slowMessages(events []map[string]any) string {
	var blocks []*slowBlock
	text, reasoning, finish, id := "", "", "", ""
	seen, done := false, false
	get := func(v any, key string) any { m, _ := v.(map[string]any); return m[key] }
	str := func(v any) string { s, _ := v.(string); return s }
	start := func(index int, v any) *slowBlock {
		b := &slowBlock{kind: str(get(v, "type")), id: str(get(v, "id")), name: str(get(v, "name")), index: index}
		if input, _ := get(v, "input").(map[string]any); len(input) > 0 {
			w, _ := json.Marshal(input)
			b.whole = string(w)
		}
		if b.kind == "text" {
			text += str(get(v, "text"))
		}
		blocks = append(blocks, b)
		seen = true
		return b
	}
	at := func(index int) *slowBlock {
		for i := len(blocks) - 1; i >= 0; i-- {
			if blocks[i].index == index {
				return blocks[i]
			}
		}
		return nil
	}
	for _, e := range events {
		n, _ := e["index"].(float64)
		index := int(n)
		switch e["type"] {
		case "error":
			return "error"
		case "message_start":
			next := str(get(e["message"], "id"))
			if seen && next == id {
				continue
			}
			var kept []*slowBlock
			for _, b := range blocks {
				if b.kind != "thinking" && (b.kind != "tool_use" || b.stopped) {
					kept = append(kept, b)
				}
				b.index = -1
			}
			blocks, seen, id = kept, true, next
		case "content_block_start":
			start(index, e["content_block"])
		case "content_block_stop":
			if b := at(index); b != nil {
				b.stopped = true
			}
		case "content_block_delta":
			kind := map[string]string{"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "tool_use"}[str(get(e["delta"], "type"))]
			b := at(index)
			if b == nil || b.kind != kind && !(kind == "tool_use" && b.kind == "server_tool_use") && !(kind != "tool_use" && b.kind == "server_tool_use") {
				b = start(index, map[string]any{"type": kind})
			}
			text += str(get(e["delta"], "text"))
			reasoning += str(get(e["delta"], "thinking"))
			b.input += str(get(e["delta"], "partial_json"))
		case "message_delta":
			if s := str(get(e["delta"], "stop_reason")); s != "" {
				finish = s
			}
		case "message_stop":
			done = true
		}
		if done {
			break
		}
	}
	if !seen || (finish == "" && !done) {
		return "error"
	}
	s := fmt.Sprintf("text %q reasoning %q finish %q", text, reasoning, finish)
	if finish == "tool_use" && !slices.ContainsFunc(blocks, func(b *slowBlock) bool { return b.kind == "tool_use" }) {
		return "error"
	}
	for _, b := range blocks {
		if b.kind == "tool_use" {
			if b.name == "" {
				return "error"
			}
			if b.input == "" {
				b.input = b.whole
			}
			s += fmt.Sprintf(" call %s %q %q", b.id, b.name, b.input)
		}
	}
	return s
}

func FuzzMessages(f *testing.F) {
	fuzzDialect(f, "messages", (*chunkWriter).messagesEvent, slowMessages)
}
