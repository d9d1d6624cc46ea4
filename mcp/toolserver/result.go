package toolserver

import (
	"fmt"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// CallResult is a tool's answer as the result of tools/call, of the newest revision.
func CallResult(r *wire.Result) []byte { return appendResult(nil, r, true) }

// callReply is the reply to tools/call with a tool's answer. A long answer is copied once.
func callReply(id []byte, r *wire.Result, modern bool) []byte {
	size := 200 + len(r.Structured) + len(r.Meta)
	for i := range r.Content {
		size += 40 + max(len(r.Content[i].Raw), len(r.Content[i].Text))
	}
	return append(appendResult(wire.BeginReply(id, size), r, modern), '}')
}

// appendResult appends a tool's answer as the result of tools/call. Before 2026-07-28
// structuredContent must be an object; any other value is sent as text if the answer has no
// content blocks, and omitted otherwise.
func appendResult(b []byte, r *wire.Result, modern bool) []byte {
	b = append(b, '{')
	if modern {
		b = append(b, `"resultType":"complete",`...)
	}
	structured, blocks := r.Structured, r.Content
	if !modern && structured != nil && jsontext.Kind(structured) != '{' {
		if len(blocks) == 0 {
			blocks = TextResult([]byte(structured)).Content
		}
		structured = nil
	}
	b = appendBlocks(append(b, `"content":`...), blocks)
	b = appendMember(b, "structuredContent", structured)
	b = appendMember(b, "_meta", r.Meta)
	if r.IsError {
		b = append(b, `,"isError":true`...)
	}
	return append(b, '}')
}

func appendBlocks(b []byte, blocks []wire.Block) []byte {
	b = append(b, '[')
	for i := range blocks {
		if i > 0 {
			b = append(b, ',')
		}
		if jsontext.Kind(blocks[i].Raw) == '{' {
			b = append(b, blocks[i].Raw...)
			continue
		}
		b = append(append(append(b, `{"type":"text","text":`...), blocks[i].Show().Text...), '}')
	}
	return append(b, ']')
}

// TextResult is a result with one text block. Invalid UTF-8 is replaced.
func TextResult[T string | []byte](s T) *wire.Result {
	return &wire.Result{Content: []wire.Block{{Type: "text", Text: jsontext.AppendQuoted(make([]byte, 0, len(s)+len(s)/8+2), s)}}}
}

// attentionKey is the member of a result's _meta with which a built-in tool requests the
// user's attention.
const attentionKey = "toolpipe/attention"

// Attention makes a result request the user's attention, with that reason.
func Attention(r *wire.Result, reason string) *wire.Result {
	r.Meta = jsontext.AppendMember([]byte{'{'}, attentionKey, jsontext.Quoted(reason))
	r.Meta = append(r.Meta, '}')
	return r
}

// TakeAttention removes the request for the user's attention from the result of a built-in
// tool and returns its reason; "" for none.
func TakeAttention(r *wire.Result) string {
	reason := jsontext.Text(jsontext.Member(r.Meta, attentionKey))
	if reason != "" {
		r.Meta = nil
	}
	return reason
}

const maxFailure = 32 << 10 // bytes of an error that are answered

// failedResult is the result of a tool that failed. An error may quote an argument of any
// length, so it is cut.
func failedResult(err error) *wire.Result {
	text := err.Error()
	r := TextResult(readable.Cut(text, maxFailure, fmt.Sprintf("\n[toolpipe] %d bytes of the error are left out\n", len(text)-maxFailure)))
	r.IsError = true
	return r
}
