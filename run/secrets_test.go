package run

import (
	"bytes"
	"strings"
	"testing"

	"toolpipe/stream/secrets"
)

// What may be the beginning of a secret is held back until it is known, and
// not lost when it was none; only what ends a text ends the wait.
func TestVeil(t *testing.T) {
	set := &secrets.Set{}
	set.Add("abcdefgh-1234")
	var out bytes.Buffer
	m := &emitter{veil: veil{set: set}, outs: []output{&ndjsonOutput{w: newWriter(&out, "x")}}}
	for _, e := range []Event{
		&StartEvent{}, &ReasoningEvent{1, []byte("r abcdefgh")}, &TextEvent{1, []byte("t abcde")},
		&WarningEvent{Code: "c", Message: "m"}, &TextEvent{1, []byte("fgh-1234, abcdef")}, &TurnEvent{Turn: 1},
		&TextEvent{2, []byte("abcdefgh-12")}, &ReasoningEvent{2, []byte("abcdef")}, &EndEvent{Turns: 2, Text: []byte("abcdefgh-12")},
	} {
		m.emit(e)
	}
	var kinds []string
	for line := range strings.Lines(out.String()) {
		v, err := parseDocument("x", []byte(line))
		if err != nil {
			t.Fatal(err)
		}
		kind, _ := v.get("type")
		text, _ := v.get("text")
		if text.doc == nil {
			kinds = append(kinds, kind.text())
		} else {
			kinds = append(kinds, kind.text()+" "+text.text())
		}
	}
	want := "start|reasoning r |reasoning abcdefgh|text t |warning|text [secret], |text abcdef|turn|text abcdefgh-12|reasoning abcdef|end abcdefgh-12"
	if got := strings.Join(kinds, "|"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// An error of ours may hold what a program or a server said.
func TestEndHidesSecrets(t *testing.T) {
	set := &secrets.Set{}
	set.Add("abcdefgh-1234")
	r := &runner{cfg: &Config{}, secrets: set}
	e := r.endEvent(usageError([]string{"try abcdefgh-1234"}, "the approver said abcdefgh-1234"))
	if e.Err.Message != "the approver said [secret]" || e.Err.Hints[0] != "try [secret]" {
		t.Errorf("%q %q", e.Err.Message, e.Err.Hints)
	}
}
