package stream

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"toolpipe/stream/text/jsontext"
)

// writtenMessage is what ChatMessage gives, made at once and not in pieces.
func writtenMessage(m *Message) []byte {
	w := &segments{}
	chatMessageForm(w, m)
	return w.flat()
}

func TestChatMessage(t *testing.T) {
	for _, test := range []struct {
		message Message
		want    string
	}{
		{Message{Role: User, Parts: []Part{{Text: "a\n\"b\""}}}, `{"role":"user","content":"a\n\"b\""}`},
		{Message{Role: User, Parts: []Part{{JSON: []byte(`"\u00e9"`)}}}, `{"role":"user","content":"\u00e9"}`},
		{Message{Role: User, Parts: []Part{{Text: "a"}, {Text: "b"}}}, `{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`},
		{Message{Role: User, Parts: []Part{{Raw: json.RawMessage(`{"type":"file","file":{}}`)}, {Image: &Image{URL: "https://e/x", Detail: "low"}}, {Image: &Image{MIME: "image/gif", Data: "R0lG"}}}},
			`{"role":"user","content":[{"type":"file","file":{}},{"type":"image_url","image_url":{"url":"https://e/x","detail":"low"}},{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lG"}}]}`},
		{Message{Role: Developer, Parts: []Part{{Text: "a"}}}, `{"role":"developer","content":"a"}`},
		{Message{Role: Assistant, Parts: []Part{{Text: "a"}, {Text: "b"}}}, `{"role":"assistant","content":"ab"}`},
		{Message{Role: Assistant}, `{"role":"assistant","content":""}`},
		{Message{Role: Assistant, Calls: []Call{{ID: "1", Name: "f", Arguments: []byte(`{"a": 1e2}`), Extra: []byte(`"x":{}`)}, {ID: "2", Name: "g", Arguments: []byte(`{"bro`)}, {ID: "3", Name: "h"}},
			Opaque: Opaque{api: "chat", endpoint: "http://e", model: "m", json: []byte(`"reasoning":"hm"`)}},
			`{"role":"assistant","content":null,"tool_calls":[{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\": 1e2}"},"x":{}},{"id":"2","type":"function","function":{"name":"g","arguments":"{\"bro"}},{"id":"3","type":"function","function":{"name":"h","arguments":""}}],"provider_state":{"api":"chat","endpoint":"http://e","model":"m","digest":"32d28bf45e8f44ac","state":{"reasoning":"hm"}}}`},
		{Message{Role: ToolRole, CallID: "1", Name: "f", Parts: []Part{{Text: "ok"}}, Failed: true}, `{"role":"tool","tool_call_id":"1","name":"f","content":"ok"}`},
	} {
		if got := string(writtenMessage(&test.message)); got != test.want {
			t.Errorf("got  %s\nwant %s", got, test.want)
		} else if !json.Valid([]byte(got)) {
			t.Errorf("no JSON: %s", got)
		}
	}
}

// A part of a KiB or many goes on the wire without being copied.
func TestLongPartsAreNotCopied(t *testing.T) {
	literal := []byte(`"` + strings.Repeat("x", 1<<10) + `"`)
	for _, api := range []string{"chat", "messages", "responses"} {
		c := newClient(t, Config{API: api, BaseURL: "http://h"})
		r := withTools()
		r.Messages = append(r.Messages, Message{Role: Assistant, Calls: []Call{{ID: "a", Name: "f"}}},
			Message{Role: ToolRole, CallID: "a", Name: "f", Parts: []Part{{JSON: literal}}})
		found := false
		for range 2 {
			for _, part := range c.body(r).parts {
				found = found || unsafe.StringData(part.text) == &literal[0]
			}
		}
		if !found {
			t.Errorf("%s: the part was copied", api)
		}
	}
}

// A long text is quoted while it is sent, in chunks, as it would be at once; the length that is
// told before is that of what is sent, also where a chunk would end inside a character or the
// text is not UTF-8.
func TestLongTexts(t *testing.T) {
	odd := "a\x00\x1b\n\"\\é漢🙂\xff\xe6\xbc"
	for _, filler := range []string{"x", "é", "漢", "🙂", "\xe6\xbc", "\xff", "\n", "\x01"} {
		text := odd + strings.Repeat(filler, 3*maxChunk/len(filler)) + odd
		for _, api := range []string{"chat", "messages", "responses"} {
			c := newClient(t, Config{API: api, BaseURL: "http://h"})
			picture := Part{Image: &Image{MIME: "image/png", Data: strings.Repeat("A", 3*maxChunk)}}
			b := c.body(&Request{Model: "m", Messages: []Message{{Role: User, Parts: []Part{picture, {Text: text}}}}})
			sent, err := io.ReadAll(b.reader(func() {}))
			if err != nil || int64(len(sent)) != b.size || !bytes.Equal(sent, b.bytes()) || !json.Valid(sent) {
				t.Errorf("%s %q: %d bytes of %d, %v", api, filler, len(sent), b.size, err)
			}
			if !bytes.Contains(sent, jsontext.AppendInner(nil, text)) || !bytes.Contains(sent, []byte(picture.Image.Data)) {
				t.Errorf("%s %q: another text was sent", api, filler)
			}
		}
		var whole []byte
		m := Message{Role: User, Parts: []Part{{Text: text}}}
		for piece := range ChatMessage(&m) {
			if whole = append(whole, piece...); len(piece) > 2*maxChunk*6 {
				t.Errorf("%q: a piece of %d bytes", filler, len(piece))
			}
		}
		if !bytes.Equal(whole, writtenMessage(&m)) {
			t.Errorf("%q: the pieces are another message", filler)
		}
	}
}

// Rounds cost what is new: a message is encoded once.
func TestEncodedOnce(t *testing.T) {
	c := newClient(t, Config{BaseURL: "http://h"})
	r := withTools()
	for range 300 {
		r.Messages = append(r.Messages, Message{Role: Assistant, Parts: []Part{{Text: strings.Repeat("y", 2000)}}}, Message{Role: User, Parts: []Part{{Text: "more"}}})
	}
	c.body(r)
	if n := testing.AllocsPerRun(10, func() { c.body(r) }); n > 12 {
		t.Errorf("a request after 300 rounds makes %v allocations", n)
	}
}

// The fast way of a stream takes a literal for what encoding/json takes it
// for, or leaves it to the full decoder.
func FuzzLiteral(f *testing.F) {
	f.Add([]byte(`a\n\u00e9\ud83d\ude00\ud83dx\udfff"`))
	f.Add([]byte("0123456\"8"))
	f.Add([]byte(`a\n\u00e9\ud83d\ude00`))
	f.Add([]byte(`a\"`))
	f.Add([]byte(`a" "b`))
	f.Fuzz(func(t *testing.T, s []byte) {
		shape := chunkShape{head: []byte(`data: {"a":"`), tail: []byte("\"}\n\n")}
		text, size, _ := shape.first([]byte(`data: {"a":"` + string(s) + "\"}\n\n"))
		if size > 0 {
			var want string
			if err := json.Unmarshal([]byte(`"`+string(s)+`"`), &want); err != nil || utf8.Valid(s) && string(utf8Of(text)) != want {
				t.Fatalf("the text of %q is %q; want %q, %v", s, text, want, err)
			}
		}
		if valid(s) != json.Valid(s) && len(s) < fromEndpoint.Depth {
			t.Errorf("valid(%q) = %v", s, valid(s))
		}
	})
}

func TestDepth(t *testing.T) {
	deep := strings.Repeat("[", fromEndpoint.Depth+1) + strings.Repeat("]", fromEndpoint.Depth+1)
	if valid([]byte(deep)) || !valid([]byte(deep[1:len(deep)-1])) {
		t.Error("the depth is not capped")
	}
	if valid([]byte(strings.Repeat("[", 50<<20))) {
		t.Error("unclosed brackets are valid")
	}
	if !valid([]byte(`"` + strings.Repeat("[", 2*fromEndpoint.Depth) + `"`)) {
		t.Error("brackets in a string count")
	}
}

func TestThinkTags(t *testing.T) {
	for _, test := range []struct{ in, text, reasoning string }{
		{"<think>a</think>b", "b", "a"},
		{"\n<think>\na\n</think>\n\nb\n", "b\n", "a\n"},
		{"no tags", "no tags", ""},
		{"a <think>b</think>", "a <think>b</think>", ""},
		{"</think>\nI'm", "</think>\nI'm", ""},
		{"<think>never ends", "", "never ends"},
		{"<think>a</thin", "", "a</thin"},
		{"<thi", "<thi", ""},
		{"<thinking>a", "<thinking>a", ""},
		{"<think></think>", "", ""},
		{"<think>a<b></think>c<think>d</think>", "c<think>d</think>", "a<b>"},
		{"  ", "  ", ""},
		{"", "", ""},
	} {
		for size := 1; size < 9; size++ {
			body := ""
			for rest := test.in; rest != ""; {
				n := min(size, len(rest))
				body += delta(rest[:n])
				rest = rest[n:]
			}
			got := decode(t, bodyIn{api: "chat", data: []byte(body + "data: {\"choices\":[{\"finish_reason\":\"stop\"}]}\n\n"), request: Request{ThinkTags: true}})
			if got.err != nil || got.text != test.text || got.reasoning != test.reasoning || textOfParts(got.reply.Message.Parts) != test.text {
				t.Errorf("%q by %d: %+v", test.in, size, got)
				continue
			}
			// With tags the message goes back as it came, if it says something.
			w := &segments{}
			(&chatEncoder{}).message(w, &got.reply.Message)
			if want := string(jsontext.AppendQuoted(nil, test.in)); !strings.Contains(string(w.flat()), want) != (strings.TrimSpace(test.text) == "") {
				t.Errorf("%q goes back as %s", test.in, w.flat())
			}
		}
	}
}

// A part is in the request, or Unsent names it.
func TestUnsent(t *testing.T) {
	kinds := map[string]Part{
		"text":        {Text: "MARK"},
		"image_url":   {Image: &Image{URL: "http://x/MARK.png"}},
		"input_audio": {Raw: json.RawMessage(`{"type":"input_audio","input_audio":{"data":"MARK"}}`)},
	}
	for _, d := range dialects {
		for _, role := range []Role{System, Developer, User, Assistant, ToolRole} {
			for kind, p := range kinds {
				for _, o := range []options{{}, {noToolRole: true}} {
					m := Message{Role: role, CallID: "c", Name: "f", Parts: []Part{{Text: "first"}, p}}
					r := &Request{Messages: []Message{{Role: User, Parts: []Part{{Text: "u"}}}, m}}
					if role == ToolRole {
						r.Messages = []Message{r.Messages[0], {Role: Assistant, Calls: []Call{{ID: "c", Name: "f"}}}, m}
					}
					c := &Client{dialect: d, options: o}
					b := c.body(r).bytes()
					unsent := Unsent(d.name, &m)
					if !valid(b) || !bytes.Contains(b, []byte("first")) || unsent == "" && !bytes.Contains(b, []byte("MARK")) || unsent != "" && unsent != kind {
						t.Errorf("%s, %s, %s, %+v: unsent %q in %s", d.name, role, kind, o, unsent, b)
					}
				}
			}
		}
	}
}
