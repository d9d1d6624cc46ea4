package stream

import (
	"encoding/json"
)

// situation is one conversation that every dialect must carry.
type situation struct {
	name       string
	noToolRole bool
	request    func() *Request
	results    map[int][]Part // of the calls of exchange i, the same for each call; text "ok" if not given
	then       string         // what the user says after an answer without calls
	outcomes   []outcome
}

// outcome is what one exchange must give, whatever the dialect.
type outcome struct {
	text, reasoning string // a refusal counts as text
	calls           []string
	stop            Stop
	usage           Usage
	model           string
	retries         int
	failure         string // kind and status
}

// answers are the messages that follow a reply.
func (s *situation) answers(exchange int, reply *Reply) (list []Message) {
	for _, c := range reply.Message.Calls {
		parts := s.results[exchange]
		if parts == nil {
			parts = []Part{{Text: "ok"}}
		}
		list = append(list, Message{Role: ToolRole, CallID: c.ID, Name: c.Name, Parts: parts})
	}
	if len(list) == 0 {
		list = append(list, Message{Role: User, Parts: []Part{{Text: s.then}}})
	}
	return list
}

func question(parts ...Part) func() *Request {
	if parts == nil {
		parts = []Part{{Text: "hi"}}
	}
	return func() *Request { return &Request{Model: "m", Messages: []Message{{Role: User, Parts: parts}}} }
}

// withTools is a question with tools on offer.
func withTools() *Request {
	r := question()()
	r.Tools = []Tool{
		{Name: "fs__read_file", Description: "Reads a \"file\".", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)},
		{Name: "clock__now", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	return r
}

var (
	usual = Usage{Input: 12, Output: 5}
	done  = outcome{text: "Done.", stop: StopEnd, usage: usual, model: "model-1"}
	image = Part{Image: &Image{MIME: "image/png", Data: "iVBORw0KGgo="}}
)

var situations = []situation{
	{
		name: "text", request: question(),
		outcomes: []outcome{{text: "Hello, \"wörld\"\n\U0001f600 and \t tab", stop: StopEnd, usage: Usage{Input: 12, Output: 5, Cached: 4}, model: "model-1"}},
	},
	{
		name: "call", request: withTools,
		results:  map[int][]Part{0: {{JSON: []byte(`"line 1\nline \"2\""`)}}},
		outcomes: []outcome{{text: "Let me see.", calls: []string{`call_1 fs__read_file {"path": "a.txt"}`}, stop: StopCalls, usage: usual, model: "model-1"}, done},
	},
	{
		name: "interleaved-calls", request: withTools,
		results: map[int][]Part{0: {{Text: "head "}, {JSON: []byte(`"tail"`)}}},
		outcomes: []outcome{{calls: []string{`call_1 fs__read_file {"path":"a"}`, `call_2 fs__read_file {"path":"b"}`},
			stop: StopCalls, usage: usual, model: "model-1"}, done},
	},
	{
		name: "empty-arguments", request: withTools,
		outcomes: []outcome{{calls: []string{`call_1 clock__now `}, stop: StopCalls, usage: usual, model: "model-1"}, done},
	},
	{
		name: "broken-arguments", request: withTools,
		outcomes: []outcome{{calls: []string{`call_1 fs__read_file {"path": "a`}, stop: StopCalls, usage: usual, model: "model-1"}, done},
	},
	{
		name: "missing-ids", request: withTools,
		outcomes: []outcome{{calls: []string{`call00001 clock__now {}`, `call00002 clock__now {}`}, stop: StopCalls, usage: usual, model: "model-1"}, done},
	},
	{
		name: "reasoning-echo", request: withTools, then: "sure?",
		outcomes: []outcome{{reasoning: "The file first.", calls: []string{`call_1 fs__read_file {"path":"a"}`}, stop: StopCalls,
			usage: Usage{Input: 12, Output: 5, Reasoning: 7}, model: "model-1"}, done,
			{text: "Yes.", stop: StopEnd, usage: usual, model: "model-1"}},
	},
	{
		name: "length", request: question(),
		outcomes: []outcome{{text: "Once upon", stop: StopLength, usage: usual, model: "model-1"}},
	},
	{
		name: "refusal", request: question(),
		outcomes: []outcome{{text: "I will not.", stop: StopFilter, usage: usual, model: "model-1"}},
	},
	{
		name: "error-event", request: question(),
		outcomes: []outcome{{text: "Hel", failure: "passes 500"}},
	},
	{
		name: "overloaded-retry", request: question(),
		outcomes: []outcome{{text: "Done.", stop: StopEnd, usage: usual, model: "model-1", retries: 1}},
	},
	{
		name: "bad-request-event", request: question(),
		outcomes: []outcome{{failure: "too_long 400"}},
	},
	{
		name: "cut", request: question(),
		outcomes: []outcome{{text: "Hel", failure: "cut 0"}},
	},
	{
		name: "cut-transfer", request: question(),
		outcomes: []outcome{{text: "Hel", failure: "cut 0"}},
	},
	{
		name: "whole-json", request: question(),
		outcomes: []outcome{{text: "Hello", stop: StopEnd, usage: usual, model: "model-1"}},
	},
	{
		name: "images",
		request: func() *Request {
			r := withTools()
			r.Messages[0].Parts = []Part{{Text: "what is it?"}, image, {Image: &Image{URL: "https://example.com/a.png", Detail: "low"}}, {Text: ""}}
			return r
		},
		results:  map[int][]Part{0: {{Text: "taken"}, image}},
		outcomes: []outcome{{calls: []string{`call_1 shot__take {"n":1}`, `call_2 shot__take {"n":2}`}, stop: StopCalls, usage: usual, model: "model-1"}, done},
	},
	{
		name: "parameters",
		request: func() *Request {
			r := withTools()
			r.MaxTokens, r.Temperature, r.ReasoningEffort = 100, json.RawMessage("0.20"), "low"
			r.Schema = json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)
			r.Params = []Param{{"seed", json.RawMessage("1")}, {"stream_options", json.RawMessage(`{"a":1}`)}, {"top_k", json.RawMessage("1")},
				{"seed", json.RawMessage("7")}, {"messages", json.RawMessage("[]")}, {"input", json.RawMessage("[]")}}
			return r
		},
		outcomes: []outcome{done},
	},
	{name: "history", request: history, outcomes: []outcome{done}},
	{
		name: "no-tool-role", noToolRole: true, request: withTools, then: "sure?",
		results: map[int][]Part{0: {{JSON: []byte(`"12\n"`)}}},
		outcomes: []outcome{{text: "Let me see.", calls: []string{`call_1 fs__read_file {"path":"a"}`, `call_2 clock__now `}, stop: StopCalls, usage: usual, model: "model-1"}, done,
			{text: "Yes.", stop: StopEnd, usage: usual, model: "model-1"}},
	},
}

// history is a conversation as `--input messages` brings it.
func history() *Request {
	r := withTools()
	r.Messages = []Message{
		{Role: System, Parts: []Part{{JSON: []byte(`"Be brief."`)}}},
		{Role: Developer, Parts: []Part{{Text: "Use\u2028tools."}}},
		{Role: User, Parts: []Part{{Text: "a\xffb"}, {Text: "\x1b[2J"}}},
		{Role: Assistant, Calls: []Call{
			{ID: "functions.now:0", Name: "clock__now", Arguments: []byte(" null "), Extra: []byte(`"extra_content":{"google":{"thought_signature":"abc"}}`)},
			{ID: "2", Name: "fs__read_file", Arguments: []byte(`{"path": "\u00e9", "n": 1e2}`)},
		}},
		{Role: ToolRole, CallID: "functions.now:0", Name: "clock__now", Parts: []Part{{Text: "12"}}},
		{Role: ToolRole, CallID: "2", Name: "fs__read_file", Parts: []Part{{Text: "no such file"}}, Failed: true},
		{Role: Assistant, Parts: []Part{{Text: "It is "}, {Text: "12."}}},
		{Role: User, Parts: []Part{{Text: "thanks"}}},
	}
	return r
}
