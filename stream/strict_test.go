package stream

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// chatRequest is a chat-completions request as a strict endpoint reads it.
type chatRequest struct {
	fields   map[string]json.RawMessage
	messages []map[string]any
}

// strict is an endpoint that refuses what some provider is known to refuse, and
// asks for two calls before it answers.
type strict struct {
	name      string
	first     string // members of the first delta, beside the calls
	ids       [2]string
	extra     string // of the first call
	maxTokens int
	refuses   func(r *chatRequest) string
}

var nineCharacters = regexp.MustCompile(`^[A-Za-z0-9]{9}$`)

var providers = []strict{
	{name: "OpenAI", ids: [2]string{"call_1", "call_2"}, maxTokens: 5, refuses: func(r *chatRequest) string {
		return either(r.has("max_tokens"), "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.")
	}},
	{name: "another that knows only max_tokens", ids: [2]string{"call_1", "call_2"}, maxTokens: 5, refuses: func(r *chatRequest) string {
		return either(r.has("max_completion_tokens"), "max_completion_tokens: unknown field")
	}},
	{name: "DeepSeek", first: `"reasoning_content":"hm",`, ids: [2]string{"call_1", "call_2"}, refuses: func(r *chatRequest) string {
		return either(!r.everyCaller("reasoning_content", "hm"), "The `reasoning_content` in the thinking mode must be passed back to the API")
	}},
	{name: "Groq", first: `"reasoning":"hm",`, ids: [2]string{"call_1", "call_2"}, refuses: func(r *chatRequest) string {
		return either(r.anyHas("reasoning_content") || !r.everyCaller("reasoning", "hm"), "property 'reasoning_content' is unsupported")
	}},
	{name: "Mistral", refuses: func(r *chatRequest) string {
		for _, m := range r.messages {
			if id, ok := m["tool_call_id"].(string); ok && !nineCharacters.MatchString(id) {
				return "Tool call id was " + id + " but must be a-z, A-Z, 0-9, with a length of 9."
			}
			for _, key := range []string{"reasoning_content", "reasoning"} {
				if m[key] != nil {
					return "Extra inputs are not permitted: " + key
				}
			}
		}
		return either(r.has("stream_options"), `{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}`)
	}},
	{name: "Bedrock behind Databricks", ids: [2]string{"toolu_1", "toolu_2"}, refuses: func(r *chatRequest) string {
		for _, m := range r.messages {
			if m["content"] == "" {
				return "messages: text content blocks must be non-empty"
			}
		}
		return either(r.has("stream_options"), "stream_options: not supported")
	}},
	{name: "Ollama", ids: [2]string{"call_1", "call_2"}, refuses: func(r *chatRequest) string {
		for _, m := range r.messages {
			if m["content"] == nil {
				return "invalid message content type: <nil>"
			}
		}
		return ""
	}},
	{name: "Gemini", ids: [2]string{"", ""}, extra: `,"extra_content":{"google":{"thought_signature":"sig"}}`, refuses: func(r *chatRequest) string {
		for _, m := range r.messages {
			if m["role"] == "tool" && m["name"] == nil {
				return "name is required for tool messages"
			}
			if calls, ok := m["tool_calls"].([]any); ok && !strings.Contains(fmt.Sprint(calls[0]), "thought_signature:sig") {
				return "Function call is missing a thought_signature"
			}
		}
		return ""
	}},
}

// A whole tool loop passes against each of them.
func TestStrictProviders(t *testing.T) {
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			var s *modelServer
			s = newModelServer(t, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, s.last()) })
			c := newClient(t, Config{BaseURL: s.URL, Key: "key-of-ours"})
			r := withTools()
			r.MaxTokens = p.maxTokens
			r.Messages = append([]Message{{Role: System, Parts: []Part{{Text: "a"}}}, {Role: Developer, Parts: []Part{{Text: "b"}}}}, r.Messages...)
			for round := range 3 {
				reply, err := c.Reply(t.Context(), r, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Messages = append(r.Messages, reply.Message)
				if round == 2 {
					if got := textOfParts(reply.Message.Parts); got != "Done." || reply.Stop != StopEnd {
						t.Errorf("answer %q", got)
					}
					return
				}
				if len(reply.Message.Calls) != 2 || reply.Stop != StopCalls {
					t.Fatalf("reply %+v", reply)
				}
				for _, call := range reply.Message.Calls {
					r.Messages = append(r.Messages, Message{Role: ToolRole, CallID: call.ID, Name: call.Name, Parts: []Part{{Text: "ok"}}})
				}
			}
		})
	}
}

func (p *strict) serve(w http.ResponseWriter, req *http.Request, body string) {
	r, why := readStrictly(body)
	if why == "" {
		why = p.refuses(r)
	}
	if why != "" {
		status(422, why)(w, req)
		return
	}
	results := strings.Count(body, `"role":"tool"`)
	if results == 4 {
		stream(`data: {"choices":[{"index":0,"delta":{"content":"Done."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")(w, req)
		return
	}
	call := func(i int, extra string) string {
		return fmt.Sprintf(`{"index":%d,"id":%q,"type":"function","function":{"name":"clock__now","arguments":%q}%s}`, i, p.ids[i], []string{"", `{"a": 1}`}[i], extra)
	}
	stream(`data: {"choices":[{"index":0,"delta":{`+p.first+`"content":null,"tool_calls":[`+call(0, p.extra)+","+call(1, "")+`]},"finish_reason":"tool_calls"}]}`+"\n\ndata: [DONE]\n\n")(w, req)
}

// readStrictly refuses what several providers refuse.
func readStrictly(body string) (r *chatRequest, why string) {
	r = &chatRequest{}
	if err := json.Unmarshal([]byte(body), &r.fields); err != nil {
		return r, err.Error()
	}
	json.Unmarshal(r.fields["messages"], &r.messages)
	for _, word := range []string{`"tools":[]`, `"tool_calls":[]`, `"parallel_tool_calls"`, `"tool_choice"`, `"developer"`} {
		if strings.Contains(body, word) {
			return r, word + " is refused"
		}
	}
	open := map[string]bool{}
	for i, m := range r.messages {
		switch m["role"] {
		case "system":
			if i > 0 {
				return r, "System message must be at the beginning."
			}
		case "tool":
			id, _ := m["tool_call_id"].(string)
			if !open[id] {
				return r, "no call for tool_call_id " + id
			}
			delete(open, id)
			continue
		}
		if len(open) > 0 {
			return r, "Not the same number of function calls and responses"
		}
		calls, _ := m["tool_calls"].([]any)
		for _, c := range calls {
			why = strictCall(c.(map[string]any), open)
			if why != "" {
				return r, why
			}
		}
	}
	return r, ""
}

func strictCall(call map[string]any, open map[string]bool) string {
	id, _ := call["id"].(string)
	if id == "" || len(id) > 40 || open[id] {
		return "bad id " + id
	}
	open[id] = true
	arguments, _ := call["function"].(map[string]any)["arguments"].(string)
	var object map[string]any
	if json.Unmarshal([]byte(arguments), &object) != nil {
		return "tool_use.input: Input should be a valid dictionary"
	}
	return ""
}

func (r *chatRequest) has(field string) bool { return r.fields[field] != nil }

func (r *chatRequest) anyHas(key string) bool {
	for _, m := range r.messages {
		if m[key] != nil {
			return true
		}
	}
	return false
}

func (r *chatRequest) everyCaller(key, value string) bool {
	for _, m := range r.messages {
		if m["tool_calls"] != nil && m[key] != value {
			return false
		}
	}
	return true
}

func either(refused bool, why string) string {
	if refused {
		return why
	}
	return ""
}
