package trace

import (
	"encoding/json"
	"strings"
	"testing"
)

const valid = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"

func TestParse(t *testing.T) {
	for parent, want := range map[string]string{
		valid: valid,
		"01-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-more": valid, // of a later version
		valid + "-more":                       "",
		valid + "-":                           "",
		"":                                    "",
		"00":                                  "",
		strings.ToUpper(valid):                "",
		strings.Replace(valid, "00", "ff", 1): "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": "",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01": "",
		valid[:len(valid)-1]: "",
		" " + valid:          "",
	} {
		if got := Parse(parent, "").Parent(); got != want {
			t.Errorf("%q is %q, want %q", parent, got, want)
		}
	}
}

func TestMeta(t *testing.T) {
	if meta := Parse("", "a=b").Meta(); meta != nil {
		t.Errorf("%s", meta)
	}
	for state, want := range map[string]string{"": "", `a="\`: `a="\`, " a=b ": "a=b", "a=\x1b": "", "a=ä": "", strings.Repeat("x", 513): ""} {
		var got struct{ Traceparent, Tracestate string }
		child, span := Parse(valid, state).Child()
		if err := json.Unmarshal([]byte("{"+string(child.Meta())+"}"), &got); err != nil || got.Tracestate != want {
			t.Errorf("%q: %v, %q", state, err, got.Tracestate)
		}
		if len(span) != 16 || got.Traceparent != strings.Replace(valid, "00f067aa0ba902b7", span, 1) {
			t.Errorf("%q in %q", span, got.Traceparent)
		}
	}
	if _, span := (Context{}).Child(); span != "" {
		t.Errorf("no trace has the span %q", span)
	}
}
