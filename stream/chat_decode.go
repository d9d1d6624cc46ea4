package stream

import (
	"bytes"
	"strings"

	"github.com/tidwall/gjson"
)

// chatDecoder reads chat.completion.chunk events, or one whole
// chat.completion, by the rules of model-wire section 2.
type chatDecoder struct {
	*draft
	assembly callAssembly
	shape    chunkShape

	chunks   int  // that were read
	done     bool // [DONE] came
	deltas   bool // a delta brought something, so a message beside it repeats
	effects  effects
	native   string        // native_finish_reason, OpenRouter's
	thoughts reasoningEcho // what goes back
}

// effects says what one event did, for the fast way.
type effects struct {
	text  int          // deltas of the answer that came as a plain string
	raw   gjson.Result // the last of them
	other bool         // anything else that the next chunk of this form may not do
}

func (d *chatDecoder) event(ev Event) error {
	if text, ok := d.shape.match(ev); ok {
		return d.addText(text)
	}
	if string(bytes.TrimSpace(ev.Data)) == "[DONE]" {
		d.done = true
		return errEnd
	}
	d.shape.forget()
	if !valid(ev.Data) {
		return badEvent(ev)
	}
	d.effects = effects{}
	root := gjson.ParseBytes(ev.Data)
	if err := d.value(root, ev.Name); err != nil {
		return err
	}
	if d.effects.text == 1 && !d.effects.other && len(d.effects.raw.Raw) > len(`""`) {
		d.shape.learn(ev, d.effects.raw)
	}
	return nil
}

// value takes a chunk, or the chunks of a list (Gemini wraps errors in one).
func (d *chatDecoder) value(root gjson.Result, name string) (err error) {
	if root.IsArray() {
		d.effects.other = true
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
		d.effects.other = true
		return nil
	}
	return d.chunk(root)
}

// chunk is the table of a chunk's members.
func (d *chatDecoder) chunk(root gjson.Result) (err error) {
	if root.Get("choices").Exists() {
		d.chunks++
	}
	if m := root.Get("model"); d.model == "" && m.Str != "" {
		d.model = strings.Clone(m.Str)
		d.effects.other = true
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
	for _, path := range []string{"usage", "x_groq.usage"} {
		d.useUsage(root.Get(path))
	}
	return nil
}

func (d *chatDecoder) choice(choice gjson.Result) error {
	d.useUsage(choice.Get("usage"))
	if reason := choice.Get("native_finish_reason"); reason.Str != "" {
		d.native = strings.Clone(reason.Str)
		d.effects.other = true
	}
	delta, message := choice.Get("delta"), choice.Get("message")
	empty := !delta.IsObject() || isEmptyObject(delta)
	if err := d.delta(delta); err != nil {
		return err
	}
	if empty && message.IsObject() {
		d.effects.other = true
		if err := d.message(message, delta.IsObject()); err != nil {
			return err
		}
	}
	if !empty && d.began {
		d.deltas = true
	}
	if reason := choice.Get("finish_reason"); reason.Str != "" {
		d.word = strings.Clone(reason.Str)
		d.effects.other = true
		if reason.Str == "error" {
			return &Error{Kind: Refused, Message: "the reply ended with finish_reason error"}
		}
	}
	return nil
}

// message takes a whole message where a delta could be. Some servers repeat
// the whole answer so at the end: then only calls that are new count.
func (d *chatDecoder) message(message gjson.Result, beside bool) error {
	if (beside && d.began) || d.deltas {
		return d.toolCalls(message)
	}
	return d.delta(message)
}

func isEmptyObject(r gjson.Result) bool {
	return r.IsObject() && strings.TrimSpace(r.Raw[1:len(r.Raw)-1]) == ""
}

// delta is the table of a delta's members.
func (d *chatDecoder) delta(delta gjson.Result) error {
	if !delta.IsObject() {
		return nil
	}
	if err := d.thoughts.delta(d, delta); err != nil {
		return err
	}
	if err := d.content(delta.Get("content")); err != nil {
		return err
	}
	if refusal := delta.Get("refusal"); refusal.Str != "" {
		d.effects.other, d.began = true, true
		d.refusal = appendPiece(d.refusal, text(refusal))
	}
	return d.toolCalls(delta)
}

// content is a string, or a list of parts some of which are reasoning.
func (d *chatDecoder) content(content gjson.Result) (err error) {
	switch {
	case content.Type == gjson.String:
		d.effects.text++
		d.effects.raw = content
		return d.addLiteral([]byte(content.Raw[1:len(content.Raw)-1]), d.addText)
	case content.IsArray():
		d.effects.other = true
		content.ForEach(func(_, part gjson.Result) bool {
			err = d.part(part)
			return err == nil
		})
	case content.IsObject():
		d.effects.other = true
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
	list := delta.Get("tool_calls")
	if f := delta.Get("function_call"); f.IsObject() { // before 2023-11
		d.effects.other = true
		err = d.toolCall(callDelta{function: f})
	}
	one := func(_, v gjson.Result) bool {
		if v.IsObject() {
			d.effects.other = true
			err = d.toolCall(newCallDelta(v))
		}
		return err == nil
	}
	switch {
	case err != nil:
	case list.IsArray():
		list.ForEach(one)
	default:
		one(gjson.Result{}, list)
	}
	return err
}

func (d *chatDecoder) toolCall(c callDelta) error {
	d.began = true
	return d.assembly.add(c)
}

func (d *chatDecoder) useUsage(u gjson.Result) {
	if !u.IsObject() {
		return
	}
	d.effects.other = true
	d.usage = Usage{
		Input:     count(u, "prompt_tokens"),
		Output:    count(u, "completion_tokens"),
		Reasoning: count(u, "completion_tokens_details.reasoning_tokens"),
		Cached:    count(u, "prompt_tokens_details.cached_tokens", "prompt_cache_hit_tokens", "cached_tokens"),
	}
}

// count returns the first of the numbers that is there.
func count(u gjson.Result, paths ...string) int {
	for _, path := range paths {
		if n := u.Get(path); n.Type == gjson.Number && n.Num > 0 && n.Num < 1<<53 {
			return int(n.Num)
		}
	}
	return 0
}

// failedNatively are the words of OpenRouter's native_finish_reason for an
// upstream that failed although finish_reason looks harmless.
func failedNatively(word string) bool {
	word = strings.ToLower(word)
	return strings.HasSuffix(word, "error") || word == "malformed_function_call"
}

// finish holds what an end of the body means: whole after the end marker or a
// finish reason, else cut.
func (d *chatDecoder) finish() error {
	d.calls = d.assembly.finished()
	switch {
	case d.draft.word == "" && !d.done:
		return cutReply()
	case d.chunks == 0:
		return notAReply("the body holds an end marker and nothing else")
	case !d.began && failedNatively(d.native):
		return &Error{Kind: Refused, Message: "the reply ended with native_finish_reason " + quoteShort(d.native)}
	}
	d.draft.stop = chatStop(d.draft.word)
	d.opaque = d.thoughts.opaque(d)
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
