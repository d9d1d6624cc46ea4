package stream

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strconv"
)

// messagesDialect is Anthropic's /v1/messages.
var messagesDialect = dialect{
	name: "messages",
	path: "/messages",
	names: fieldNames{
		conversation: []string{"messages", "system"},
		maxTokens:    []string{"max_tokens"}, effort: "output_config.effort", schema: messagesForm,
	},
	inReplies:  []string{`"message_start"`, `"type":"message"`, `"type": "message"`},
	inRefusals: []string{"anthropic-version", "v1/messages"},
	headers: func(h http.Header, key Key) {
		h.Set("Anthropic-Version", "2023-06-01")
		if key != "" {
			h.Set("X-Api-Key", string(key))
		}
	},
	ids:      idRule{longest: 64, plain: true}, // 64 for Amazon's services (docs.aws.amazon.com, ToolUseBlock)
	open:     openMessages,
	encoder:  func(r *Request, o options) encoder { return &messagesEncoder{options: o, cache: cacheMark(r, o)} },
	repairs:  repairsOfMessages,
	own:      ownBlocks,
	ownKinds: []string{"text", "tool_use"},
	decoder:  func(d *draft) decoder { return &messagesDecoder{draft: d} },
}

// The API demands a token limit. The first one suits current models; a model
// that takes less refuses it, and then the second one is sent.
const (
	messagesLimit      = 32000
	messagesSmallLimit = 4096
)

func repairsOfMessages(o *options, r *Request, f *refusal) []repair {
	refusesCache := len(r.Tools) > 0 && f.refuses(r, "cache_control")
	return []repair{
		{&o.noAutoCache, refusesCache && !o.noCacheMarks, "without cache_control for the whole request"},
		{&o.noCacheMarks, refusesCache, "without cache_control"},
		{&o.secondTokenLimit, r.MaxTokens == 0 && f.refuses(r, "max_tokens", "max_completion_tokens"), "with max_tokens " + strconv.Itoa(messagesSmallLimit)},
	}
}

// messagesFormat asks for the form of the answer; nil if the API cannot express it.
func messagesFormat(r *Request, o options) []byte {
	schema := formSchema(r, o)
	if schema == nil {
		return nil
	}
	part, ok := anthropicPart.of(schema)
	if !ok {
		return nil
	}
	return formed(`{"type":"json_schema","schema":?}`, part)
}

// The endpoint keeps a request in a cache up to a mark, so that the next round costs only its
// new tokens. The mark of the complete request is the protocol's automatic one: the endpoint
// puts it at the end, so it moves with each round. The services of Amazon and Google refuse it
// (UKGovernmentBEIS/inspect_ai#3851); the marks at the end of the head and of the first message
// stay there.
const cacheControl = `{"type":"ephemeral"}`

// cacheMark is the value of each mark: the user's, if there is one. It is "" for no marks: only
// a request with tools is worth a place in the cache, because others will follow it.
func cacheMark(r *Request, o options) string {
	if len(r.Tools) == 0 || o.noCacheMarks {
		return ""
	}
	switch own := paramOf(r, "cache_control"); {
	case own.Raw == "null":
		return ""
	case own.Exists():
		return own.Raw
	}
	return cacheControl
}

func openMessages(w *segments, r *Request, o options) {
	f := openFields(w, r)
	limit := messagesLimit
	if o.secondTokenLimit {
		limit = messagesSmallLimit
	}
	f.set("max_tokens", "?", cmp.Or(r.MaxTokens, limit))
	f.set("temperature", "?", r.Temperature)
	f.object("output_config", filled(`"effort":?`, r.ReasoningEffort), filled(`"format":?`, messagesFormat(r, o)))
	mark := cacheMark(r, o)
	if mark != "" && !o.noAutoCache {
		f.set("cache_control", mark)
	} else if hasParam(r.Params, "cache_control") && len(r.Tools) > 0 {
		f.merged = append(f.merged, "cache_control") // it turns the marks off, or is in the other marks
	}
	if o.noThinking {
		f.merged = append(f.merged, "thinking") // the last calls are of another model, without the thinking that the API demands there
	}
	f.params("messages")
	system, toolMark := systemMessages(r.Messages), mark
	if len(system) > 0 {
		toolMark = ""
	}
	f.tools(o, "{", "input_schema", "}", endOfBlock(toolMark))
	var blocks [][]byte // the last one ends the part that is the same in each round, and can get a cache mark
	for i, m := range system {
		own := ""
		if i == len(system)-1 {
			own = mark
		}
		blocks = append(blocks, formed(`{"type":"text","text":??`, lines(m.Parts), []byte(endOfBlock(own))))
	}
	f.set("system", "[?]", bytes.Join(blocks, []byte(",")))
	f.conversation("messages")
}

// endOfBlock ends a block or a tool, and marks it for the cache if mark is not "".
func endOfBlock(mark string) string {
	if mark == "" {
		return "}"
	}
	return `,"cache_control":` + mark + "}"
}

// messagesEncoder writes turns: all messages between two messages of the assistant become one
// message of the user.
type messagesEncoder struct {
	options
	cache  string // for the end of the first message of the user; "": no mark
	marked bool   // the mark is written
	open   bool   // a message of the user is being written
}

func (e *messagesEncoder) message(w *segments, m *Message) {
	if isSilent(m) {
		return
	}
	switch m.Role {
	case Assistant:
		e.assistant(w, m)
	case ToolRole:
		e.result(w, m)
	default:
		e.user(w, m)
	}
}

func (e *messagesEncoder) finish(w *segments) {
	if e.open {
		w.str("]}")
	}
}

// block begins a block of a message of the user.
func (e *messagesEncoder) block(w *segments) {
	w.item()
	if !e.open {
		w.str(`{"role":"user","content":[`)
		e.open = true
	}
}

func (e *messagesEncoder) user(w *segments, m *Message) {
	parts := slices.DeleteFunc(slices.Clone(m.Parts), func(p Part) bool { return isEmpty(&p) }) // the API refuses empty text
	for i := range parts {
		e.block(w)
		mark := ""
		if !e.marked && i == len(parts)-1 {
			mark, e.marked = e.cache, true
		}
		messagesPart(w, &parts[i], mark)
	}
}

func messagesPart(w *segments, p *Part, mark string) {
	switch {
	case p.Image == nil:
		w.put(`{"type":"text","text":?`, []Part{*p})
	case p.Image.URL != "":
		w.put(`{"type":"image","source":{"type":"url","url":?}`, p.Image.URL)
	default:
		kind := []byte(`"image"`)
		if p.Image.isDocument() {
			kind = formed(`"document","title":?`, p.Image.Name)
		}
		w.put(`{"type":?,"source":{"type":"base64","media_type":?,"data":"`, kind, p.Image.MIME)
		w.plain(p.Image.Data)
		w.str(`"}`)
	}
	w.str(endOfBlock(mark))
}

func (e *messagesEncoder) result(w *segments, m *Message) {
	e.block(w)
	w.put(`{"type":"tool_result","tool_use_id":?`, m.CallID)
	if m.Failed {
		w.str(`,"is_error":true`)
	}
	switch {
	case hasImage(m.Parts):
		w.str(`,"content":`)
		partList(w, m.Parts, func(w *segments, p *Part) { messagesPart(w, p, "") })
	case hasText(m.Parts):
		w.put(`,"content":?`, m.Parts)
	}
	w.str("}")
}

func (e *messagesEncoder) assistant(w *segments, m *Message) {
	e.finish(w)
	e.open = false
	w.item()
	w.str(`{"role":"assistant","content":`)
	var thoughts []byte
	if e.fill.reasoning && !carried(m).reasoning {
		thoughts = []byte(`{"type":"thinking","thinking":"","signature":""},`) // leookun/cursor-byok#276
	}
	switch blocks := m.Opaque.sent(); {
	case m.Opaque.api == "messages" && len(blocks) > 0:
		w.put("[??]", thoughts, blocks)
	case len(m.Calls) == 0 && thoughts == nil:
		w.put("?", m.Parts)
	default:
		w.put("[??]", thoughts, bytes.Join(ownBlocks(m), []byte(",")))
	}
	w.str("}")
}

func ownBlocks(m *Message) [][]byte { return textAndCalls(m, `{"type":"text","text":?}`, toolUse) }

// textAndCalls writes the text of a message of the assistant in a form, and its calls by call.
func textAndCalls(m *Message, form string, call func(c *Call, others []member) []byte) (list [][]byte) {
	if hasText(m.Parts) {
		list = append(list, formed(form, m.Parts))
	}
	for i := range m.Calls {
		list = append(list, call(&m.Calls[i], nil))
	}
	return list
}

// toolUse returns a call with other members that this API sent. The call's Extra is left out:
// it may be of another dialect, and the API refuses unknown members.
func toolUse(c *Call, others []member) []byte {
	more := filled(",?", joinMembers(others))
	return formed(`{"type":"tool_use","id":?,"name":?,"input":??}`, c.ID, c.Name, bytes.TrimSpace(sentArguments(c.Arguments)), more)
}
