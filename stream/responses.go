package stream

// responsesDialect is OpenAI's /v1/responses, without state on the server.
var responsesDialect = dialect{
	name: "responses",
	path: "/responses",
	names: fieldNames{
		conversation: []string{"input"},
		maxTokens:    []string{"max_output_tokens"}, temperature: "temperature", effort: "reasoning.effort", schema: "text.format",
	},
	inReplies:  []string{`"response.`, `"object":"response"`, `"object": "response"`},
	inRefusals: []string{"v1/responses", "responses api", "field `input`", "parameter: 'input'"},
	headers:    bearerHeader,
	cacheKey:   true,
	joinsUsers: true,
	open:       openResponses,
	encoder:    func(*Request, options) encoder { return &responsesEncoder{} },
	repair:     repairResponses,
	own:        ownItems,
	ownKinds:   []string{"message", "function_call", "custom_tool_call"},
	decoder:    func(d *draft) decoder { return &responsesDecoder{draft: d} },
}

func openResponses(w *segments, r *Request, o options) {
	f := openFields(w, r)
	f.json("store", []byte("false"))
	f.cacheKey(o)
	f.limit("max_output_tokens", r.MaxTokens)
	f.json("temperature", r.Temperature)
	if r.ReasoningEffort != "" {
		f.object("reasoning")
		w.pair(`"effort":`, r.ReasoningEffort)
		w.str("}")
	}
	if r.Schema != nil {
		f.object("text")
		w.str(`"format":{"type":"json_schema","name":"answer",` + strictMember(o) + `"schema":`)
		w.raw(r.Schema)
		w.str("}}")
	}
	if len(r.Tools) > 0 && !o.noInclude {
		f.json("include", []byte(`["reasoning.encrypted_content"]`))
	}
	f.params("input")
	f.tools(o, `{"type":"function",`, "parameters", `,"strict":false}`, `,"strict":false}`)
	f.conversation("input")
	systemMessage(w, r.Messages)
}

func repairResponses(o *options, r *Request, refusal string) string {
	return firstNeeded(
		repair{&o.noInclude, len(r.Tools) > 0 && refuses(refusal, r, "include", "encrypted"), "without include"},
		repair{&o.noCacheKey, o.cacheKey != "" && refuses(refusal, r, "prompt_cache_key"), "without prompt_cache_key"},
		repair{&o.noStrict, r.Schema != nil && refuses(refusal, r, "text.format", "schema", "strict"), "without strict beside the schema"},
	)
}

// responsesEncoder writes input items. A message becomes one or several items.
type responsesEncoder struct {
	count int // items that were written
}

// item begins an item.
func (e *responsesEncoder) item(w *segments) {
	w.comma(e.count)
	e.count++
}

func (e *responsesEncoder) message(w *segments, m *Message) {
	switch m.Role {
	case System, Developer:
	case Assistant:
		e.assistant(w, m)
	case ToolRole:
		e.item(w)
		w.pair(`{"type":"function_call_output","call_id":`, m.CallID)
		w.str(`,"output":`)
		responsesContent(w, m.Parts, "")
		w.str("}")
	default:
		e.item(w)
		w.str(`{"role":"user","content":`)
		responsesContent(w, m.Parts, "\n")
		w.str("}")
	}
}

func (e *responsesEncoder) finish(*segments) {}

func (e *responsesEncoder) assistant(w *segments, m *Message) {
	if state := m.Opaque.of("responses").json; len(state) > 0 {
		e.item(w)
		w.raw(state)
		return
	}
	for _, item := range ownItems(m) {
		e.item(w)
		w.raw(item)
	}
}

// ownItems are the text and the calls of a message of the assistant.
func ownItems(m *Message) (items [][]byte) {
	if hasContent(m) {
		w := &segments{}
		w.str(`{"role":"assistant","content":`)
		joinedText(w, m.Parts, "")
		w.str("}")
		items = append(items, w.flat())
	}
	for i := range m.Calls {
		items = append(items, functionCall(&m.Calls[i]))
	}
	return items
}

func functionCall(c *Call) []byte {
	w := &segments{}
	w.pair(`{"type":"function_call","call_id":`, c.ID)
	w.pair(`,"name":`, c.Name)
	w.pair(`,"arguments":`, string(sentArguments(c.Arguments)))
	w.str("}")
	return w.flat()
}

// responsesContent writes text as a string, and as a list when there are
// images. The API has no form for other parts.
func responsesContent(w *segments, parts []Part, joint string) {
	if !hasImage(parts) {
		joinedText(w, parts, joint)
		return
	}
	partList(w, parts, func(w *segments, p *Part) {
		if p.Image != nil && p.Image.isDocument() {
			w.str(`{"type":"input_file",`)
			fileMembers(w, p.Image)
		} else if p.Image != nil {
			w.str(`{"type":"input_image","image_url":`)
			imageURL(w, p.Image)
		} else {
			w.str(`{"type":"input_text","text":`)
			joinedText(w, []Part{*p}, "")
		}
		w.str("}")
	})
}
