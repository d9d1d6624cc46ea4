package stream

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"toolpipe/stream/jsontext"
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
	line := strings.Repeat(strings.Repeat("x", 79)+"\n", 64<<10/80)
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
