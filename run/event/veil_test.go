package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"toolpipe/stream/secrets"
)

// TestVeil: what may be the beginning of a secret is held back until more of the
// text tells, and passed on when it was none. Only an event that ends the text ends
// the wait.
func TestVeil(t *testing.T) {
	set := &secrets.Set{}
	set.Add("abcdefgh-1234")
	var out bytes.Buffer
	m := NewEmitter(set)
	m.Outs = []Output{&NDJSONOutput{Writer: NewWriter(&out, "x")}}
	for _, e := range []Event{
		&Start{}, &Reasoning{1, []byte("r abcdefgh")}, &Text{1, []byte("t abcde")},
		&Warning{Code: "c", Message: "m"}, &Text{1, []byte("fgh-1234, abcdef")}, &Turn{Turn: 1},
		&Text{2, []byte("abcdefgh-12")}, &Reasoning{2, []byte("abcdef")}, &End{Turns: 2, Text: []byte("abcdefgh-12")},
	} {
		m.Emit(e)
	}
	var kinds []string
	for line := range strings.Lines(out.String()) {
		var v struct {
			Type string
			Text *string
		}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		if v.Text != nil {
			v.Type += " " + *v.Text
		}
		kinds = append(kinds, v.Type)
	}
	want := "start|reasoning r |reasoning abcdefgh|text t |warning|text [secret], |text abcdef|turn|text abcdefgh-12|reasoning abcdef|end abcdefgh-12"
	if got := strings.Join(kinds, "|"); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// ourWords are the fields of events that hold words of toolpipe or of the user's
// flags and config, and never words of a model or a server.
var ourWords = []string{
	"Start.Version", "Start.Model", "Start.API", "Start.Policy", "Approval.Decision", "Approval.By",
	"Result.Status", "Warning.Code", "Warning.Server", "Tool.Server", "Tool.Verdict", "Tool.Rule",
	"Server.Name", "Server.Transport", "Server.Status", "Item.Kind", "Item.Server",
	"Explanation.Name", "Explanation.ID", "Explanation.Decision", "Explanation.By", "Explanation.Rule", "End.Status",
	"LoginURL.Server", "LoginURL.URL", "LoginURL.RedirectURI", "Login.Status", "Login.Expires",
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
			case to.Type() == reflect.TypeFor[[]string]():
				to.Set(reflect.ValueOf([]string{word}))
			case to.Type() == reflect.TypeFor[[]PromptArgument]():
				to.Set(reflect.ValueOf([]PromptArgument{{Name: word, Description: word}}))
			default:
				continue
			}
			v := veil{set: set}
			var got []byte
			v.pass(event.Interface().(Event), func(e Event) { got = appendEvent(got, e) })
			if bytes.Contains(got, []byte(word)) || !bytes.Contains(got, []byte(secrets.Mark)) {
				t.Errorf("%s: %s", name, got)
			}
			if given := event.Elem().FieldByIndex(field.Index); !strings.Contains(fmt.Sprintf("%s", given.Interface()), word) {
				t.Errorf("%s: the event itself was changed", name)
			}
		}
	}
}
