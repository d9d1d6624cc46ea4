package stream

import (
	"bytes"
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// messagesDialect is Anthropic's /v1/messages.
var messagesDialect = dialect{
	name: "messages",
	path: "/messages",
	names: fieldNames{
		conversation: []string{"messages", "system"},
		maxTokens:    []string{"max_tokens"}, temperature: "temperature", effort: "output_config.effort", schema: "output_config.format",
	},
	inReplies:  []string{`"message_start"`, `"type":"message"`, `"type": "message"`},
	inRefusals: []string{"anthropic-version", "v1/messages"},
	headers: func(h http.Header, key Key) {
		h.Set("Anthropic-Version", "2023-06-01")
		if key != "" {
			h.Set("X-Api-Key", string(key))
		}
	},
	open:     openMessages,
	encoder:  func(r *Request, o options) encoder { return &messagesEncoder{options: o, cache: caches(r, o)} },
	repair:   repairMessages,
	own:      func(m *Message) [][]byte { return ownBlocks(m, nil) },
	ownKinds: []string{"text", "tool_use"},
	decoder:  func(d *draft) decoder { return &messagesDecoder{draft: d} },
}

// The API demands a token limit. The first one suits current models; a model
// that takes less refuses it, and then the second one is sent.
const (
	messagesLimit      = 32000
	messagesSmallLimit = 4096
)

func repairMessages(o *options, r *Request, refusal string) string {
	refusesCache := len(r.Tools) > 0 && refuses(refusal, r, "cache_control")
	return firstNeeded(
		repair{&o.noAutoCache, refusesCache && !o.noCacheMarks, "without cache_control for the whole request"},
		repair{&o.noCacheMarks, refusesCache, "without cache_control"},
		repair{&o.secondTokenLimit, r.MaxTokens == 0 && refuses(refusal, r, "max_tokens", "max_completion_tokens"), "with max_tokens " + strconv.Itoa(messagesSmallLimit)},
	)
}

// The endpoint keeps a request in a cache up to a mark, so that the next round
// costs only its new tokens. The mark of the whole request is the protocol's
// automatic one: the endpoint puts it at the end, which moves with each round.
// The services of Amazon and Google refuse it (UKGovernmentBEIS/inspect_ai#3851);
// the marks at the end of the head and of the first message stay there.
const (
	cacheControl = `{"type":"ephemeral"}`
	cacheMark    = `,"cache_control":` + cacheControl
)

// caches reports whether a request is worth a place in the cache: others will
// follow it, because there are tools.
func caches(r *Request, o options) bool { return len(r.Tools) > 0 && !o.noCacheMarks }

func openMessages(w *segments, r *Request, o options) {
	f := openFields(w, r)
	limit := messagesLimit
	if o.secondTokenLimit {
		limit = messagesSmallLimit
	}
	f.limit("max_tokens", cmp.Or(r.MaxTokens, limit))
	f.json("temperature", r.Temperature)
	if r.ReasoningEffort != "" || r.Schema != nil {
		f.object("output_config")
		if r.ReasoningEffort != "" {
			w.pair(`"effort":`, r.ReasoningEffort)
		}
		if r.Schema != nil {
			w.comma(len(r.ReasoningEffort))
			w.str(`"format":{"type":"json_schema","schema":`)
			w.raw(r.Schema)
			w.str("}")
		}
		w.str("}")
	}
	if caches(r, o) && !o.noAutoCache {
		f.json("cache_control", []byte(cacheControl))
	}
	f.params("messages")
	system := systemMessages(r.Messages)
	lastEnd := "}"
	if len(system) == 0 && caches(r, o) {
		lastEnd = cacheMark + "}"
	}
	f.tools(o, "{", "input_schema", "}", lastEnd)
	if len(system) > 0 && f.field("system") {
		messagesSystem(w, system, caches(r, o))
	}
	f.conversation("messages")
}

// messagesSystem writes all system messages as blocks. The last one ends what
// is the same in each round, and can be marked for the cache.
func messagesSystem(w *segments, list []*Message, mark bool) {
	for i, m := range list {
		w.listItem(i)
		textPart(w, m.Parts, "\n")
		if mark && i == len(list)-1 {
			w.str(cacheMark)
		}
		w.str("}")
	}
	w.str("]")
}

// messagesEncoder writes turns: all that stands between two messages of the
// assistant becomes one message of the user.
type messagesEncoder struct {
	options
	ids    map[string]string // of the last calls, as they are sent
	sent   map[string]bool   // ids that were sent
	cache  bool              // mark the end of the first message of the user for the cache
	marked bool              // the mark is written
	count  int               // messages that were written
	blocks int               // in the message of the user that is being written
}

func (e *messagesEncoder) message(w *segments, m *Message) {
	switch {
	case isSystem(m):
	case m.Role == Assistant:
		e.assistant(w, m)
	case m.Role == ToolRole:
		e.result(w, m)
	default:
		e.user(w, m)
	}
}

func (e *messagesEncoder) finish(w *segments) {
	if e.blocks > 0 {
		w.str("]}")
	}
}

// block begins a block of a message of the user.
func (e *messagesEncoder) block(w *segments) {
	if e.blocks == 0 {
		w.comma(e.count)
		e.count++
		w.str(`{"role":"user","content":[`)
	}
	w.comma(e.blocks)
	e.blocks++
}

func (e *messagesEncoder) user(w *segments, m *Message) {
	parts := slices.DeleteFunc(slices.Clone(m.Parts), func(p Part) bool { return isEmpty(&p) }) // the API refuses empty text
	for i := range parts {
		e.block(w)
		mark := e.cache && !e.marked && i == len(parts)-1
		e.marked = e.marked || mark
		messagesPart(w, &parts[i], mark)
	}
}

// messagesPart writes a text or image block.
func messagesPart(w *segments, p *Part, mark bool) {
	switch {
	case p.Image == nil:
		textPart(w, []Part{*p}, "")
	case p.Image.URL != "":
		w.pair(`{"type":"image","source":{"type":"url","url":`, p.Image.URL)
		w.str("}")
	default:
		if p.Image.isDocument() {
			w.pair(`{"type":"document","title":`, p.Image.Name)
		} else {
			w.str(`{"type":"image"`)
		}
		w.pair(`,"source":{"type":"base64","media_type":`, p.Image.MIME)
		w.str(`,"data":"`)
		w.raw([]byte(p.Image.Data))
		w.str(`"}`)
	}
	if mark {
		w.str(cacheMark)
	}
	w.str("}")
}

func (e *messagesEncoder) result(w *segments, m *Message) {
	e.block(w)
	w.pair(`{"type":"tool_result","tool_use_id":`, cmp.Or(e.ids[m.CallID], m.CallID))
	if m.Failed {
		w.str(`,"is_error":true`)
	}
	switch {
	case hasImage(m.Parts):
		w.str(`,"content":`)
		partList(w, m.Parts, func(w *segments, p *Part) { messagesPart(w, p, false) })
	case hasText(m.Parts):
		w.str(`,"content":`)
		joinedText(w, m.Parts, "")
	}
	w.str("}")
}

// nameCalls chooses the ids of calls. Those that this endpoint sent stay as they
// are; others are written as the API takes them.
func (e *messagesEncoder) nameCalls(m *Message) {
	e.ids = map[string]string{}
	if e.sent == nil {
		e.sent = map[string]bool{}
	}
	for _, c := range m.Calls {
		id := c.ID
		if m.Opaque.api != "messages" {
			id = messagesID(id)
			for n := 2; e.sent[id]; n++ {
				id = messagesID(c.ID) + "_" + strconv.Itoa(n)
			}
		}
		e.ids[c.ID], e.sent[id] = id, true
	}
}

// messagesID returns an id in the form that the API takes: letters, digits, _
// and -.
func messagesID(id string) string {
	fit := func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}
	return strings.Map(fit, id)
}

func (e *messagesEncoder) assistant(w *segments, m *Message) {
	echo := len(m.Opaque.of("messages").json) > 0
	if !echo && !hasText(m.Parts) && len(m.Calls) == 0 {
		return // the API refuses an empty message
	}
	e.nameCalls(m)
	e.finish(w)
	e.blocks = 0
	w.comma(e.count)
	e.count++
	w.str(`{"role":"assistant","content":`)
	switch {
	case echo:
		w.str("[")
		w.raw(m.Opaque.json)
		w.str("]")
	case len(m.Calls) == 0:
		joinedText(w, m.Parts, "")
	default:
		for i, block := range ownBlocks(m, e.ids) {
			w.listItem(i)
			w.raw(block)
		}
		w.str("]")
	}
	w.str("}")
}

// ownBlocks are the text and the calls of a message of the assistant, with other ids
// for the calls that ids names.
func ownBlocks(m *Message, ids map[string]string) (blocks [][]byte) {
	if hasContent(m) {
		w := &segments{}
		textPart(w, m.Parts, "")
		w.str("}")
		blocks = append(blocks, w.flat())
	}
	for _, c := range m.Calls {
		blocks = append(blocks, toolUse(cmp.Or(ids[c.ID], c.ID), &c, nil))
	}
	return blocks
}

// toolUse returns a call with other members that this API sent. The call's Extra
// is left out: it may be of another dialect, and the API refuses members that it
// does not know.
func toolUse(id string, c *Call, others []member) []byte {
	w := &segments{}
	w.pair(`{"type":"tool_use","id":`, id)
	w.pair(`,"name":`, c.Name)
	w.str(`,"input":`)
	w.raw(bytes.TrimSpace(sentArguments(c.Arguments)))
	if len(others) > 0 {
		w.str(",")
		w.raw(joinMembers(others))
	}
	w.str("}")
	return w.flat()
}
