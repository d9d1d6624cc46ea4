package stream

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"toolpipe/stream/text/jsontext"
)

// Events of one shape mean the same whether they are decoded, matched or followed
// in the buffer, wherever reads end; and only where nobody sees it are the texts of
// several given on as one.
func TestFollow(t *testing.T) {
	long := strings.Repeat("word ", longDelta/4)
	texts := []string{"a", "b", "c", long, "d", "", "é世", "line\n", "e", "\"q\"", "f", "\U0001F600", "g", long + long + long, "h", "i", "j"}
	for _, api := range []string{"chat", "messages"} {
		whole := string(deltas(api, "x", 2))
		each := string(deltas(api, "mark", 1))
		first, last, _ := strings.Cut(each, "mark")
		head, event := first[:strings.LastIndex(first, "\n\n")+2], ""
		if api == "chat" {
			head = ""
		}
		first = first[len(head):]
		tail, end, _ := strings.Cut(last, "\n\n")
		tail += "\n\n"
		body := head
		for i, text := range texts {
			quoted := fmt.Sprintf("%q", text)
			event = first + quoted[1:len(quoted)-1] + tail
			switch i {
			case 9:
				event = ": a comment\n\n" + event
			case 11:
				event = strings.ReplaceAll(event, "\n", "\r\n")
			case 13:
				event = strings.Replace(event, "data: ", "data:", 1)
			}
			body += event + event
		}
		body += end
		slow := decode(t, bodyIn{api: api, data: []byte(body), slow: true})
		if slow.err != nil || len(slow.text) != 2*len(strings.Join(texts, "")) || !strings.HasSuffix(whole, end) {
			t.Fatalf("%s: %v, %d bytes of text", api, slow.err, len(slow.text))
		}
		for _, reads := range [][]int{nil, {1}, {7}, {100}, {4096}} {
			for _, join := range []bool{false, true} {
				got := decode(t, bodyIn{api: api, data: []byte(body), reads: reads, join: join})
				if got.text != slow.text || got.err != nil || got.reply.Finish != slow.reply.Finish {
					t.Errorf("%s in reads of %v: %v, %d bytes of text, want %d", api, reads, got.err, len(got.text), len(slow.text))
				}
				if (got.deltas < slow.deltas) != (join && len(reads) == 0 || join && reads[0] > 100) {
					t.Errorf("%s in reads of %v, joined %v: %d deltas, of %d", api, reads, join, got.deltas, slow.deltas)
				}
			}
		}
	}
}

// Pieces of arguments mean the same whether they are decoded or taken from the buffer:
// also a piece that repeats the whole arguments, which adds nothing in a chat, and half a
// character.
func TestFollowArguments(t *testing.T) {
	pieces := []string{``, `{`, `\"a\":`, `\"x`, `é\n\ud83d`, `\ude00`, `\ud83d`, `\"`, `}`}
	whole := strings.Join(pieces, "")
	for api, form := range map[string][3]string{
		"chat": {
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}`,
			`data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"%s"}}]}}]}`,
			`data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`,
		},
		"messages": {
			`data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
			`data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"%s"}}`,
			`data: {"type":"message_delta","delta":{"stop_reason":"tool_use"}}` + "\n\n" + `data: {"type":"message_stop"}`,
		},
	} {
		sent := pieces
		if api == "chat" {
			sent = append(slices.Clone(pieces), `{\"b\":1}`, `{\"b\":1}`, `{\"b\":1}`)
			sent = append(sent[len(pieces):], pieces...)
		}
		body := form[0] + "\n\n"
		for _, p := range sent {
			body += strings.Replace(form[1], "%s", p, 1) + "\n\n"
		}
		body += form[2] + "\n\n"
		slow := decode(t, bodyIn{api: api, data: []byte(body), slow: true})
		if slow.err != nil || len(slow.reply.Message.Calls) != 1 {
			t.Fatalf("%s: %v, %+v", api, slow.err, slow.reply)
		}
		want := slow.reply.Message.Calls[0].Arguments
		if n := len(jsontext.Unquote([]byte(`"` + whole + `"`))); len(want) < n {
			t.Fatalf("%s: arguments %q", api, want)
		}
		for _, reads := range [][]int{nil, {1}, {7}, {100}} {
			for _, join := range []bool{false, true} {
				got := decode(t, bodyIn{api: api, data: []byte(body), reads: reads, join: join})
				if got.err != nil || !bytes.Equal(got.reply.Message.Calls[0].Arguments, want) {
					t.Errorf("%s in reads of %v: %v, %+v, want arguments %q", api, reads, got.err, got.reply, want)
				}
				if got.followed < 4 {
					t.Errorf("%s in reads of %v: only %d pieces were taken from the buffer", api, reads, got.followed)
				}
			}
		}
	}
}

// A line that never ends is not searched from its beginning with each read.
func TestFollowLongLine(t *testing.T) {
	whole := string(deltas("chat", "x", 3))
	i := strings.LastIndex(whole, `"x"`)
	body := whole[:i+1] + strings.Repeat("x", 32<<20) + whole[i+2:]
	got := decode(t, bodyIn{api: "chat", data: []byte(body), reads: []int{4096}})
	if got.err != nil || len(got.text) != 2+32<<20 {
		t.Errorf("%v, %d bytes of text", got.err, len(got.text))
	}
}

// A delta is passed on before the next one is read, whatever ends the lines.
func TestFollowAtOnce(t *testing.T) {
	for _, end := range []string{"\n", "\r\n", "\r"} {
		for _, text := range []string{"x", "x\n"} {
			event := strings.ReplaceAll(string(deltas("chat", text, 1)), "\n", end)
			event = event[:strings.Index(event, end+end)+2*len(end)]
			came, reads := 0, 0
			x := newExchange(&chatDialect, &Request{}, &Sink{
				Text: func(p []byte) error { came += len(p); return nil },
				Idle: func() error {
					if reads++; came < (reads-2)*len(text) { // a CR may be the first half of a CRLF
						t.Errorf("lines that end in %q: %d bytes came before read %d", end, came, reads)
					}
					return nil
				},
			})
			body := &scriptedReader{rest: []byte(strings.Repeat(event, 9)), sizes: []int{len(event)}}
			x.read(&http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(body)})
			x.idle.pause()
			if reads < 9 || came != 9*len(text) {
				t.Errorf("lines that end in %q: %d bytes in %d reads", end, came, reads)
			}
		}
	}
}
