package stream

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// The reply of a model as it is meant. The writers below write it in any subset
// of the forms that endpoints use; whatever they leave out or say twice, the same
// reply must come out, or an error.
type meantReply struct {
	items []meantItem
	moved bool // events may be in another order than the items
}

type meantItem struct {
	kind      string // message, reasoning or call
	text      string
	name, id  string
	arguments string
	phase     string
}

func (w *chunkWriter) reply(onlyOneText bool) (m meantReply) {
	texts := []string{"ok", "a\"b\\c\n", "\u00e9\U0001f600 x", "ok", " ", "{}"}
	kinds := map[string]int{}
	for range 1 + len(w.pick("", "1", "22", "333")) {
		it := meantItem{kind: w.pick("message", "call", "reasoning")}
		if n := kinds[it.kind]; onlyOneText && n > 0 && it.kind != "call" {
			continue
		}
		kinds[it.kind]++
		switch it.kind {
		case "call":
			it.name, it.id = fmt.Sprint("f", kinds[it.kind]), fmt.Sprint("call_", kinds[it.kind])
			it.arguments = w.pick(`{"a": 1}`, `{"a":"}\\\"{"}`, `{}`, `{"a": 1}`)
		case "message":
			it.text = w.pick(texts...)
			it.phase = w.pick("", "", "commentary", "final_answer")
		default:
			it.text = w.pick(texts...)
		}
		m.items = append(m.items, it)
	}
	return m
}

func (m *meantReply) has(kind string) bool {
	for _, it := range m.items {
		if it.kind == kind {
			return true
		}
	}
	return false
}

func (m *meantReply) String() string {
	return fmt.Sprintf("text %q reasoning %q calls%s", m.text(true), m.reasoning(), m.calls())
}

// text is the text of the messages, with or without commentary.
func (m *meantReply) text(asides bool) (text string) {
	for _, it := range m.items {
		if it.kind == "message" && (asides || it.phase != "commentary") {
			text += it.text
		}
	}
	return text
}

func (m *meantReply) reasoning() (text string) {
	for _, it := range m.items {
		if it.kind == "reasoning" {
			text += it.text
		}
	}
	return text
}

func (m *meantReply) calls() (text string) {
	for _, it := range m.items {
		if it.kind == "call" {
			text += fmt.Sprintf(" %s %s", it.name, it.arguments)
		}
	}
	return text
}

// pieces cuts a text into deltas, also inside of a surrogate pair.
func (w *chunkWriter) pieces(s string) (literals []string) {
	step := map[string]int{"whole": 1000, "one": 1, "three": 3}[w.pick("whole", "one", "three")]
	units := []rune(s)
	for len(units) > 0 {
		n := min(step, len(units))
		literal := mustJSON(string(units[:n]))
		if n == 1 && units[0] > 0xffff {
			literals = append(literals, fmt.Sprintf(`"\u%04x"`, 0xd800+(units[0]-0x10000)>>10), fmt.Sprintf(`"\u%04x"`, 0xdc00+(units[0]-0x10000)&0x3ff))
		} else {
			literals = append(literals, literal)
		}
		units = units[n:]
	}
	return literals
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func (w *chunkWriter) flag() bool { return w.pick("", "1") == "1" }

// formsWriter writes a reply in a dialect. complete says that the forms it chose
// hold all of the reply.
type formsWriter func(w *chunkWriter) (m meantReply, body string, complete bool)

func fuzzForms(f *testing.F, api string, write formsWriter) {
	for i := range 200 {
		seed := make([]byte, 40)
		n := uint32(i)*2654435761 + 12345
		for k := range seed {
			n = n*1664525 + 1013904223
			seed[k] = byte(n >> 24)
		}
		f.Add(seed, uint16(0), uint16(i%9))
		f.Add(seed, uint16(37*i), uint16(0))
	}
	f.Fuzz(func(t *testing.T, in []byte, cut, step uint16) {
		m, body, complete := write(&chunkWriter{in[:min(len(in), 300)]})
		if body == "" {
			return
		}
		want := m.String()
		if cut > 0 {
			body = body[:int(cut)%(len(body)+1)]
		}
		got := decode(t, bodyIn{api: api, data: []byte(body), reads: []int{int(step)}})
		if got.err != nil {
			if complete && cut == 0 {
				t.Fatalf("%v\nwant %s\nof %s", got.err, want, body)
			}
			return
		}
		calls := ""
		for _, c := range got.reply.Message.Calls {
			calls += fmt.Sprintf(" %s %s", c.Name, sentArguments(c.Arguments))
		}
		if m.moved {
			if len(got.text) != len(m.text(true)) || len(got.reasoning) != len(m.reasoning()) {
				t.Fatalf("\n got text %q reasoning %q\nwant %s\nof %s", got.text, got.reasoning, want, body)
			}
			got.text, got.reasoning, want = textOfParts(got.reply.Message.Parts), "", fmt.Sprintf("text %q reasoning %q calls%s", m.text(m.text(false) == "" && calls != ""), "", m.calls())
		}
		if is := fmt.Sprintf("text %q reasoning %q calls%s", got.text, got.reasoning, calls); is != want {
			t.Fatalf("\n got %s\nwant %s\nof %s", is, want, body)
		}
	})
}

func FuzzResponsesForms(f *testing.F) { fuzzForms(f, "responses", writeResponses) }
func FuzzChatForms(f *testing.F)      { fuzzForms(f, "chat", writeChat) }
func FuzzMessagesForms(f *testing.F)  { fuzzForms(f, "messages", writeMessages) }

// responsesForms says how a response is written.
type responsesForms struct {
	*chunkWriter
	added, deltas, texts, parts, items, completed bool
	ids, indexes, numbers, numbersInWhole         bool
	numbered                                      bool   // with sequence_number
	thought                                       string // how reasoning is named
	body                                          string
	count                                         int
}

func (r *responsesForms) event(kind, format string, args ...any) {
	members := fmt.Sprintf(format, args...)
	if members != "" {
		members = "," + members
	}
	if r.numbered {
		members = fmt.Sprintf(`,"sequence_number":%d`, r.count) + members
		r.count++
	}
	r.body += "data: {\"type\":\"response." + kind + "\"" + members + "}\n\n"
}

func (r *responsesForms) item(i int, it meantItem, filled bool) string {
	v := map[string]any{"type": it.kind}
	if r.ids {
		v["id"] = fmt.Sprint("item_", i)
	}
	switch it.kind {
	case "call":
		v["type"], v["call_id"], v["name"], v["arguments"] = "function_call", it.id, it.name, ""
		if filled {
			v["arguments"] = it.arguments
		}
	case "message":
		v["content"] = []any{}
		if it.phase != "" {
			v["phase"] = it.phase
		}
		if filled {
			v["content"] = []any{map[string]any{"type": "output_text", "text": it.text}}
		}
	case "reasoning":
		v["summary"] = []any{}
		if filled && strings.HasPrefix(r.thought, "reasoning_summary") {
			v["summary"] = []any{map[string]any{"type": "summary_text", "text": it.text}}
		} else if filled {
			v["content"] = []any{map[string]any{"type": "reasoning_text", "text": it.text}}
		}
	}
	return mustJSON(v)
}

func writeResponses(w *chunkWriter) (m meantReply, body string, complete bool) {
	r := &responsesForms{chunkWriter: w, added: w.flag(), deltas: w.flag(), texts: w.flag(), parts: w.flag(), items: w.flag(), completed: w.flag(),
		ids: w.flag(), indexes: w.flag(), numbers: w.flag(), numbersInWhole: w.flag(), numbered: w.flag(),
		thought: w.pick("reasoning_summary_text", "reasoning_text", "reasoning")}
	m = w.reply(false)
	m.moved = r.completed && w.pick("", "", "1") != ""
	var output []string
	for i, it := range m.items {
		output = append(output, r.item(i, it, true))
	}
	end := `"status":"completed","output":[` + strings.Join(output, ",") + "]"
	if w.pick("", "", "", "json") != "" {
		return m, `{"object":"response",` + end + "}", true
	}
	if w.flag() {
		r.event("created", `"response":{"status":"in_progress"}`)
	}
	for i, it := range m.items {
		if named := r.ids || r.indexes; !m.moved || w.flag() || !named && it.kind != "call" { // otherwise it is only in the whole response
			r.write(i, it)
		}
	}
	if !r.completed {
		end = `"status":"completed","output":[]`
	}
	r.event("completed", `"response":{%s}`, end)
	whole := r.items || r.completed
	spoken, called := r.deltas || r.texts || r.parts, r.deltas || r.texts
	if !whole && (!spoken && (m.has("message") || m.has("reasoning")) || !called && !r.added && m.has("call")) {
		return m, "", false // a part of the reply is not written at all
	}
	return m, r.body, whole || !m.has("call") || r.added && called
}

// write writes one item in the forms that were chosen.
func (r *responsesForms) write(i int, it meantItem) {
	var place []string
	if r.ids {
		place = append(place, fmt.Sprintf(`"item_id":"item_%d"`, i))
	}
	if r.indexes {
		place = append(place, fmt.Sprintf(`"output_index":%d`, i))
	}
	at := func(number bool, more string) string {
		all := append(place[:len(place):len(place)], more)
		if number && it.kind != "call" {
			all = append(all, `"content_index":0`)
		}
		return strings.Join(all, ",")
	}
	name, member, kind := "output_text", "text", "output_text"
	switch it.kind {
	case "call":
		name, member = "function_call_arguments", "arguments"
	case "reasoning":
		name, kind = r.thought, strings.Replace(r.thought, "reasoning_summary_text", "summary_text", 1)
	}
	text := it.text + it.arguments
	if r.added {
		r.event("output_item.added", "%s", at(false, `"item":`+r.item(i, it, false)))
	}
	if r.deltas {
		for _, piece := range r.pieces(text) {
			r.event(name+".delta", "%s", at(r.numbers, `"delta":`+piece))
		}
	}
	if r.texts {
		r.event(name+".done", "%s", at(r.numbersInWhole, `"`+member+`":`+mustJSON(text)))
	}
	if r.parts && it.kind != "call" {
		part := "content_part"
		if kind == "summary_text" {
			part = "reasoning_summary_part"
		}
		r.event(part+".done", "%s", at(r.numbersInWhole, `"part":{"type":"`+kind+`","text":`+mustJSON(text)+`}`))
	}
	if r.items {
		r.event("output_item.done", "%s", at(false, `"item":`+r.item(i, it, true)))
	}
}

func writeChat(w *chunkWriter) (m meantReply, body string, complete bool) {
	deltas, message := w.flag(), w.flag()
	ids, indexes, messageIDs, messageIndexes := w.flag(), w.flag(), w.flag(), w.flag()
	field := w.pick("reasoning_content", "reasoning", "thinking")
	m = w.reply(true)
	text, reasoning := "", ""
	var calls []string
	chunk := func(members string) {
		body += `data: {"choices":[{"index":0,` + members + "}]}\n\n"
	}
	call := func(i int, id, index bool, name, arguments string) string {
		v := map[string]any{}
		if id {
			v["id"] = m.items[i].id
		}
		if index {
			v["index"] = strings.Count(m.items[i].name, "") + int(m.items[i].name[1]-'0') - 4
		}
		f := map[string]any{}
		if name != "" {
			f["name"] = name
		}
		v["function"] = f
		head := mustJSON(v)
		return strings.Replace(head, `"function":{`, `"function":{"arguments":`+arguments+strings.Repeat(",", min(len(name), 1)), 1)
	}
	for i, it := range m.items {
		switch it.kind {
		case "message":
			text += it.text
		case "reasoning":
			reasoning += it.text
		case "call":
			calls = append(calls, call(i, messageIDs, messageIndexes, it.name, mustJSON(it.arguments)))
		}
		if !deltas {
			continue
		}
		if it.kind != "call" {
			for _, piece := range w.pieces(it.text) {
				chunk(`"delta":{"` + map[string]string{"message": "content", "reasoning": field}[it.kind] + `":` + piece + `}`)
			}
			continue
		}
		name := it.name
		for _, piece := range w.pieces(it.arguments) {
			chunk(`"delta":{"tool_calls":[` + call(i, ids, indexes, name, piece) + `]}`)
			if name = ""; w.flag() && indexes {
				name = it.name
			}
		}
	}
	list := ""
	if calls != nil {
		list = `,"tool_calls":[` + strings.Join(calls, ",") + "]"
	}
	whole := `"message":{"role":"assistant","content":` + mustJSON(text) + `,"` + field + `":` + mustJSON(reasoning) + list + `}`
	finish := `"finish_reason":` + w.pick(`"stop"`, `"STOP"`, `"eos"`)
	switch {
	case message && w.pick("", "", "json") != "" && !deltas:
		return m, `{"choices":[{` + whole + "," + finish + `}]}`, true
	case message && w.flag():
		chunk(`"delta":{},` + whole + "," + finish)
	case message && w.flag():
		chunk(whole)
		chunk(`"delta":{},` + finish)
	case message:
		chunk(whole + "," + finish)
	default:
		chunk(`"delta":{},` + finish)
	}
	if w.flag() {
		body += "data: [DONE]\n\n"
	}
	if !deltas && !message {
		return m, "", false
	}
	return m, body, true
}

func writeMessages(w *chunkWriter) (m meantReply, body string, complete bool) {
	begin, starts, stops, indexes := w.flag(), w.flag(), w.flag(), w.flag()
	inStart, delta, end := w.flag(), w.flag(), w.flag()
	m = w.reply(false)
	event := func(kind, members string) {
		body += `data: {"type":"` + kind + `"` + members + "}\n\n"
	}
	block := func(it meantItem, filled bool) string {
		v := map[string]any{"type": "text", "text": ""}
		switch it.kind {
		case "message":
			if filled {
				v["text"] = it.text
			}
		case "reasoning":
			v = map[string]any{"type": "thinking", "thinking": "", "signature": ""}
			if filled {
				v["thinking"] = it.text
			}
		case "call":
			v = map[string]any{"type": "tool_use", "id": it.id, "name": it.name, "input": map[string]any{}}
			if filled {
				v["input"] = json.RawMessage(it.arguments)
			}
		}
		b := &strings.Builder{}
		e := json.NewEncoder(b)
		e.SetEscapeHTML(false)
		e.Encode(v)
		return strings.TrimSpace(b.String())
	}
	var whole []string
	for i := range m.items {
		m.items[i].arguments = strings.ReplaceAll(m.items[i].arguments, ": ", ":") // as json.Marshal writes it
		whole = append(whole, block(m.items[i], true))
	}
	if w.pick("", "", "", "json") != "" {
		return m, `{"type":"message","content":[` + strings.Join(whole, ",") + `],"stop_reason":"end_turn"}`, true
	}
	if begin {
		event("message_start", `,"message":{"id":"m"}`)
	}
	for i, it := range m.items {
		index := ""
		if indexes {
			index = fmt.Sprintf(`,"index":%d`, i)
		}
		if starts {
			event("content_block_start", index+`,"content_block":`+block(it, inStart))
		}
		if !starts || !inStart {
			kind := map[string][2]string{"message": {"text_delta", "text"}, "reasoning": {"thinking_delta", "thinking"}, "call": {"input_json_delta", "partial_json"}}[it.kind]
			for _, piece := range w.pieces(it.text + it.arguments) {
				event("content_block_delta", index+`,"delta":{"type":"`+kind[0]+`","`+kind[1]+`":`+piece+`}`)
			}
		}
		if stops {
			event("content_block_stop", index)
		}
	}
	if delta {
		event("message_delta", `,"delta":{"stop_reason":`+w.pick(`"end_turn"`, `"stop_sequence"`)+`}`)
	}
	if end {
		event("message_stop", "")
	}
	return m, body, (delta || end) && (starts || !m.has("call"))
}
