package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/stream/secrets"
)

// What may be the beginning of a secret is held back until it is known, and
// not lost when it was none; only what ends a text ends the wait.
func TestVeil(t *testing.T) {
	set := &secrets.Set{}
	set.Add("abcdefgh-1234")
	var out bytes.Buffer
	m := &Emitter{Veil: Veil{Set: set}, Outs: []Output{&NDJSONOutput{W: NewWriter(&out, "x")}}}
	for _, e := range []Event{
		&Start{}, &Reasoning{1, []byte("r abcdefgh")}, &Text{1, []byte("t abcde")},
		&Warning{Code: "c", Message: "m"}, &Text{1, []byte("fgh-1234, abcdef")}, &Turn{Turn: 1},
		&Text{2, []byte("abcdefgh-12")}, &Reasoning{2, []byte("abcdef")}, &End{Turns: 2, Text: []byte("abcdefgh-12")},
	} {
		m.Emit(e)
	}
	var kinds []string
	for line := range strings.Lines(out.String()) {
		v, err := config.ParseDocument("x", []byte(line))
		if err != nil {
			t.Fatal(err)
		}
		kind, _ := v.Get("type")
		text, _ := v.Get("text")
		if text.Doc == nil {
			kinds = append(kinds, kind.Text())
		} else {
			kinds = append(kinds, kind.Text()+" "+text.Text())
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
	r := &run.runner{cfg: &config.Config{}, secrets: set}
	e := r.endEvent(failure.UsageError([]string{"try abcdefgh-1234"}, "the approver said abcdefgh-1234"))
	if e.Err.Message != "the approver said [secret]" || e.Err.Hints[0] != "try [secret]" {
		t.Errorf("%q %q", e.Err.Message, e.Err.Hints)
	}
}

// ourWords are the fields of events that hold words of ours or of the user's
// own flags and config, and nothing that a model or a server said.
var ourWords = []string{
	"StartEvent.Version", "StartEvent.Model", "StartEvent.API", "StartEvent.Policy", "ApprovalEvent.Decision", "ApprovalEvent.By",
	"ResultEvent.Status", "WarningEvent.Code", "WarningEvent.Server", "ToolEvent.Server", "ToolEvent.Verdict", "ToolEvent.Rule",
	"ListedServerEvent.Name", "ListedServerEvent.Transport", "ListedServerEvent.Status", "ItemEvent.Kind", "ItemEvent.Server",
	"ExplanationEvent.Name", "ExplanationEvent.ID", "ExplanationEvent.Decision", "ExplanationEvent.By", "ExplanationEvent.Rule", "EndEvent.Status",
}

// TestVeilCoversEvents: no field of any event passes with a secret.
func TestVeilCoversEvents(t *testing.T) {
	const word = "abcdefgh-1234"
	set := &secrets.Set{}
	set.Add(word)
	for _, e := range everyEvent {
		kind := reflect.TypeOf(e.event).Elem()
		for _, field := range reflect.VisibleFields(kind) {
			name := kind.Name() + "." + field.Name
			event := reflect.New(kind)
			to := event.Elem().FieldByIndex(field.Index)
			switch {
			case field.Anonymous || slices.Contains(ourWords, name):
				continue
			case to.Kind() == reflect.String:
				to.SetString(word)
			case to.Type() == reflect.TypeFor[json.RawMessage]() || field.Name == "TextJSON":
				to.SetBytes([]byte(`"` + word + `"`))
			case to.Type() == reflect.TypeFor[[]byte]():
				to.SetBytes([]byte(word))
			default:
				continue
			}
			if name == "ItemEvent.Arguments" {
				event.Elem().FieldByName("Kind").SetString("prompt")
			}
			v := Veil{Set: set}
			var got []byte
			v.pass(event.Interface().(Event), func(e Event) { got = e.appendJSON(got) })
			if bytes.Contains(got, []byte(word)) || !bytes.Contains(got, []byte(secrets.Mark)) {
				t.Errorf("%s: %s", name, got)
			}
			if given := event.Elem().FieldByIndex(field.Index); !strings.Contains(fmt.Sprintf("%s", given.Interface()), word) {
				t.Errorf("%s: the event itself was changed", name)
			}
		}
	}
}
