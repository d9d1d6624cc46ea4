package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"toolpipe/run/failure"
	"toolpipe/stream/text/secrets"
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
		&Text{2, []byte("abcdefgh-12")}, &Reasoning{2, []byte("abcdef")}, &End{Counts: Counts{Turns: 2}, Text: Pieces{"abcdefgh-12"}},
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

// TestNested: the texts of a nested run and of the run around it are apart, and what
// is held back comes before the result of the call.
func TestNested(t *testing.T) {
	set := &secrets.Set{}
	set.Add("abcdefgh-1234")
	var out, text bytes.Buffer
	m := NewEmitter(set)
	m.Outs = []Output{&NDJSONOutput{Writer: NewWriter(&out, "x")}, &TextOutput{Writer: NewWriter(&text, "x"), Stream: true}}
	in := func(e Event) Event { return &Nested{"id-abcdefgh-1234", e} }
	for _, e := range []Event{
		&Start{}, &Call{Turn: 1, ID: "id-abcdefgh-1234", Name: "agent__run"}, in(&Text{1, []byte("t abcde")}), in(&Call{Turn: 1, ID: "1", Name: "n"}),
		in(&Text{2, []byte("abcdefgh-")}), in(&Text{2, []byte("1234, abcdef")}), &Result{ID: "id-abcdefgh-1234"}, &Text{2, []byte("Done")}, &End{Counts: Counts{Turns: 2}, Text: Pieces{"Done"}},
	} {
		m.Emit(e)
	}
	want := []string{
		`{"type":"start"`, `{"type":"tool_call","turn":1,"id":"id-[secret]"`,
		`{"type":"text","parent":"id-[secret]","turn":1,"text":"t "}`, `{"type":"text","parent":"id-[secret]","turn":1,"text":"abcde"}`,
		`{"type":"tool_call","parent":"id-[secret]","turn":1,"id":"1","name":"n"`,
		`{"type":"text","parent":"id-[secret]","turn":2,"text":"[secret], "}`, `{"type":"text","parent":"id-[secret]","turn":2,"text":"abcdef"}`,
		`{"type":"tool_result","id":"id-[secret]"`, `{"type":"text","turn":2,"text":"Done"}`, `{"type":"end"`,
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, line := range lines {
		if i >= len(want) || !strings.HasPrefix(line, want[i]) {
			t.Errorf("line %d: %s", i, line)
		}
	}
	if len(lines) != len(want) || text.String() != "Done\n" {
		t.Errorf("%d lines, text %q", len(lines), text.String())
	}
}

// TestNestedTwice: no run is nested twice, but a veil is the same at any depth.
func TestNestedTwice(t *testing.T) {
	set := &secrets.Set{}
	set.Add("abcdefgh-1234")
	v, got := NewEmitter(set).veil, ""
	for _, piece := range []string{"abcdefgh-", "1234."} {
		v.pass(&Nested{"outer", &Nested{"inner", &Text{1, []byte(piece)}}}, func(e Event) {
			got += string(e.(*Nested).Event.(*Nested).Event.(*Text).Text)
		})
	}
	if got != "[secret]." {
		t.Error(got)
	}
}

// ourWords are the fields of events that hold words of toolpipe or of the user's
// flags and config, and never words of a model or a server.
var ourWords = []string{
	"Start.Version", "Start.Model", "Start.API", "Start.Policy", "Start.Time", "Start.Preset", "Approval.Decision", "Approval.By",
	"Result.Status", "Warning.Code", "Warning.Server", "Tool.Server", "Tool.Verdict", "Tool.Rule",
	"Server.Name", "Server.Transport", "Server.Status", "Item.Kind", "Item.Server",
	"Explanation.Name", "Explanation.ID", "Explanation.Decision", "Explanation.By", "Explanation.Rule", "End.Status", "End.Model", "End.Profile", "End.Preset",
	"LoginURL.Server", "LoginURL.URL", "LoginURL.RedirectURI", "Login.Status", "Login.Expires",
	"Result.Labels", "End.Labels", "Staged.Labels", "Tool.Labels", "Tool.Effects", "Tool.Assumed", "Check.Subject", "Check.Status", "Contents.Server",
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
			if field.Anonymous || slices.Contains(ourWords, name) || !fill(t, name, to, word) {
				continue
			}
			if n, ok := event.Interface().(*Nested); ok {
				n.Event = &Attention{}
			}
			v := NewEmitter(set).veil
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

// fill puts a word into each string of a value that a secret may be in, and reports whether
// there is one. A type that it does not know is an error: a field of it would be emptied
// where there are secrets, and hide must learn it.
func fill(t *testing.T, name string, to reflect.Value, word string) (filled bool) {
	switch {
	case !to.CanSet():
		t.Errorf("%s is not exported: it would not be written", name)
		return false
	case to.Type() == reflect.TypeFor[json.RawMessage]():
		to.SetBytes([]byte(`"` + word + `"`))
		return true
	case to.Type() == reflect.TypeFor[[]byte]():
		to.SetBytes([]byte(word))
		return true
	case to.Type() == reflect.TypeFor[*failure.Error](), to.Type() == reflect.TypeFor[Event]():
		return false
	}
	switch to.Kind() {
	case reflect.String:
		to.SetString(word)
		return true
	case reflect.Struct:
		for i := range to.NumField() {
			field := to.Type().Field(i)
			if !strings.Contains(field.Tag.Get("event"), "plain") && !slices.Contains(ourWords, to.Type().Name()+"."+field.Name) {
				filled = fill(t, name+"."+field.Name, to.Field(i), word) || filled
			}
		}
	case reflect.Slice:
		to.Set(reflect.MakeSlice(to.Type(), 1, 1))
		return fill(t, name+"[]", to.Index(0), word)
	case reflect.Bool, reflect.Int, reflect.Int64:
	default:
		t.Errorf("%s: the veil does not know the type %s", name, to.Type())
	}
	return filled
}

// TestVeilOfPart: an answer that is only a part of the text has no secret either.
func TestVeilOfPart(t *testing.T) {
	set := &secrets.Set{}
	set.Add("abcdefgh-1234")
	var out bytes.Buffer
	m := NewEmitter(set)
	m.Outs = []Output{&NDJSONOutput{Writer: NewWriter(&out, "x")}}
	for _, e := range []Event{
		&Start{}, &Text{1, []byte(`{"answer":["abcdefgh`)}, &Text{1, []byte(`-1234"]}`)}, &Turn{Turn: 1},
		&End{Counts: Counts{Turns: 1}, Text: Pieces{`["abcdefgh-1234"]`}},
	} {
		m.Emit(e)
	}
	if got := out.String(); strings.Contains(got, "1234") || !strings.Contains(got, `"text":"[\"[secret]\"]"`) {
		t.Error(got)
	}
}
