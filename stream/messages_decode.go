package stream

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// messagesDecoder reads the events of a streamed message, or a complete message.
type messagesDecoder struct {
	*draft
	shape  chunkShape
	id     string // the id of the message
	blocks []*messagesBlock
	tokens struct{ fresh, read, written, output, thinking, total int }
}

// messagesBlock is one content block that is being received.
type messagesBlock struct {
	index     int // -1 after another message began: its indexes count anew
	kind      string
	head      string // the block as it began
	from, to  int    // the range of the block in the text of the answer
	input     []byte // partial_json
	thinking  []byte
	signature string
	citations [][]byte // the citations of a text
	call      Call
	place     int      // of the call in draft.calls
	others    []member // members that only go back: of a call, or of deltas of other kinds
	closed    bool
}

// addInput adds a piece of the input, in WTF-8.
func (d *messagesDecoder) addInput(b *messagesBlock, piece []byte) {
	b.input = appendPiece(b.input, piece)
	d.bound(b.input)
}

// maxBlocks caps the content blocks of one reply.
const maxBlocks = 10000

func (d *messagesDecoder) wholeBlocks(list gjson.Result) {
	list.ForEach(func(_, block gjson.Result) bool {
		d.blockStart(len(d.blocks), block).closed = true
		return len(d.blocks) <= maxBlocks
	})
}

func (d *messagesDecoder) event(ev Event) error {
	d.shape.forget()
	root, err := parseEvent(ev)
	if err != nil {
		return err
	}
	switch root.Get("type").Str {
	case "message_start": // its content is empty, but some servers send blocks there
		d.start(root.Get("message"))
		d.wholeBlocks(root.Get("message.content"))
	case "message":
		d.start(root)
		setString(&d.finishReason, root.Get("stop_reason"))
		d.wholeBlocks(root.Get("content"))
	case "content_block_start":
		d.blockStart(int(root.Get("index").Int()), root.Get("content_block"))
	case "content_block_delta":
		d.delta(ev, root)
	case "content_block_stop":
		if b := d.block(int(root.Get("index").Int())); b != nil {
			b.closed = true
		}
	case "message_delta":
		d.useUsage(root.Get("usage"))
		setString(&d.finishReason, root.Get("delta.stop_reason"))
		if why := root.Get("delta.stop_details.explanation").Str; d.finishReason == "refusal" && why != "" {
			d.refusal = []byte(why)
		}
	case "message_stop":
		d.done = true
		return errEnd
	}
	if len(d.blocks) > maxBlocks {
		return tooManyCalls()
	}
	return nil
}

// start takes the beginning of a message. A second beginning either repeats the first, or
// replaces the message by another: then its thinking and its unfinished calls are dropped.
func (d *messagesDecoder) start(message gjson.Result) {
	id := message.Get("id").Str
	if d.seen && id == d.id {
		return
	}
	if d.seen {
		d.blocks = slices.DeleteFunc(d.blocks, func(b *messagesBlock) bool {
			return b.kind == "tool_use" && !b.closed || b.kind == "thinking" || b.kind == "redacted_thinking"
		})
	}
	for _, b := range d.blocks {
		b.index = -1
	}
	d.seen, d.id = true, strings.Clone(id)
	setString(&d.model, message.Get("model"))
	d.useUsage(message.Get("usage"))
}

func (d *messagesDecoder) block(index int) *messagesBlock {
	for _, b := range slices.Backward(d.blocks) {
		if b.index == index {
			return b
		}
	}
	return nil
}

func (d *messagesDecoder) blockStart(index int, v gjson.Result) *messagesBlock {
	if old := d.block(index); v.Get("type").Str == "thinking" && old != nil && old.kind == "thinking" && !old.closed && len(old.signature) == 0 {
		d.blocks = slices.DeleteFunc(d.blocks, func(b *messagesBlock) bool { return b == old }) // it began anew
	}
	b := &messagesBlock{index: index, kind: strings.Clone(v.Get("type").Str), from: d.text.size, to: d.text.size}
	d.blocks = append(d.blocks, b)
	d.seen = true
	switch b.kind {
	case "text":
		d.textDelta(b, text(v.Get("text")))
		for _, citation := range v.Get("citations").Array() {
			d.citation(b, citation)
		}
	case "thinking":
		b.signature = strings.Clone(v.Get("signature").Str)
		d.thinkingDelta(b, text(v.Get("thinking")))
	case "tool_use":
		d.began = true
		b.call = Call{ID: stringOrNumber(v.Get("id")), Name: stringOrNumber(v.Get("name"))}
		b.others = otherMembers(nil, v, "type", "id", "name", "input")
		b.head = strings.Clone(v.Raw)
	default:
		b.head = strings.Clone(v.Raw)
	}
	return b
}

func (d *messagesDecoder) delta(ev Event, root gjson.Result) {
	index := int(root.Get("index").Int())
	b := d.block(index)
	delta := root.Get("delta")
	kind := delta.Get("type").Str
	if b == nil || !b.takes(kind) { // some servers leave the start of a block out, or its index
		b = d.blockStart(index, gjson.Parse(`{"type":"`+cmp.Or(deltaBlock(kind), "text")+`"}`))
	}
	switch kind {
	case "text_delta":
		t := delta.Get("text")
		if t.Type == gjson.String && len(t.Raw) > 2 && b == d.blocks[len(d.blocks)-1] {
			d.shape.learn(ev, t, d.draft, true, func(piece []byte) { d.textDelta(b, piece) })
		}
		d.textDelta(b, text(t))
	case "thinking_delta":
		d.thinkingDelta(b, text(delta.Get("thinking")))
	case "signature_delta":
		b.signature += delta.Get("signature").Str
	case "input_json_delta":
		piece := delta.Get("partial_json")
		if piece.Type == gjson.String && len(piece.Raw) > 2 {
			d.shape.learn(ev, piece, d.draft, false, func(piece []byte) { d.addInput(b, piece) })
		}
		d.addInput(b, text(piece))
	case "citations_delta":
		d.citation(b, delta.Get("citation"))
	default:
		b.others = otherMembers(b.others, delta, "type")
	}
}

// deltaBlock is the kind of block that a delta belongs to, "" if its kind is not known.
func deltaBlock(delta string) string {
	switch delta {
	case "text_delta":
		return "text"
	case "thinking_delta", "signature_delta":
		return "thinking"
	case "input_json_delta":
		return "tool_use"
	}
	return ""
}

// takes reports whether a delta can belong to the block. A block of another kind, such as an
// action of the server, takes any delta.
func (b *messagesBlock) takes(delta string) bool {
	kind := deltaBlock(delta)
	return kind == "" || kind == b.kind || b.kind != "text" && b.kind != "thinking" && b.kind != "tool_use"
}

func (d *messagesDecoder) textDelta(b *messagesBlock, delta []byte) {
	d.answer.add(delta)
	b.to = d.text.size
}

func (d *messagesDecoder) citation(b *messagesBlock, v gjson.Result) {
	b.citations = append(b.citations, []byte(v.Raw))
	d.cite(v)
}

func (d *messagesDecoder) thinkingDelta(b *messagesBlock, delta []byte) {
	b.thinking = appendPiece(b.thinking, delta)
	d.reasoningText.add(delta)
}

// useUsage merges counts: message_start counts the input, message_delta the
// output, and some servers the input again.
func (d *messagesDecoder) useUsage(u gjson.Result) {
	for path, n := range map[string]*int{
		"input_tokens":                          &d.tokens.fresh,
		"cache_read_input_tokens":               &d.tokens.read,
		"cache_creation_input_tokens":           &d.tokens.written,
		"output_tokens":                         &d.tokens.output,
		"output_tokens_details.thinking_tokens": &d.tokens.thinking,
		"total_tokens":                          &d.tokens.total,
	} {
		if u.Get(path).Type == gjson.Number {
			*n = count(u, path)
		}
	}
	t := d.tokens
	d.setUsage(Usage{Input: t.fresh + t.read + t.written, Output: t.output, Cached: t.read, CacheWrite: t.written, Reasoning: t.thinking}, t.total)
}

func (d *messagesDecoder) finish() error {
	for _, b := range d.blocks {
		if b.kind == "tool_use" {
			if b.call.Name == "" {
				return halfCall()
			}
			b.call.Arguments, b.place = b.arguments(), len(d.calls)
			d.calls = append(d.calls, b.call)
		}
	}
	d.stop = stopOf(d.finishReason)
	return nil
}

// arguments returns the input that came in pieces, else the input at the beginning of the block.
func (b *messagesBlock) arguments() []byte {
	if input := gjson.Get(b.head, "input"); len(b.input) == 0 && input.IsObject() && !isEmptyObject(input) {
		return []byte(input.Raw)
	}
	return b.input
}

// echo returns the content of the message in the API's form, if it holds more than Parts and
// Calls: thinking and the server's actions go back unchanged.
func (d *messagesDecoder) echo() Opaque {
	isMore := func(b *messagesBlock) bool {
		return b.kind != "text" && b.kind != "tool_use" || len(b.others)+len(b.citations) > 0
	}
	if d.request.ThinkTags || !slices.ContainsFunc(d.blocks, isMore) {
		return Opaque{}
	}
	var list [][]byte
	for _, b := range d.blocks {
		if block := d.echoed(b); len(block) > 0 {
			list = append(list, block)
		}
	}
	return Opaque{json: bytes.Join(list, []byte(","))}
}

// echoed returns a block as it goes back. For a text that is empty or white space it returns
// nothing, because the API refuses that.
func (d *messagesDecoder) echoed(b *messagesBlock) []byte {
	switch b.kind {
	case "text":
		parts := d.text.only([]span{{b.from, b.to}})
		if !hasText(parts) {
			return nil
		}
		return formed(`{"type":"text","text":??}`, parts, filled(`,"citations":[?]`, bytes.Join(b.citations, []byte(","))))
	case "thinking":
		return formed(`{"type":"thinking","thinking":?,"signature":?}`, string(b.thinking), b.signature)
	case "tool_use":
		return toolUse(&d.calls[b.place], b.others)
	}
	members := otherMembers(nil, gjson.Parse(b.head))
	if len(b.input) > 0 && valid(b.input) { // a server_tool_use with an input that came in pieces
		members = otherMembers(members, gjson.Parse(`{"input":`+strings.ToValidUTF8(string(b.input), "\ufffd")+"}"))
	}
	members = otherMembers(members, gjson.Parse("{"+string(joinMembers(b.others))+"}"))
	return formed("{?}", joinMembers(members))
}
