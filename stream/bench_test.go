package stream

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"toolpipe/stream/text/jsontext"
)

// deltas is a reply of n deltas of a text, as each dialect streams it.
func deltas(api, text string, n int) []byte {
	literal := string(jsontext.AppendQuoted(nil, text))
	var first, each, last string
	switch api {
	case "chat":
		each = `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":` + literal + `},"finish_reason":null}]}` + "\n\n"
		last = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\ndata: [DONE]\n\n"
	case "messages":
		first = `data: {"type":"message_start","message":{"id":"m"}}` + "\n\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}` + "\n\n"
		each = "event: content_block_delta\ndata: " + `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":` + literal + `}}` + "\n\n"
		last = `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"}}` + "\n\n" + `data: {"type":"message_stop"}` + "\n\n"
	case "responses":
		each = "event: response.output_text.delta\ndata: " + `{"type":"response.output_text.delta","item_id":"m","output_index":0,"content_index":0,"delta":` + literal + `}` + "\n\n"
		last = `data: {"type":"response.completed","response":{"status":"completed","output":[]}}` + "\n\n"
	}
	return []byte(first + strings.Repeat(each, n) + last)
}

// otherDeltas is a reply of n deltas of reasoning or of the arguments of a call. With
// newIDs each delta of a call has another id, as some servers send it.
func otherDeltas(api, kind string, n int) []byte {
	var first, last string
	each := func(int) string { return "" }
	isCall := kind != "reasoning"
	switch api {
	case "chat":
		last = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
		each = func(int) string { return `{"choices":[{"index":0,"delta":{"reasoning_content":"word and "}}]}` }
		if isCall {
			first = `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\"a\":\""}}]}}]}`
			each = func(int) string {
				return `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"[{x}, y "}}]}}]}`
			}
		}
		if kind == "new-ids" {
			each = func(i int) string {
				return fmt.Sprintf(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a%d","function":{"name":"f","arguments":"[{x}, y "}}]}}]}`, i)
			}
		}
	case "messages":
		first = `{"type":"message_start","message":{"id":"m"}}`
		last = `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`
		each = func(int) string {
			return `{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"word and "}}`
		}
		if isCall {
			first = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`
			each = func(int) string {
				return `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"[{x}, y "}}`
			}
		}
	case "responses":
		last = `{"type":"response.completed","response":{"status":"completed","output":[]}}`
		each = func(int) string {
			return `{"type":"response.reasoning_text.delta","item_id":"r","output_index":0,"delta":"word and "}`
		}
		if isCall {
			first = `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"c","call_id":"a","name":"f","arguments":""}}`
			each = func(int) string {
				return `{"type":"response.function_call_arguments.delta","item_id":"c","output_index":0,"delta":"[{x}, y "}`
			}
		}
	}
	var b strings.Builder
	write := func(data string) {
		if data != "" {
			b.WriteString("data: " + data + "\n\n")
		}
	}
	write(first)
	for i := range n {
		write(each(i))
	}
	write(last)
	return []byte(b.String())
}

// BenchmarkOtherDeltas is 512 KiB in deltas of 8 bytes.
func BenchmarkOtherDeltas(b *testing.B) {
	for _, test := range []string{"chat/reasoning", "chat/arguments", "chat/new-ids", "messages/reasoning", "messages/arguments", "responses/reasoning", "responses/arguments"} {
		api, kind, _ := strings.Cut(test, "/")
		body := otherDeltas(api, kind, 64<<10)
		b.Run(test, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				receive(b, api, body)
			}
		})
	}
}

// receive decodes a body as Client.Reply does, and counts the text.
func receive(b testing.TB, api string, body []byte) int {
	d, err := findDialect(api)
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	x := newExchange(d, &Request{}, &Sink{Text: func(p []byte) error { n += len(p); return nil }})
	if err := x.read(&http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}); err != nil {
		b.Fatal(err)
	}
	if _, err := x.reply(); err != nil {
		b.Fatal(err)
	}
	return n
}

func BenchmarkDeltas(b *testing.B) {
	line := strings.Repeat(`a line of "text" of eighty columns with `+"two quotes and a line feed at its end......\n", 64<<10/80)
	for _, api := range []string{"chat", "messages", "responses"} {
		for _, size := range []struct {
			name, text string
			n          int
		}{{"200k", "word ", 200_000}, {"64MiB", line, 64 << 20 / len(line)}} {
			body := deltas(api, size.text, size.n)
			b.Run(fmt.Sprintf("%s/%s", api, size.name), func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				for b.Loop() {
					if n := receive(b, api, body); n != len(size.text)*size.n {
						b.Fatal(n)
					}
				}
			})
		}
	}
}

func BenchmarkEvents(b *testing.B) {
	body := deltas("chat", "word ", 200_000)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		for _, err := range Events(bytes.NewReader(body), MaxEvent) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkSentArguments(b *testing.B) {
	arguments := longArguments()
	b.SetBytes(int64(len(arguments)))
	b.ReportAllocs()
	for b.Loop() {
		sentArguments(arguments)
	}
}

// longArguments are arguments of a MiB, such as those that write a file.
func longArguments() []byte {
	return fmt.Appendf(nil, `{"path":"a.txt","content":%q}`, strings.Repeat("a line of text\n", 1<<16))
}

func TestSentArgumentsAreNotCopied(t *testing.T) {
	arguments := longArguments()
	if n := testing.AllocsPerRun(5, func() { sentArguments(arguments) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// Deltas of the dialects with a chunkShape cost no allocation, however many
// there are; only the text does, in pieces that grow.
func TestDeltasDoNotAllocate(t *testing.T) {
	for _, api := range []string{"chat", "messages"} {
		few, many := deltas(api, "word\n", 10), deltas(api, "word\n", 20_000)
		less := testing.AllocsPerRun(5, func() { receive(t, api, few) })
		more := testing.AllocsPerRun(5, func() { receive(t, api, many) })
		if more > less+12 {
			t.Errorf("%s: %v allocations for 10 deltas, %v for 20000", api, less, more)
		}
	}
}
