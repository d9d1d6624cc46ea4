//go:build unix

package endtoend

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A replyWriter writes one reply in a provider's dialect. Each method writes the
// events of one instruction.
type replyWriter interface {
	text(string) string
	reasoning(string) string
	call(id, name, arguments string) string
	finish(word string) string // for "calls" it writes the dialect's own word
	usage(in, out int) string
	done() string
}

func newReplyWriter(dialect string, number int) replyWriter {
	switch dialect {
	case "messages":
		return &messagesWriter{number: number}
	case "responses":
		return &responsesWriter{number: number}
	}
	return &chatWriter{number: number}
}

func quote(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// split cuts arguments in two pieces, between characters.
func split(s string) (string, string) {
	at := len(s) / 2
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[:at], s[at:]
}

type chatWriter struct{ number, calls int }

func (w *chatWriter) chunk(delta, finish string) string {
	return fmt.Sprintf(`data: {"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1,"model":"fake-1","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", w.number, delta, finish)
}

func (w *chatWriter) text(s string) string { return w.chunk(`{"content":`+quote(s)+`}`, "null") }
func (w *chatWriter) reasoning(s string) string {
	return w.chunk(`{"reasoning_content":`+quote(s)+`}`, "null")
}

func (w *chatWriter) call(id, name, arguments string) string {
	if id == "" {
		id = fmt.Sprintf("call_%d_%d", w.number, w.calls)
	}
	index := w.calls
	w.calls++
	first, second := split(arguments)
	return w.chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]}`, index, quote(id), quote(name), quote(first)), "null") +
		w.chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, index, quote(second)), "null")
}

func (w *chatWriter) finish(word string) string {
	if word == "calls" {
		word = "tool_calls"
	}
	return w.chunk(`{}`, quote(word))
}

func (w *chatWriter) usage(in, out int) string {
	return fmt.Sprintf(`data: {"id":"chatcmpl-%d","object":"chat.completion.chunk","created":1,"model":"fake-1","choices":[],"usage":{"prompt_tokens":%d,"completion_tokens":%d,"total_tokens":%d}}`+"\n\n", w.number, in, out, in+out)
}

func (w *chatWriter) done() string { return "data: [DONE]\n\n" }

type messagesWriter struct {
	number, block int
	open          string // kind of the open block
	started       bool
	stop          string
}

func (w *messagesWriter) event(name, data string) string {
	start := ""
	if !w.started {
		w.started = true
		start = w.event("message_start", fmt.Sprintf(`{"type":"message_start","message":{"id":"msg_%d","type":"message","role":"assistant","model":"fake-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}`, w.number))
	}
	return start + "event: " + name + "\ndata: " + data + "\n\n"
}

func (w *messagesWriter) begin(kind, block string) string {
	if w.open == kind && kind != "tool_use" {
		return ""
	}
	text := w.end() + w.event("content_block_start", fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, w.block, block))
	w.open = kind
	return text
}

func (w *messagesWriter) end() string {
	if w.open == "" {
		return ""
	}
	text := ""
	if w.open == "thinking" {
		text = w.delta(`{"type":"signature_delta","signature":"c2lnbmVk"}`)
	}
	text += w.event("content_block_stop", fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, w.block))
	w.open = ""
	w.block++
	return text
}

func (w *messagesWriter) delta(delta string) string {
	return w.event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, w.block, delta))
}

func (w *messagesWriter) text(s string) string {
	return w.begin("text", `{"type":"text","text":""}`) + w.delta(`{"type":"text_delta","text":`+quote(s)+`}`)
}

func (w *messagesWriter) reasoning(s string) string {
	return w.begin("thinking", `{"type":"thinking","thinking":"","signature":""}`) + w.delta(`{"type":"thinking_delta","thinking":`+quote(s)+`}`)
}

func (w *messagesWriter) call(id, name, arguments string) string {
	if id == "" {
		id = fmt.Sprintf("toolu_%d_%d", w.number, w.block)
	}
	first, second := split(arguments)
	return w.begin("tool_use", fmt.Sprintf(`{"type":"tool_use","id":%s,"name":%s,"input":{}}`, quote(id), quote(name))) +
		w.delta(`{"type":"input_json_delta","partial_json":`+quote(first)+`}`) +
		w.delta(`{"type":"input_json_delta","partial_json":`+quote(second)+`}`)
}

func (w *messagesWriter) finish(word string) string {
	if own, ok := map[string]string{"calls": "tool_use", "stop": "end_turn", "length": "max_tokens"}[word]; ok {
		word = own
	}
	w.stop = word
	return w.end()
}

func (w *messagesWriter) usage(in, out int) string {
	return w.event("message_delta", fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%s,"stop_sequence":null},"usage":{"output_tokens":%d}}`, quote(w.stop), out))
}

func (w *messagesWriter) done() string { return w.event("message_stop", `{"type":"message_stop"}`) }

type responsesWriter struct {
	number, sequence int
	started          bool
	items            []string // finished items
	kind, body       string   // of the open item
	status           string
	in, out          int
}

func (w *responsesWriter) event(name, fields string) string {
	start := ""
	if !w.started {
		w.started = true
		start = w.event("response.created", fmt.Sprintf(`"response":{"id":"resp_%d","object":"response","status":"in_progress","model":"fake-1","output":[]}`, w.number))
	}
	w.sequence++
	return start + fmt.Sprintf("event: %s\ndata: {\"type\":%s,\"sequence_number\":%d,%s}\n\n", name, quote(name), w.sequence, fields)
}

func (w *responsesWriter) id() string { return fmt.Sprintf("item_%d_%d", w.number, len(w.items)) }

func (w *responsesWriter) begin(kind string) string {
	if w.kind == kind {
		return ""
	}
	text := w.end()
	w.kind = kind
	if kind == "reasoning" {
		return text + w.event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":{"type":"reasoning","id":%s,"summary":[]}`, len(w.items), quote(w.id())))
	}
	return text + w.event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":{"type":"message","id":%s,"status":"in_progress","role":"assistant","content":[]}`, len(w.items), quote(w.id()))) +
		w.event("response.content_part.added", fmt.Sprintf(`"item_id":%s,"output_index":%d,"content_index":0,"part":{"type":"output_text","text":"","annotations":[]}`, quote(w.id()), len(w.items)))
}

func (w *responsesWriter) end() string {
	if w.kind == "" {
		return ""
	}
	text, item := "", ""
	if w.kind == "reasoning" {
		item = fmt.Sprintf(`{"type":"reasoning","id":%s,"summary":[{"type":"summary_text","text":%s}],"encrypted_content":"c2VjcmV0"}`, quote(w.id()), quote(w.body))
	} else {
		text = w.event("response.output_text.done", fmt.Sprintf(`"item_id":%s,"output_index":%d,"content_index":0,"text":%s`, quote(w.id()), len(w.items), quote(w.body)))
		item = fmt.Sprintf(`{"type":"message","id":%s,"status":"completed","role":"assistant","content":[{"type":"output_text","text":%s,"annotations":[]}]}`, quote(w.id()), quote(w.body))
	}
	text += w.event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, len(w.items), item))
	w.items = append(w.items, item)
	w.kind, w.body = "", ""
	return text
}

func (w *responsesWriter) text(s string) string {
	text := w.begin("message") + w.event("response.output_text.delta", fmt.Sprintf(`"item_id":%s,"output_index":%d,"content_index":0,"delta":%s`, quote(w.id()), len(w.items), quote(s)))
	w.body += s
	return text
}

func (w *responsesWriter) reasoning(s string) string {
	text := w.begin("reasoning") + w.event("response.reasoning_summary_text.delta", fmt.Sprintf(`"item_id":%s,"output_index":%d,"summary_index":0,"delta":%s`, quote(w.id()), len(w.items), quote(s)))
	w.body += s
	return text
}

func (w *responsesWriter) call(id, name, arguments string) string {
	text := w.end()
	if id == "" {
		id = fmt.Sprintf("call_%d_%d", w.number, len(w.items))
	}
	item := func(arguments, status string) string {
		return fmt.Sprintf(`{"type":"function_call","id":%s,"status":%s,"call_id":%s,"name":%s,"arguments":%s}`, quote(w.id()), quote(status), quote(id), quote(name), quote(arguments))
	}
	text += w.event("response.output_item.added", fmt.Sprintf(`"output_index":%d,"item":%s`, len(w.items), item("", "in_progress")))
	first, second := split(arguments)
	for _, piece := range []string{first, second} {
		text += w.event("response.function_call_arguments.delta", fmt.Sprintf(`"item_id":%s,"output_index":%d,"delta":%s`, quote(w.id()), len(w.items), quote(piece)))
	}
	text += w.event("response.function_call_arguments.done", fmt.Sprintf(`"item_id":%s,"output_index":%d,"arguments":%s`, quote(w.id()), len(w.items), quote(arguments)))
	done := item(arguments, "completed")
	text += w.event("response.output_item.done", fmt.Sprintf(`"output_index":%d,"item":%s`, len(w.items), done))
	w.items = append(w.items, done)
	return text
}

func (w *responsesWriter) finish(word string) string {
	w.status = word
	return w.end()
}

func (w *responsesWriter) usage(in, out int) string {
	w.in, w.out = in, out
	return ""
}

func (w *responsesWriter) done() string {
	name, status, details := "response.completed", "completed", "null"
	switch w.status {
	case "length":
		name, status, details = "response.incomplete", "incomplete", `{"reason":"max_output_tokens"}`
	case "content_filter":
		name, status, details = "response.incomplete", "incomplete", `{"reason":"content_filter"}`
	}
	return w.event(name, fmt.Sprintf(`"response":{"id":"resp_%d","object":"response","status":%s,"incomplete_details":%s,"model":"fake-1","output":[%s],"usage":{"input_tokens":%d,"output_tokens":%d,"total_tokens":%d}}`,
		w.number, quote(status), details, strings.Join(w.items, ","), w.in, w.out, w.in+w.out))
}
