package stream

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// chatDialect is OpenAI's /v1/chat/completions, in the form that all other servers accept too.
var chatDialect = dialect{
	name: "chat",
	path: "/chat/completions",
	names: fieldNames{
		conversation: []string{"messages"},
		maxTokens:    []string{"max_tokens", "max_completion_tokens"}, effort: "reasoning_effort", schema: chatForm,
	},
	inReplies:  []string{`"choices"`},
	inRefusals: []string{"chat/completions", "field `messages`", "parameter: 'messages'"},
	headers:    bearerHeader,
	cacheKey:   true,
	ids:        idRule{longest: 40},
	open:       openChat,
	encoder:    func(_ *Request, o options) encoder { return &chatEncoder{options: o} },
	repairs:    repairsOfChat,
	decoder:    func(d *draft) decoder { return &chatDecoder{draft: d} },
}

func openChat(w *segments, r *Request, o options) {
	f := openFields(w, r)
	if !o.noStreamOptions && !paramOf(r, "stream_options").Get("include_usage").Exists() {
		f.object("stream_options", []byte(`"include_usage":true`))
	}
	f.cacheKey(o)
	f.set(chatTokenLimit(o), "?", r.MaxTokens)
	f.set("temperature", "?", r.Temperature)
	f.set("reasoning_effort", "?", r.ReasoningEffort)
	f.set("response_format", "?", answerFormat(r, o, `{"type":"json_schema","json_schema":{"name":"answer",`, "}}"))
	f.params("messages")
	f.tools(o, `{"type":"function","function":{`, "parameters", "}}", "}}")
	f.conversation("messages")
	systemMessage(w, r.Messages)
}

// chatTokenLimit is the name of the token limit: OpenAI's reasoning models
// refuse max_tokens, and most other servers do not know the other name.
func chatTokenLimit(o options) string {
	if o.isOpenAI != o.secondTokenLimit {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

func repairsOfChat(o *options, r *Request, f *refusal) []repair {
	hasToolNames := slices.ContainsFunc(r.Messages, func(m Message) bool { return m.Role == ToolRole && m.Name != "" })
	onlyCalls := slices.ContainsFunc(r.Messages, func(m Message) bool { return m.Role == Assistant && len(m.Calls) > 0 && !hasText(m.Parts) })
	otherLimit := chatTokenLimit(options{isOpenAI: o.isOpenAI, secondTokenLimit: true})
	return []repair{
		{&o.noStreamOptions, f.refuses(r, "stream_options"), "without stream_options"},
		{&o.secondTokenLimit, r.MaxTokens > 0 && f.refuses(r, "max_tokens", "max_completion_tokens"), "with the token limit as " + otherLimit},
		{&o.noToolNames, hasToolNames && refusesToolNames(f.words), "without the names of tools in their results"},
		{&o.noCacheKey, o.cacheKey != "" && f.refuses(r, "prompt_cache_key"), "without prompt_cache_key"},
		{&o.emptyContent, !o.noToolRole && onlyCalls && (f.refuses(r, "content") || f.says("message content", "content type")), "with empty text instead of null in messages that only call tools"},
	}
}

// refusesToolNames reports whether a refusal is about the member name of a message, and not
// about the name of a tool in a definition or in a call.
func refusesToolNames(refusal string) bool {
	return containsAny(refusal, `"name"`, "'name'", "`name`", ".name") && !containsAny(refusal, "tools[", "tools.", "function.name", "functions.")
}

// chatEncoder writes messages in the form that the strictest servers accept: nothing empty, and
// the results of a turn directly after its calls. A result cannot hold images, so they follow
// in a message of the user.
type chatEncoder struct {
	options
	images  []Part // of results, after a text for each result; not written yet
	open    bool   // the text of the last message, which is the user's, has no end yet
	skipped bool   // a message that says nothing came after it
}

func (e *chatEncoder) message(w *segments, m *Message) {
	switch {
	case isSilent(m):
		e.skipped = true
		return
	case e.open && e.skipped && m.Role == User && allText(m.Parts): // many chat templates demand that the roles alternate
		w.str(`\n\n`)
		innerText(w, m.Parts, "\n")
		return
	case e.open || m.Role != ToolRole:
		e.finish(w)
		e.images, e.open = nil, false
	}
	w.item()
	switch m.Role {
	case Assistant:
		e.assistant(w, m)
	case ToolRole:
		e.result(w, m)
	default:
		e.user(w, m)
	}
}

// user writes a message of the user. If all parts are text the content is a string, because some
// endpoints accept nothing else.
func (e *chatEncoder) user(w *segments, m *Message) {
	w.put(`{"role":"user"?,"content":`, chatName(m))
	if e.open, e.skipped = allText(m.Parts), false; e.open {
		w.str(`"`)
		innerText(w, m.Parts, "\n")
		return
	}
	partList(w, m.Parts, chatPart)
	w.str("}")
}

// chatName writes the member with the name of the speaker or of the tool.
func chatName(m *Message) []byte { return filled(`,"name":?`, m.Name) }

func (e *chatEncoder) finish(w *segments) {
	if e.open {
		w.str(`"}`)
	}
	if len(e.images) > 0 {
		w.str(`,{"role":"user","content":`)
		partList(w, e.images, chatPart)
		w.str("}")
	}
}

func (e *chatEncoder) assistant(w *segments, m *Message) {
	w.put(`{"role":"assistant"?,"content":`, chatName(m))
	opaque := m.Opaque
	if opaque.api != "chat" {
		opaque = Opaque{}
	}
	switch {
	case opaque.content != nil:
		w.raw(opaque.content)
	case !allText(m.Parts):
		partList(w, m.Parts, chatPart)
	case hasText(m.Parts):
		w.put("?", m.Parts)
	case e.emptyContent:
		w.str(`""`)
	default:
		w.str("null")
	}
	if len(opaque.json) > 0 {
		w.put(",?", opaque.json)
	}
	calls, has, foreign := m.Calls, carried(m), opaque.api == ""
	if (e.fill.reasoning || e.fillOthers.reasoning && foreign) && !has.reasoning {
		w.str(`,"reasoning_content":""`)
	}
	if (e.fill.signature || e.fillOthers.signature && foreign) && !has.signature && len(calls) > 0 {
		calls = slices.Clone(calls)
		calls[0].Extra = []byte(noSignature)
	}
	chatCalls(w, calls, sentArguments)
	w.str("}")
}

// noSignature takes the place of a signature that Gemini demands, in a call that Gemini did not
// make (ai.google.dev/gemini-api/docs/thought-signatures). Of parallel calls only the first one has
// a signature (BerriAI/litellm#37541).
const noSignature = `"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}`

// carried returns the state in m that some endpoints demand.
func carried(m *Message) fill {
	thoughts := `"reasoning_content":`
	if m.Opaque.api == messagesDialect.name {
		thoughts = `"type":"thinking"`
	}
	return fill{
		reasoning: bytes.Contains(m.Opaque.json, []byte(thoughts)),
		signature: slices.ContainsFunc(m.Calls, func(c Call) bool { return bytes.Contains(c.Extra, []byte(`"thought_signature"`)) }),
	}
}

// learn looks for state that the endpoint wrote into its own calls: it may demand the same of the
// calls of others. It reports whether this changes how messages are written.
func learn(o *options, messages []Message) bool {
	was := o.fillOthers
	for i := range messages {
		if m := &messages[i]; m.Opaque.api == chatDialect.name && len(m.Calls) > 0 {
			has := carried(m)
			o.fillOthers.reasoning = o.fillOthers.reasoning || has.reasoning
			o.fillOthers.signature = o.fillOthers.signature || has.signature
		}
	}
	return o.fillOthers != was
}

// chatCalls writes the member tool_calls. The function arguments converts the arguments of a
// call.
func chatCalls(w *segments, calls []Call, arguments func([]byte) []byte) {
	if len(calls) == 0 {
		return
	}
	w.str(`,"tool_calls":[`)
	for _, c := range calls {
		w.item()
		w.put(`{"id":?,"type":"function","function":{"name":?,"arguments":?}`, c.ID, c.Name, string(arguments(c.Arguments)))
		if len(c.Extra) > 0 {
			w.put(",?", c.Extra)
		}
		w.str("}")
	}
	w.str("]")
}

// sentArguments returns arguments in the form in which they go back to an endpoint: one JSON
// object. Endpoints refuse a request with any other arguments. The answer to the call says to
// the model that they were refused.
func sentArguments(arguments []byte) []byte {
	trimmed := bytes.TrimSpace(arguments)
	switch {
	case len(trimmed) == 0 || trimmed[0] != '{' || !valid(trimmed):
		return []byte("{}")
	case utf8.Valid(arguments): // ToValidUTF8 copies them, a byte at a time
		return arguments
	}
	return bytes.ToValidUTF8(arguments, []byte("\ufffd"))
}

func (e *chatEncoder) result(w *segments, m *Message) {
	content := m.Parts
	if hasImage(m.Parts) {
		e.images = append(e.images, Part{Text: "[toolpipe] images from " + m.Name + ":"})
		e.images = append(e.images, otherParts(m.Parts)...)
		if !hasText(m.Parts) {
			content = []Part{{Text: "[toolpipe] the images are in the next message"}}
		}
	}
	var name []byte
	if !e.noToolNames {
		name = chatName(m)
	}
	w.put(`{"role":"tool","tool_call_id":??,"content":?}`, m.CallID, name, content)
}
