package stream

import (
	"strings"

	"github.com/tidwall/gjson"
)

// chatDecoder reads chat.completion.chunk events, or one whole
// chat.completion.
type chatDecoder struct {
	*draft
	assembly callAssembly
	shape    chunkShape

	chunks    int  // chunks and completions that were read
	done      bool // [DONE] came
	deltas    bool // a delta brought something, so a message after it repeats it
	chunk     chunkContent
	native    string // native_finish_reason of OpenRouter
	reasoning chatReasoning
}

// chunkContent says what one chunk held, for the fast way of chunkShape.
type chunkContent struct {
	texts int          // deltas of the answer that came as a plain string
	last  gjson.Result // the last of them
	other bool         // anything else
}

func (d *chatDecoder) event(ev Event) error {
	if text, ok := d.shape.match(ev); ok {
		return d.addText(text)
	}
	d.shape.forget()
	root, err := parseEvent(ev)
	if err != nil {
		d.done = d.done || err == errEnd
		return err
	}
	d.chunk = chunkContent{}
	if err := d.value(root, ev.Name); err != nil {
		return err
	}
	if c := d.chunk; c.texts == 1 && !c.other && len(c.last.Raw) > len(`""`) {
		d.shape.learn(ev, c.last)
	}
	return nil
}

// value takes a chunk, or a list of chunks: Gemini sends an error in a list.
func (d *chatDecoder) value(root gjson.Result, name string) (err error) {
	if root.IsArray() {
		d.chunk.other = true
		root.ForEach(func(_, v gjson.Result) bool {
			if v.IsObject() {
				err = d.value(v, name)
			}
			return err == nil
		})
		return err
	}
	if e := reportedError(root, name); e != nil {
		return e
	}
	if !root.IsObject() {
		d.chunk.other = true
		return nil
	}
	return d.completion(root)
}

// completion takes the members of a chunk or of a whole completion.
func (d *chatDecoder) completion(root gjson.Result) (err error) {
	if root.Get("choices").Exists() {
		d.chunks++
	}
	if d.model == "" && setString(&d.model, root.Get("model")) {
		d.chunk.other = true
	}
	root.Get("choices").ForEach(func(_, choice gjson.Result) bool {
		if choice.Get("index").Int() == 0 {
			err = d.choice(choice)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	d.useUsage(root.Get("usage"))
	d.useUsage(root.Get("x_groq.usage"))
	return nil
}

func (d *chatDecoder) choice(choice gjson.Result) error {
	d.useUsage(choice.Get("usage"))
	if setString(&d.native, choice.Get("native_finish_reason")) {
		d.chunk.other = true
	}
	delta, message := choice.Get("delta"), choice.Get("message")
	empty := !delta.IsObject() || isEmptyObject(delta)
	if err := d.delta(delta); err != nil {
		return err
	}
	if empty && message.IsObject() {
		d.chunk.other = true
		if err := d.message(message, delta.IsObject()); err != nil {
			return err
		}
	}
	if !empty && d.began {
		d.deltas = true
	}
	if setString(&d.finishReason, choice.Get("finish_reason")) {
		d.chunk.other = true
		if d.finishReason == "error" {
			return &Error{Kind: Refused, Message: "the reply ended with finish_reason error"}
		}
	}
	return nil
}

// message takes a whole message in place of a delta. Some servers repeat the
// whole answer in one at the end: then only new calls count.
func (d *chatDecoder) message(message gjson.Result, beside bool) error {
	if (beside && d.began) || d.deltas {
		return d.toolCalls(message)
	}
	return d.delta(message)
}

// delta takes the members of a delta.
func (d *chatDecoder) delta(delta gjson.Result) error {
	if !delta.IsObject() {
		return nil
	}
	if err := d.reasoning.delta(d, delta); err != nil {
		return err
	}
	if err := d.content(delta.Get("content")); err != nil {
		return err
	}
	if refusal := delta.Get("refusal"); refusal.Str != "" {
		d.chunk.other, d.began = true, true
		d.refusal = appendPiece(d.refusal, text(refusal))
	}
	return d.toolCalls(delta)
}

// content takes a string, or a list of parts some of which may be reasoning.
func (d *chatDecoder) content(content gjson.Result) (err error) {
	switch {
	case content.Type == gjson.String:
		d.chunk.texts++
		d.chunk.last = content
		return d.addLiteral([]byte(content.Raw[1:len(content.Raw)-1]), d.addText)
	case content.IsArray():
		d.chunk.other = true
		content.ForEach(func(_, part gjson.Result) bool {
			err = d.part(part)
			return err == nil
		})
	case content.IsObject():
		d.chunk.other = true
		return d.part(content)
	}
	return err
}

func (d *chatDecoder) part(part gjson.Result) error {
	if part.Type == gjson.String {
		return d.addText(text(part))
	}
	switch part.Get("type").Str {
	case "thinking", "reasoning":
		for _, name := range []string{"thinking", "text", "summary", "content"} {
			if v := part.Get(name); v.Exists() {
				return d.addReasoning(textOf(v))
			}
		}
		return nil
	case "refusal":
		d.refusal = appendPiece(d.refusal, text(part.Get("refusal")))
		return nil
	}
	return d.addText(text(part.Get("text")))
}

// textOf joins the texts of a string, of a part, or of a list of them.
func textOf(v gjson.Result) []byte {
	switch {
	case v.Type == gjson.String:
		return text(v)
	case v.IsObject():
		return text(v.Get("text"))
	}
	var joined []byte
	if v.IsArray() {
		v.ForEach(func(_, part gjson.Result) bool {
			joined = appendPiece(joined, textOf(part))
			return true
		})
	}
	return joined
}

func (d *chatDecoder) toolCalls(delta gjson.Result) (err error) {
	add := func(c callDelta) {
		d.chunk.other, d.began = true, true
		err = d.assembly.add(c)
	}
	if f := delta.Get("function_call"); f.IsObject() { // the one call of the API before November 2023
		add(callDelta{index: -1, function: f})
	}
	list := delta.Get("tool_calls")
	if list.IsObject() { // one call without the list around it
		list = gjson.Parse("[" + list.Raw + "]")
	}
	list.ForEach(func(_, v gjson.Result) bool {
		if err == nil && v.IsObject() {
			add(newCallDelta(v))
		}
		return err == nil
	})
	return err
}

func (d *chatDecoder) useUsage(u gjson.Result) {
	if !u.IsObject() {
		return
	}
	d.chunk.other = true
	d.usage = Usage{
		Input:     count(u, "prompt_tokens"),
		Output:    count(u, "completion_tokens"),
		Reasoning: count(u, "completion_tokens_details.reasoning_tokens"),
		Cached:    count(u, "prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens", "cached_tokens"),
	}
}

// failedUpstream reports whether OpenRouter's native_finish_reason says that the
// model failed, although the finish_reason beside it does not.
func failedUpstream(reason string) bool {
	reason = strings.ToLower(reason)
	return strings.HasSuffix(reason, "error") || reason == "malformed_function_call"
}

// finish checks that the reply is whole: the end marker or a finish reason came.
func (d *chatDecoder) finish() error {
	d.calls = d.assembly.finished()
	switch {
	case d.finishReason == "" && !d.done:
		return cutReply()
	case d.chunks == 0:
		return notAReply("the body holds an end marker and nothing else")
	case !d.began && failedUpstream(d.native):
		return &Error{Kind: Refused, Message: "the reply ended with native_finish_reason " + quoteShort(d.native)}
	}
	d.stop = chatStop(d.finishReason)
	d.opaque = d.reasoning.opaque(d)
	return nil
}

// chatStop maps finish reasons, in lower case, to stops.
func chatStop(reason string) Stop {
	switch strings.ToLower(reason) {
	case "stop", "end_turn", "eos", "eos_token", "stop_sequence", "stop_token", "complete", "completed", "end":
		return StopEnd
	case "tool_calls", "tool_call", "tool_use", "function_call":
		return StopCalls
	case "length", "max_tokens", "model_length", "max_output_tokens", "token_limit":
		return StopLength
	case "content_filter", "content-filter", "safety", "refusal", "recitation", "blocklist", "prohibited_content", "spii":
		return StopFilter
	}
	return StopUnknown
}
