package event

import (
	"encoding/json"
	"reflect"

	"toolpipe/run/failure"
	"toolpipe/stream/text/secrets"
)

// veil removes secrets from events before any output gets them, so that standard output, the log
// and the events on stderr agree. Other lines on stderr are cleaned where they are written.
// Requests to the model and to servers, questions on the terminal and resumed conversations are
// not changed.
type veil struct {
	set             *secrets.Set
	text, reasoning turnText
	nested          map[ID]*veil // by call id, for nested runs
}

// turnText is the text, or the reasoning, of one turn. It comes in pieces. The end of a piece is
// kept back if a secret may begin there.
type turnText struct {
	pieces   secrets.Pieces
	turn     int
	size     int    // bytes that came
	original int    // bytes passed on before the first secret
	veiled   []byte // bytes passed on after that
	piece    Text   // reused for each piece
}

// next passes on the text that is safe after this piece.
func (t *turnText) next(f *secrets.Finder, e *Text, to func(*Text)) {
	if e.Turn != t.turn {
		*t = turnText{turn: e.Turn}
	}
	t.size += len(e.Text)
	if p := t.pieces.Next(f, e.Text); len(p) > 0 || len(e.Text) == 0 {
		t.pass(p, to)
	}
}

// rest passes on the text that was kept back.
func (t *turnText) rest(f *secrets.Finder, to func(*Text)) {
	if p := t.pieces.Rest(f); len(p) > 0 {
		t.pass(p, to)
	}
}

func (t *turnText) pass(p []byte, to func(*Text)) {
	if t.pieces.Replaced {
		t.veiled = append(t.veiled, p...)
	} else {
		t.original += len(p)
	}
	t.piece = Text{t.turn, p}
	to(&t.piece)
}

// pass passes on e without secrets, after the text that was kept back before it. Only an event of
// the model ends a text; a warning between two pieces does not.
func (v *veil) pass(e Event, to func(Event)) {
	f := v.set.Content()
	if f == nil && v.set.Message() == nil {
		to(e)
		return
	}
	switch e := e.(type) {
	case *OfConnection:
		v.pass(e.Event, func(inner Event) { to(&OfConnection{e.Connection, inner}) })
		return
	case *Nested:
		n := v.nested[e.Parent]
		if n == nil {
			n = &veil{set: v.set, nested: map[ID]*veil{}}
			v.nested[e.Parent] = n
		}
		n.pass(e.Event, v.inside(e.Parent, to))
		return
	case *Result:
		if n := v.nested[e.ID]; n != nil { // the nested run may have ended within a text
			n.rest(f, v.inside(e.ID, to))
			delete(v.nested, e.ID)
		}
	case *Text:
		v.reasoning.rest(f, asReasoning(to))
		v.text.next(f, e, asText(to))
		return
	case *Reasoning:
		v.text.rest(f, asText(to))
		v.reasoning.next(f, (*Text)(e), asReasoning(to))
		return
	case *Call, *Turn, *End:
		v.rest(f, to)
	case *Retry:
		if e.Discards {
			v.rest(f, to)
			v.text, v.reasoning = turnText{}, turnText{}
		}
	}
	to(v.hidden(e))
}

func (v *veil) inside(parent ID, to func(Event)) func(Event) {
	return func(e Event) { to(&Nested{ID(v.set.Content().HideString(string(parent))), e}) }
}

func (v *veil) rest(f *secrets.Finder, to func(Event)) {
	v.reasoning.rest(f, asReasoning(to))
	v.text.rest(f, asText(to))
}

func asText(to func(Event)) func(*Text) { return func(t *Text) { to(t) } }

func asReasoning(to func(Event)) func(*Text) { return func(t *Text) { to((*Reasoning)(t)) } }

func (v *veil) hidden(e Event) Event {
	made := reflect.New(reflect.TypeOf(e).Elem())
	made.Elem().Set(reflect.ValueOf(e).Elem())
	v.hide(made.Elem())
	c := made.Interface().(Event)
	if end, ok := c.(*End); ok {
		end.Text = v.lastText(e.(*End))
	}
	return c
}

func (v *veil) hide(in reflect.Value) {
	for t, value := range fields(in) {
		if !t.plain {
			v.hideValue(value, t.ours)
		}
	}
}

// hideValue removes the secrets from a value of any type. The value may share memory with the
// original event. A value of an unknown kind is emptied.
func (v *veil) hideValue(in reflect.Value, ours bool) {
	content := v.set.Content()
	switch p := in.Addr().Interface().(type) {
	case *[]byte:
		*p = content.Hide(*p)
		return
	case *json.RawMessage:
		*p = content.HideJSON(*p)
		return
	case **failure.Error: // the end of the run has removed them
		return
	}
	switch in.Kind() {
	case reflect.String:
		if ours {
			content = v.set.Message()
		}
		in.SetString(content.HideString(in.String()))
	case reflect.Struct:
		v.hide(in)
	case reflect.Slice:
		if in.IsNil() {
			return
		}
		of := reflect.ValueOf(in.Interface())
		in.Set(reflect.MakeSlice(of.Type(), of.Len(), of.Len()))
		reflect.Copy(in, of)
		for i := range in.Len() {
			v.hideValue(in.Index(i), ours || in.Index(i).Kind() == reflect.String)
		}
	case reflect.Bool, reflect.Int, reflect.Int64, reflect.Uint8:
	default:
		in.SetZero()
	}
}

// lastText is the text of End: the same bytes that the Text events of the last turn had, unless the
// answer is from an earlier turn or only a part of them.
func (v *veil) lastText(e *End) Pieces {
	content, size := v.set.Content(), 0
	for _, piece := range e.Text {
		size += len(piece)
	}
	switch {
	case content == nil:
		return e.Text
	case e.Earlier || e.Turns == 0 || e.Turns != v.text.turn || size != v.text.size:
		return Pieces{content.HideString(e.Text.String())}
	case !v.text.pieces.Replaced:
		return e.Text
	}
	var before Pieces
	left := v.text.original
	for _, piece := range e.Text {
		before = append(before, piece[:min(left, len(piece))])
		left -= min(left, len(piece))
	}
	return append(before, string(v.text.veiled))
}
