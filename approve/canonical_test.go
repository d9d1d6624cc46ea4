package approve

import (
	"errors"
	"strings"
	"testing"

	"toolpipe/stream/text/jsontext"
)

func TestCanonicalLimits(t *testing.T) {
	long := []byte(`{"a":"` + strings.Repeat("x", maxArguments) + `"}`)
	if _, err := Canonical(long); err == nil {
		t.Error("more than 1 MiB was accepted")
	} else if _, ok := errors.AsType[*jsontext.SyntaxError](err); !ok {
		t.Errorf("the error is a %T", err)
	}
	if got, err := strictObject(long, len(long)); err != nil || &got[0] != &long[0] {
		t.Errorf("with a higher limit: %v, or it was copied", err)
	}
}

// A text that two programs may read differently is refused.
func TestCanonicalIsStrict(t *testing.T) {
	for _, text := range []string{`[]`, `{"a":1,"A":2}`, `{"a":1,"a":2}`, `{"a\u0000":1}`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}"} {
		if got, err := Canonical([]byte(text)); err == nil {
			t.Errorf("%q is accepted as %q", text, got)
		}
	}
	if got, err := Canonical([]byte(" { \"b\" : [ 1 , 2.50 ] } ")); err != nil || string(got) != `{"b":[1,2.50]}` {
		t.Errorf("%q, %v", got, err)
	}
}
