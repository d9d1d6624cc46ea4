package stream

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

func params(texts ...string) (list []Param) {
	for _, text := range texts {
		name, value, _ := strings.Cut(text, "=")
		list = append(list, Param{name, json.RawMessage(value)})
	}
	return list
}

// The limit of tokens has two names in chat; a later param drops both.
func TestDefaultsOfOneLimit(t *testing.T) {
	r := Request{Params: params(`max_completion_tokens=5`)}
	if err := r.AddDefaults("chat", params(`max_tokens=8`, `max_completion_tokens=9`, `seed=1`)); err != nil {
		t.Fatal(err)
	}
	if len(r.Params) != 2 || r.Params[0].Name != "seed" || string(r.Params[1].Value) != "5" {
		t.Errorf("%s", r.Params)
	}
}

// What a Request says of its own wins over a config's params, in the words of
// each dialect; what stands beside it in the same object stays.
func TestDefaults(t *testing.T) {
	set := Request{MaxTokens: 9, Temperature: json.RawMessage("0"), ReasoningEffort: "low", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
	for _, test := range []struct {
		api      string
		defaults []string
		want     map[string]string
	}{
		{"chat", []string{`max_tokens=1`, `max_completion_tokens=1`, `temperature=1`, `reasoning_effort="high"`, `response_format={"type":"text"}`, `seed=1`},
			map[string]string{"max_tokens": "9", "max_completion_tokens": "", "temperature": "0", "reasoning_effort": `"low"`, "response_format.type": `"json_schema"`, "seed": "1"}},
		{"responses", []string{`max_output_tokens=1`, `temperature=1`, `reasoning={"effort":"high","summary":null}`, `text={"verbosity":"low","format":{"type":"text"}}`},
			map[string]string{"max_output_tokens": "9", "temperature": "0", "reasoning.effort": `"low"`, "reasoning.summary": "null", "text.format.type": `"json_schema"`, "text.verbosity": `"low"`}},
		{"responses", []string{`reasoning=null`, `text={"format":{}}`},
			map[string]string{"reasoning": `{"effort":"low"}`, "text.format.type": `"json_schema"`}},
		{"messages", []string{`max_tokens=1`, `temperature=1`, `output_config={"effort":"high","format":null,"x": [1, 2]}`},
			map[string]string{"max_tokens": "9", "temperature": "0", "output_config.effort": `"low"`, "output_config.format.type": `"json_schema"`, "output_config.x": "[1, 2]"}},
	} {
		r := set
		if err := r.AddDefaults(test.api, params(test.defaults...)); err != nil {
			t.Errorf("%s: %v", test.api, err)
		}
		checkBody(t, test.api, &r, test.want)
	}
}

// A config's params hold where nothing else is said, and yield to params.
func TestDefaultsYieldToParams(t *testing.T) {
	r := Request{Schema: json.RawMessage("{}")}
	if err := r.AddParams("responses", params(`text={"verbosity":"low"}`, `seed=1`, `seed=2`)); err != nil {
		t.Fatal(err)
	}
	if err := r.AddDefaults("responses", params(`text={"verbosity":"high"}`, `seed=3`, `reasoning={"effort":"high"}`)); err != nil {
		t.Fatal(err)
	}
	checkBody(t, "responses", &r, map[string]string{"text.verbosity": `"low"`, "text.format.type": `"json_schema"`, "seed": "2", "reasoning.effort": `"high"`})
}

// checkBody holds that the body is one strict object with these values.
func checkBody(t *testing.T, api string, r *Request, want map[string]string) {
	t.Helper()
	body := newClient(t, Config{API: api, BaseURL: "http://127.0.0.1/v1"}).body(r).bytes()
	if !json.Valid(body) {
		t.Errorf("no JSON: %s", body)
	}
	names := map[string]bool{}
	gjson.ParseBytes(body).ForEach(func(name, _ gjson.Result) bool {
		if names[name.Str] {
			t.Errorf("%s: %s twice: %s", api, name.Str, body)
		}
		names[name.Str] = true
		return true
	})
	for path, value := range want {
		if got := gjson.GetBytes(body, path).Raw; got != value {
			t.Errorf("%s: %s is %s, want %s", api, path, got, value)
		}
	}
}

// Two flags that say different things, and a conversation that is no
// conversation, are refused and never ignored.
func TestParamsRefused(t *testing.T) {
	for _, test := range []struct{ api, param, words string }{
		{"chat", `messages=[]`, "messages: is the conversation"},
		{"messages", `messages=[]`, "messages: is the conversation"},
		{"messages", `system="x"`, "system: is the conversation"},
		{"responses", `input="x"`, "input: is the conversation"},
		{"chat", `max_completion_tokens=1`, "the token limit is given twice"},
		{"chat", `reasoning_effort="low"`, "the reasoning effort is given twice"},
		{"chat", `response_format={}`, "the schema of the answer is given twice"},
		{"messages", `output_config={"format":{}}`, "output_config.format: the schema"},
		{"messages", `temperature=1`, "the temperature is given twice"},
		{"responses", `max_output_tokens=1`, "the token limit is given twice"},
		{"responses", `text={"\u0066ormat":{}}`, "text.format: the schema"},
		{"responses", `reasoning="low"`, "is not an object"},
	} {
		r := Request{MaxTokens: 9, Temperature: json.RawMessage("0"), ReasoningEffort: "low", Schema: json.RawMessage("{}")}
		if err := r.AddParams(test.api, params(test.param)); err == nil || !strings.Contains(err.Error(), test.words) {
			t.Errorf("%s %s: %v, want %s", test.api, test.param, err, test.words)
		}
		if strings.Contains(test.words, "conversation") {
			if err := r.AddDefaults(test.api, params(test.param)); err == nil {
				t.Errorf("%s %s: taken as a default", test.api, test.param)
			}
		}
	}
}
