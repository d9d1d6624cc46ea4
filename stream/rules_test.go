package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// ruleCase is one case of testdata/format/DIALECT/rules.txt.
type ruleCase struct {
	name string
	data []string
	want map[string]json.RawMessage
}

func readRules(t testing.TB, dialect string) (cases []ruleCase) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "testdata", "format", dialect, "rules.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for block := range strings.SplitSeq(string(b), "\n\n") {
		var c ruleCase
		for line := range strings.SplitSeq(strings.TrimSpace(block), "\n") {
			if name, ok := strings.CutPrefix(line, "## "); ok {
				c.name = name
			} else if want, ok := strings.CutPrefix(line, "=> "); ok {
				if err := json.Unmarshal([]byte(want), &c.want); err != nil {
					t.Fatalf("%s: %v", c.name, err)
				}
			} else if !strings.HasPrefix(line, "#") {
				c.data = append(c.data, line)
			}
		}
		if c.name != "" {
			cases = append(cases, c)
		}
	}
	return cases
}

// events writes the case as a stream; what is cut in the last event has no end.
func (c *ruleCase) events() []byte {
	body := ""
	for i, data := range c.data {
		body += "data: " + data
		if i < len(c.data)-1 || data == "[DONE]" || json.Valid([]byte(data)) {
			body += "\n\n"
		}
	}
	return []byte(body)
}

func TestRules(t *testing.T) {
	for _, d := range dialects {
		for _, c := range readRules(t, d.name) {
			t.Run(d.name+"/"+c.name, func(t *testing.T) {
				if len(c.data) == 0 || len(c.want) == 0 {
					t.Fatal("an empty case")
				}
				for _, in := range []bodyIn{{}, {reads: []int{1}}, {slow: true}} {
					in.api, in.data = d.name, c.events()
					got := ruleResult(decode(t, in))
					for key, want := range c.want {
						checkRule(t, key, got[key], want)
					}
				}
			})
		}
	}
}

// ruleResult is what came out, under the names that the cases use.
func ruleResult(d decoded) map[string]any {
	m := map[string]any{"text": d.text, "reasoning": d.reasoning, "done": d.done}
	if e, ok := errors.AsType[*Error](d.err); ok {
		kind := string(e.Kind)
		switch e.Kind {
		case Unreachable, Malformed, Cut, Stalled, TooLarge, Mismatch:
		case TooLong:
			kind = fmt.Sprintf("too long %d %s", e.Status, e.Message)
		default:
			kind = fmt.Sprintf("refused %d %s", e.Status, e.Message)
		}
		m["error"] = kind
		return m
	}
	r := d.reply
	m["finish"], m["model"], m["refusal"] = r.Finish, r.Model, r.Refusal
	m["stop"] = []string{"unknown", "end", "calls", "length", "filter", "context", "pause", "failed"}[r.Stop]
	m["usage"] = []int{r.Usage.Input, r.Usage.Output, r.Usage.Reasoning, r.Usage.Cached}
	m["echo"], m["echoed content"] = string(r.Message.Opaque.json), string(r.Message.Opaque.content)
	calls, extra := [][]string{}, []string{}
	for _, c := range r.Message.Calls {
		calls = append(calls, []string{c.ID, c.Name, string(c.Arguments)})
		extra = append(extra, string(c.Extra))
	}
	m["calls"], m["extra"] = calls, extra
	return m
}

func checkRule(t *testing.T, key string, got any, want json.RawMessage) {
	t.Helper()
	if key == "error" {
		var words string
		json.Unmarshal(want, &words)
		head, tail, _ := strings.Cut(words, " ")
		status, message, _ := strings.Cut(tail, " ")
		if s, _ := got.(string); !strings.HasPrefix(s, strings.TrimSpace(head+" "+status)) || !strings.Contains(s, message) {
			t.Errorf("error %q, want %q", got, words)
		}
		return
	}
	if key == "calls" {
		var list [][]string
		json.Unmarshal(want, &list)
		calls, _ := got.([][]string)
		for i := range min(len(list), len(calls)) {
			if list[i][0] == "*" && len(calls[i][0]) == 9 {
				list[i][0] = calls[i][0] // one that we made
			}
		}
		want, _ = json.Marshal(list)
	}
	var g, w any
	b, _ := json.Marshal(got)
	json.Unmarshal(b, &g)
	json.Unmarshal(want, &w)
	if fmt.Sprintf("%q", g) != fmt.Sprintf("%q", w) {
		t.Errorf("%s: got %s, want %s", key, b, want)
	}
}
