package config

import (
	"encoding/json"
	"strings"
	"testing"
)

const validTrace = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"

func TestParse(t *testing.T) {
	for parent, want := range map[string]string{
		validTrace: validTrace,
		"01-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01-more": validTrace, // of a later version
		validTrace + "-more":        "",
		validTrace + "-":            "",
		"":                          "",
		"00":                        "",
		strings.ToUpper(validTrace): "",
		strings.Replace(validTrace, "00", "ff", 1):                "",
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": "",
		"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01": "",
		validTrace[:len(validTrace)-1]:                            "",
		" " + validTrace:                                          "",
	} {
		if got := ParseTrace(parent, "").Parent(); got != want {
			t.Errorf("%q is %q, want %q", parent, got, want)
		}
	}
}

func TestMeta(t *testing.T) {
	if meta := ParseTrace("", "a=b").Meta(); meta != nil {
		t.Errorf("%s", meta)
	}
	for state, want := range map[string]string{"": "", `a="\`: `a="\`, " a=b ": "a=b", "a=\x1b": "", "a=ä": "", strings.Repeat("x", 513): ""} {
		var got struct{ Traceparent, Tracestate string }
		child, span := ParseTrace(validTrace, state).Child()
		if err := json.Unmarshal([]byte("{"+string(child.Meta())+"}"), &got); err != nil || got.Tracestate != want {
			t.Errorf("%q: %v, %q", state, err, got.Tracestate)
		}
		if len(span) != 16 || got.Traceparent != strings.Replace(validTrace, "00f067aa0ba902b7", span, 1) {
			t.Errorf("%q in %q", span, got.Traceparent)
		}
	}
	if _, span := (Trace{}).Child(); span != "" {
		t.Errorf("no trace has the span %q", span)
	}
}
