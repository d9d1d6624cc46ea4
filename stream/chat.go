package stream

import (
	"bytes"
	"slices"
	"strings"
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
	joinsUsers: true,
	open:       openChat,
	encoder:    func(_ *Request, o options) encoder { return &chatEncoder{options: o} },
	repair:     repairChat,
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

func repairChat(o *options, r *Request, refusal string) string {
	hasToolNames := slices.ContainsFunc(r.Messages, func(m Message) bool { return m.Role == ToolRole && m.Name != "" })
	onlyCalls := slices.ContainsFunc(r.Messages, func(m Message) bool { return m.Role == Assistant && len(m.Calls) > 0 && !hasContent(&m) })
	otherLimit := chatTokenLimit(options{isOpenAI: o.isOpenAI, secondTokenLimit: true})
	return firstNeeded(append([]repair{
		{&o.noStreamOptions, refuses(refusal, r, "stream_options"), "without stream_options"},
		{&o.secondTokenLimit, r.MaxTokens > 0 && refuses(refusal, r, "max_tokens", "max_completion_tokens"), "with the token limit as " + otherLimit},
		{&o.noToolNames, hasToolNames && refusesToolNames(refusal), "without the names of tools in their results"},
		{&o.noCacheKey, o.cacheKey != "" && refuses(refusal, r, "prompt_cache_key"), "without prompt_cache_key"},
	}, append(formRepairs(o, r, refuses(refusal, r, "response_format", "schema", "strict"), refusal),
		repair{&o.emptyContent, !o.noToolRole && onlyCalls && refuses(refusal, r, "content"), "with empty text instead of null in messages that only call tools"},
	)...)...)
}

// refusesToolNames reports whether a refusal is about the member name of a message, and not
// about the name of a tool in a definition or in a call.
func refusesToolNames(refusal string) bool {
	refusal = strings.ReplaceAll(refusal, `\`, "")
	return containsAny(refusal, `"name"`, "'name'", "`name`", ".name") && !containsAny(refusal, "tools[", "tools.", "function.name", "functions.")
}

// chatEncoder writes messages in the form that the strictest servers accept: nothing empty, and
// the results of a turn directly after its calls. A result cannot hold images, so they follow
// in a message of the user.
type chatEncoder struct {
	options
	images []Part // of results, after a text for each result; not written yet
}

func (e *chatEncoder) message(w *segments, m *Message) {
	if m.Role != ToolRole && len(e.images) > 0 {
		e.finish(w)
		e.images = nil
	}
	w.item()
	switch m.Role {
	case Assistant:
		e.assistant(w, m)
	case ToolRole:
		e.result(w, m)
	default:
		w.put(`{"role":"user"?,"content":`, chatName(m))
		chatContent(w, m.Parts)
		w.str("}")
	}
}

// chatName writes the member with the name of the speaker or of the tool.
func chatName(m *Message) []byte { return filled(`,"name":?`, m.Name) }

func (e *chatEncoder) finish(w *segments) {
	if len(e.images) > 0 {
		w.str(`,{"role":"user","content":`)
		chatContent(w, e.images)
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
		chatContent(w, m.Parts)
	case len(m.Calls) > 0 && !hasContent(m) && e.emptyContent:
		w.str(`""`)
	case len(m.Calls) > 0 && !hasContent(m):
		w.str("null")
	default:
		w.put("?", m.Parts)
	}
	if len(opaque.json) > 0 {
		w.put(",?", opaque.json)
	}
	chatCalls(w, m.Calls, sentArguments)
	w.str("}")
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
