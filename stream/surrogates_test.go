package stream

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// streamed is how each dialect streams a text, a reasoning or the arguments of a
// call: the event before, the event of each piece, and the event after.
var streamed = map[string]map[string][3]string{
	"chat": {
		"text":      {"", `{"choices":[{"delta":{"content":"PIECE"}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`},
		"reasoning": {"", `{"choices":[{"delta":{"reasoning_content":"PIECE"}}]}`, `{"choices":[{"delta":{},"finish_reason":"stop"}]}`},
		"call": {`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"PIECE"}}]}}]}`, `{"choices":[{"delta":{},"finish_reason":"tool_calls"}]}`},
	},
	"messages": {
		"text": {`{"type":"content_block_start","index":0,"content_block":{"type":"text"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"PIECE"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`},
		"reasoning": {`{"type":"content_block_start","index":0,"content_block":{"type":"thinking"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"PIECE"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`},
		"call": {`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"f","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"PIECE"}}`, `{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`},
	},
	"responses": {
		"text":      {"", `{"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"PIECE"}`, responseEnd},
		"reasoning": {"", `{"type":"response.reasoning_summary_text.delta","output_index":0,"content_index":0,"delta":"PIECE"}`, responseEnd},
		"call": {`{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"a","name":"f","arguments":""}}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"PIECE"}`, responseEnd},
	},
}

const responseEnd = `{"type":"response.completed","response":{"status":"completed","output":[]}}`

// inPieces is a reply that comes in these pieces, each the inside of a JSON
// literal as the endpoint wrote it.
func inPieces(api, what string, pieces ...string) []byte {
	form := streamed[api][what]
	body := ""
	if form[0] != "" {
		body = "data: " + form[0] + "\n\n"
	}
	for _, p := range pieces {
		body += "data: " + strings.Replace(form[1], "PIECE", p, 1) + "\n\n"
	}
	return []byte(body + "data: " + form[2] + "\n\n")
}

// Arguments with a lone surrogate are refused by their reader, so the decoder
// must not make a harmless character of it: what it hands on is not UTF-8. A
// pair that came in two pieces is a character.
func TestSurrogatesInArguments(t *testing.T) {
	for _, c := range []struct {
		name, want string // "" for what is not UTF-8
		pieces     []string
	}{
		{"pair", `{"a":"😀"}`, []string{`{\"a\":\"\ud83d\ude00\"}`}},
		{"pair in two deltas", `{"a":"😀"}`, []string{`{\"a\":\"\ud83d`, `\uDE00\"}`}},
		{"pair in two deltas, nothing between", `{"a":"😀"}`, []string{`{\"a\":\"\ud83d`, ``, `\ude00\"}`}},
		{"pairs", `{"a":"😀😀"}`, []string{`{\"a\":\"\ud83d`, `\ude00\ud83d`, `\ude00\"}`}},
		{"high", "", []string{`{\"a\":\"\ud800\"}`}},
		{"low", "", []string{`{\"a\":\"\udc00\"}`}},
		{"low and high", "", []string{`{\"a\":\"\ude00\ud83d\"}`}},
		{"high before text", "", []string{`{\"a\":\"\ud83d`, `x\"}`}},
		{"high at the end", "", []string{`{\"a\":1}\ud83d`}},
		{"two highs", "", []string{`{\"a\":\"\ud83d`, `\ud83d\ude00\"}`}},
		{"escaped twice", `{"a":"\ud83d\ude00"}`, []string{`{\"a\":\"\\ud83d`, `\\ude00\"}`}},
	} {
		for _, d := range dialects {
			got := decode(t, bodyIn{api: d.name, data: inPieces(d.name, "call", c.pieces...)})
			if got.err != nil || len(got.reply.Message.Calls) != 1 {
				t.Fatalf("%s: %s: %v", d.name, c.name, got.err)
			}
			arguments := got.reply.Message.Calls[0].Arguments
			if c.want == "" && utf8.Valid(arguments) || c.want != "" && string(arguments) != c.want {
				t.Errorf("%s: %s: arguments %q, want %q", d.name, c.name, arguments, c.want)
			}
			checkSurrogatesGoBack(t, d, got.reply)
		}
	}
}

// checkSurrogatesGoBack checks that the next request is UTF-8, and that a call
// which is refused now is refused as well when the written conversation is
// resumed.
func checkSurrogatesGoBack(t *testing.T, d *dialect, reply *Reply) {
	t.Helper()
	for _, o := range []options{{}, {noToolRole: true}} {
		c := &Client{dialect: d, options: o}
		if b := c.body(&Request{Messages: []Message{reply.Message}}).bytes(); !utf8.Valid(b) || !valid(b) {
			t.Errorf("%s: request %q", d.name, b)
		}
	}
	arguments := reply.Message.Calls[0].Arguments
	written := writtenMessage(&reply.Message)
	if !utf8.Valid(written) || !utf8.Valid(arguments) && strings.Contains(string(written), `"arguments":"{`) {
		t.Errorf("%s: written %q", d.name, written)
	}
}

// Text is UTF-8 whatever came: a pair in two deltas is joined, what has no
// other one of its pair is U+FFFD. JavaScript servers cut text inside pairs.
func TestSurrogatesInText(t *testing.T) {
	for _, c := range []struct {
		want   string
		pieces []string
	}{
		{"a😀b", []string{`a\ud83d\ude00b`}},
		{"a😀b", []string{`a`, `\ud83d`, `\ude00b`}},
		{"aa😀bc", []string{`a`, `a\ud83d`, `\ude00b`, `c`}},
		{"a\ufffdb", []string{`a`, `\ud83d`, `b`}},
		{"a\ufffdb", []string{`a`, `\ude00b`}},
		{"a\ufffd", []string{`a\ud83d`}},
		{"a\ufffd😀", []string{`a`, `\ud83d`, `\ud83d`, `\ude00`}},
		{"\ufffdx\ufffd\ufffd", []string{`\ud83dx\ude00\ud83d`}},
		{"한\ufffd한", []string{`한`, "\xed\xa0\xbd", `한`}},
	} {
		for _, d := range dialects {
			for _, in := range []bodyIn{{}, {slow: true}, {request: Request{ThinkTags: true}}} {
				in.api, in.data = d.name, inPieces(d.name, "text", c.pieces...)
				if got := decode(t, in); got.err != nil || got.text != c.want || textOfParts(got.reply.Message.Parts) != c.want {
					t.Errorf("%s: %q: text %q, want %q, %v", d.name, c.pieces, got.text, c.want, got.err)
				}
				in.data = inPieces(d.name, "reasoning", c.pieces...)
				if got := decode(t, in); got.err != nil || got.reasoning != c.want {
					t.Errorf("%s: %q: reasoning %q, want %q, %v", d.name, c.pieces, got.reasoning, c.want, got.err)
				}
			}
		}
	}
}
