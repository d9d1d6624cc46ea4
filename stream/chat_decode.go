package stream

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"
)

// chatDecoder reads chat.completion.chunk events, or one complete chat.completion.
type chatDecoder struct {
	*draft
	assembly callAssembly
	shape    chunkShape

	deltas    bool // a delta brought something, so a later message repeats it
	chunk     chunkContent
	native    string // native_finish_reason of OpenRouter
	reasoning chatReasoning
}

// chunkContent describes the content of one chunk, for the fast path of chunkShape.
type chunkContent struct {
	pieces int          // of the answer or of arguments that came as a plain string
	last   gjson.Result // the last of them
	call   *openCall    // the call with these arguments; nil: the piece is of the answer
	other  bool         // anything else that counts when it is repeated, unlike usage
}

func (c *chunkContent) piece(text gjson.Result, of *openCall) {
	c.pieces++
	c.last, c.call = text, of
}

func (d *chatDecoder) event(ev Event) error {
	d.shape.forget()
	root, err := parseEvent(ev)
	if err != nil {
		d.done = d.done || err == errEnd
		return err
	}
	d.chunk = chunkContent{}
	d.completion(root)
	switch c := d.chunk; {
	case c.pieces != 1 || c.other || len(c.last.Raw) == len(`""`):
	case c.call != nil:
		d.shape.learn(ev, c.last, d.draft, false, func(piece []byte) { d.bound(c.call.addPiece(piece)) })
	default:
		d.shape.learn(ev, c.last, d.draft, true, d.answer.add)
	}
	return nil
}

func (d *chatDecoder) completion(root gjson.Result) {
	var choices, model, usage, groq gjson.Result
	find(root, wanted{"choices", &choices}, wanted{"model", &model}, wanted{"usage", &usage}, wanted{"x_groq", &groq})
	d.seen = d.seen || choices.Exists()
	if d.model == "" {
		setString(&d.model, model)
	}
	choices.ForEach(func(_, choice gjson.Result) bool {
		d.choice(choice)
		return true
	})
	d.useOpenAIUsage(usage)
	d.useOpenAIUsage(groq.Get("usage"))
}

func (d *chatDecoder) choice(choice gjson.Result) {
	var index, usage, native, delta, message, reason gjson.Result
	find(choice, wanted{"index", &index}, wanted{"usage", &usage}, wanted{"native_finish_reason", &native},
		wanted{"delta", &delta}, wanted{"message", &message}, wanted{"finish_reason", &reason})
	if index.Int() != 0 {
		return
	}
	d.useOpenAIUsage(usage)
	setString(&d.native, native)
	empty := !delta.IsObject() || isEmptyObject(delta)
	var m chatMessage
	if delta.IsObject() {
		m.open(delta)
		d.delta(&m)
	}
	if empty && message.IsObject() {
		d.chunk.other = true
		m.open(message)
		d.message(&m, delta.IsObject())
	}
	if !empty && d.began {
		d.deltas = true
	}
	setString(&d.finishReason, reason)
}

type chatMessage struct {
	content, refusal        gjson.Result
	toolCalls, functionCall gjson.Result
	reasoning               [len(reasoningFields)]gjson.Result
	details, blocks, extra  gjson.Result // see chatReasoning
}

func (m *chatMessage) open(v gjson.Result) {
	*m = chatMessage{}
	find(v, wanted{"content", &m.content}, wanted{"refusal", &m.refusal},
		wanted{"tool_calls", &m.toolCalls}, wanted{"function_call", &m.functionCall},
		wanted{reasoningFields[0], &m.reasoning[0]}, wanted{reasoningFields[1], &m.reasoning[1]}, wanted{reasoningFields[2], &m.reasoning[2]},
		wanted{"reasoning_details", &m.details}, wanted{"thinking_blocks", &m.blocks}, wanted{"extra_content", &m.extra})
}

// message takes a complete message instead of a delta. beside says that its choice also has
// deltas. Some servers repeat the complete answer at the end: then only the missing parts count.
func (d *chatDecoder) message(message *chatMessage, beside bool) {
	if !d.deltas && !(beside && d.began) {
		d.delta(message)
		return
	}
	whole := map[*replyText][]byte{&d.reasoningText: d.reasoning.take(message, true), &d.refusalText: text(message.refusal)}
	if d.reasoning.parts == nil {
		d.reasoning.keepParts(message.content)
	}
	d.parts(message.content, func(v *replyText, piece []byte) { whole[v] = appendPiece(whole[v], piece) })
	for _, v := range []*replyText{&d.reasoningText, &d.answer, &d.refusalText} {
		v.complete(&v.whole, whole[v])
	}
	d.assembly.complete(message.calls())
}

func (d *chatDecoder) delta(delta *chatMessage) {
	if thought := d.reasoning.take(delta, false); len(thought) > 0 || d.reasoning.extra != nil {
		d.chunk.other = true
		d.reasoningText.add(thought)
	}
	d.content(delta)
	if refusal := text(delta.refusal); len(refusal) > 0 {
		d.chunk.other = true
		d.refusalText.add(refusal)
	}
	for _, c := range delta.calls() {
		d.began = true
		switch call := d.assembly.add(c); {
		case call == nil:
			d.fail(tooManyCalls())
		case c.onlyArguments():
			d.bound(call.arguments)
			d.chunk.piece(c.function.Get("arguments"), call)
		default:
			d.bound(call.arguments)
			d.chunk.other = true
		}
	}
}

// content takes a string, or a list of parts. Parts may be reasoning.
func (d *chatDecoder) content(delta *chatMessage) {
	content, thought := delta.content, delta.isThought()
	switch {
	case thought || d.reasoning.marked:
		d.chunk.other = true
		d.thoughtContent(text(content), thought)
	case content.Type == gjson.String:
		d.chunk.piece(content, nil)
		d.answer.add(text(content))
	default:
		d.chunk.other = d.chunk.other || content.IsArray() || content.IsObject()
		d.reasoning.keepParts(content)
		d.parts(content, (*replyText).add)
	}
}

// thoughtContent takes content in a reply with thoughts that Gemini marks. Gemini writes them
// between tags; the closing tag comes at the beginning of the answer.
func (d *chatDecoder) thoughtContent(piece []byte, thought bool) {
	if thought {
		if !d.reasoning.marked {
			piece = bytes.TrimPrefix(piece, []byte("<thought>"))
		}
		d.reasoning.marked = true
		d.reasoningText.add(bytes.TrimSuffix(piece, []byte("</thought>")))
		return
	}
	if len(piece) > 0 {
		d.reasoning.marked = false
	}
	d.answer.add(bytes.TrimPrefix(piece, []byte("</thought>")))
}

// parts passes the text of each part of a content to add.
func (d *chatDecoder) parts(content gjson.Result, add func(*replyText, []byte)) {
	for _, part := range content.Array() { // itself, if it is no array
		switch {
		case part.Type == gjson.String:
			add(&d.answer, text(part))
		case isThoughtPart(part):
			add(&d.reasoningText, textOf(part))
		case part.Get("type").Str == "refusal":
			add(&d.refusalText, text(part.Get("refusal")))
		default:
			add(&d.answer, text(part.Get("text")))
		}
	}
}

// textOf joins the texts of a string, of a part, or of a list of them.
func textOf(v gjson.Result) (joined []byte) {
	switch {
	case v.Type == gjson.String:
		return text(v)
	case v.IsObject():
		for _, name := range append(fragmentTexts, "content") {
			if t := v.Get(name); t.Exists() {
				return textOf(t)
			}
		}
	case v.IsArray():
		for _, part := range v.Array() {
			joined = appendPiece(joined, textOf(part))
		}
	}
	return joined
}

func (m *chatMessage) calls() (list []callDelta) {
	if m.functionCall.IsObject() { // the one call of the API before November 2023
		list = append(list, callDelta{index: -1, function: m.functionCall})
	}
	for _, v := range m.toolCalls.Array() { // itself, if it is one call without the list around it
		if v.IsObject() {
			list = append(list, newCallDelta(v))
		}
	}
	return list
}

// failedUpstream reports whether OpenRouter's native_finish_reason says that the
// model failed, although the finish_reason beside it does not.
func failedUpstream(reason string) bool {
	reason = strings.ToLower(reason)
	return strings.HasSuffix(reason, "error") || reason == "malformed_function_call"
}

func (d *chatDecoder) finish() error {
	d.calls = d.assembly.finished()
	if !d.began && failedUpstream(d.native) {
		return failedReply("native_finish_reason", d.native)
	}
	d.stop = stopOf(d.finishReason)
	return nil
}

func (d *chatDecoder) echo() Opaque { return d.reasoning.opaque(d) }
