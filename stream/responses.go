package stream

import (
	"slices"

	"github.com/tidwall/gjson"
)

// responsesDialect is OpenAI's /v1/responses, without state on the server.
var responsesDialect = dialect{
	name: "responses",
	path: "/responses",
	names: fieldNames{
		conversation: []string{"input"},
		maxTokens:    []string{"max_output_tokens"}, effort: "reasoning.effort", schema: responsesForm,
	},
	inReplies:  []string{`"response.`, `"object":"response"`, `"object": "response"`},
	inRefusals: []string{"v1/responses", "responses api", "field `input`", "parameter: 'input'"},
	headers:    bearerHeader,
	cacheKey:   true,
	ids:        idRule{longest: 64}, // of any characters (orchidfiles/ungate#41)
	open:       openResponses,
	encoder:    func(*Request, options) encoder { return &responsesEncoder{} },
	repairs:    repairsOfResponses,
	own:        ownItems,
	ownKinds:   []string{"message", "function_call", "custom_tool_call"},
	decoder:    func(d *draft) decoder { return &responsesDecoder{draft: d} },
}

func openResponses(w *segments, r *Request, o options) {
	f := openFields(w, r)
	f.set("store", "false")
	f.cacheKey(o)
	f.set("max_output_tokens", "?", r.MaxTokens)
	f.set("temperature", "?", r.Temperature)
	f.object("reasoning", filled(`"effort":?`, r.ReasoningEffort))
	f.object("text", filled(`"format":?`, answerFormat(r, o, `{"type":"json_schema","name":"answer",`, "}")))
	if len(r.Tools) > 0 && !o.noInclude {
		f.list("include", `"reasoning.encrypted_content"`)
	}
	f.params("input")
	f.tools(o, `{"type":"function",`, "parameters", `,"strict":false}`, `,"strict":false}`)
	f.conversation("input")
	systemMessage(w, r.Messages)
}

func repairsOfResponses(o *options, r *Request, f *refusal) []repair {
	return []repair{
		{&o.noInclude, len(r.Tools) > 0 && (f.refuses(r, "include") || f.says("encrypted content is not supported", "encrypted_content")), "without include"},
		{&o.noCacheKey, o.cacheKey != "" && f.refuses(r, "prompt_cache_key"), "without prompt_cache_key"},
	}
}

// responsesEncoder writes input items. A message becomes one or several items.
type responsesEncoder struct {
	custom []string // the ids of calls of custom tools; their results need another form
}

func (e *responsesEncoder) message(w *segments, m *Message) {
	if isSilent(m) {
		return
	}
	switch m.Role {
	case Assistant:
		e.assistant(w, m)
	case ToolRole:
		w.item()
		kind := "function_call_output"
		if slices.Contains(e.custom, m.CallID) {
			kind = "custom_tool_call_output"
		}
		w.put(`{"type":?,"call_id":?,"output":`, kind, m.CallID)
		responsesContent(w, m.Parts, m.Parts)
		w.str("}")
	default:
		w.item()
		w.str(`{"role":"user","content":`)
		responsesContent(w, m.Parts, lines(m.Parts))
		w.str("}")
	}
}

func (e *responsesEncoder) finish(*segments) {}

func (e *responsesEncoder) assistant(w *segments, m *Message) {
	if items := m.Opaque.sent(); m.Opaque.api == "responses" && len(items) > 0 {
		for _, id := range gjson.GetBytes(m.Opaque.state(), `#(type=="custom_tool_call")#.call_id`).Array() {
			e.custom = append(e.custom, stringOrNumber(id))
		}
		w.item()
		w.raw(items)
		return
	}
	for _, item := range ownItems(m) {
		w.item()
		w.raw(item)
	}
}

func ownItems(m *Message) [][]byte {
	return textAndCalls(m, `{"role":"assistant","content":?}`, functionCall)
}

// functionCall returns a call with other members that the endpoint sent.
func functionCall(c *Call, others []member) []byte {
	more := filled(",?", joinMembers(others))
	return formed(`{"type":"function_call","call_id":?,"name":?,"arguments":??}`, c.ID, c.Name, string(sentArguments(c.Arguments)), more)
}

// responsesContent writes text as a string, and as a list when there are images.
// The API has no form for other parts.
func responsesContent(w *segments, parts []Part, text any) {
	if !hasImage(parts) {
		w.put("?", text)
		return
	}
	partList(w, parts, func(w *segments, p *Part) {
		if p.Image != nil && p.Image.isDocument() {
			w.put(`{"type":"input_file","filename":?,"file_data":?}`, p.Image.Name, p.Image)
		} else if p.Image != nil {
			w.put(`{"type":"input_image","image_url":??}`, p.Image, filled(`,"detail":?`, p.Image.Detail))
		} else {
			w.put(`{"type":"input_text","text":?}`, []Part{*p})
		}
	})
}
