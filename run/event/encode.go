package event

import (
	"encoding/json"
	"iter"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/run/failure"
)

// object writes a JSON object, member by member. Its zero value is ready.
type object struct {
	b    []byte
	full func(b []byte) error // takes the beginning of a long object; its error comes again later; nil: b holds everything
}

// flushed is how many bytes of an object are kept before they are written.
const flushed = 64 << 10

// event writes an event. The events for each piece of a reply are written without reflection.
func (o *object) event(e Event) {
	switch e := e.(type) {
	case *Text:
		o.piece(`{"type":"text","turn":`, e.Turn, e.Text)
		return
	case *Reasoning:
		o.piece(`{"type":"reasoning","turn":`, e.Turn, e.Text)
		return
	}
	o.begin()
	o.str("type", e.kind())
	if _, first := e.(*Start); first {
		o.name("schema")
		o.value(reflect.ValueOf(schema))
	}
	o.members(reflect.ValueOf(e).Elem())
	o.end()
}

func (o *object) piece(head string, turn int, text []byte) {
	o.b = strconv.AppendInt(append(o.b, head...), int64(turn), 10)
	o.b = AppendString(append(o.b, `,"text":`...), text)
	o.end()
}

// A tag describes a field of an event: its key, "" if it is not written, and its content.
type tag struct {
	key      string
	optional bool // "opt": omitted if it is zero
	instead  bool // "else": omitted if the field before it is written
	ours     bool // "ours": words of toolpipe; secrets in it are hidden as in a message
	plain    bool // "plain": it contains no secret
}

// fields yields the fields of a struct in order, including embedded structs and events. The encoder
// and the hiding of secrets both use it, so neither needs a list of fields.
func fields(of reflect.Value) iter.Seq2[tag, reflect.Value] {
	return func(yield func(tag, reflect.Value) bool) {
		for i := range of.NumField() {
			field := of.Type().Field(i)
			if field.Anonymous {
				inner := of.Field(i)
				if inner.Kind() == reflect.Interface { // the event in a Nested or an OfConnection
					inner = inner.Elem().Elem()
				}
				for t, value := range fields(inner) {
					if !yield(t, value) {
						return
					}
				}
				continue
			}
			words := strings.Split(field.Tag.Get("event"), ",")
			has := func(word string) bool { return slices.Contains(words[1:], word) }
			if field.IsExported() && !yield(tag{words[0], has("opt"), has("else"), has("ours"), has("plain")}, of.Field(i)) {
				return
			}
		}
	}
}

func (o *object) members(of reflect.Value) {
	before := false // the previous field was written
	for t, value := range fields(of) {
		raw, isRaw := value.Interface().(json.RawMessage)
		left := isRaw && raw == nil || t.optional && value.IsZero() || t.instead && before
		if before = t.key != "" && !left; before {
			o.name(t.key)
			o.value(value)
		}
	}
}

func (o *object) value(value reflect.Value) {
	switch v := value.Interface().(type) {
	case json.RawMessage:
		o.b = AppendJSON(o.b, v)
	case []byte:
		o.b = AppendString(o.b, v)
	case Pieces:
		o.b = append(o.b, '"')
		for _, piece := range v {
			if o.b = appendInner(o.b, piece); o.full != nil && len(o.b) > flushed {
				o.full(o.b)
				o.b = o.b[:0]
			}
		}
		o.b = append(o.b, '"')
	case ID:
		text, number := v.Number()
		if number && json.Valid([]byte(text)) { // a secret may have been hidden in it
			o.b = append(o.b, text...)
		} else {
			o.b = AppendString(o.b, text)
		}
	case time.Duration:
		o.b = strconv.AppendInt(o.b, v.Milliseconds(), 10)
	case *failure.Error:
		o.begin()
		o.str("message", v.Message)
		if len(v.Hints) > 0 {
			o.str("hint", strings.Join(v.Hints, "\n"))
		}
		if v.Model.Kind != "" {
			o.members(reflect.ValueOf(v.Model))
		}
		o.end()
	case Event:
		o.event(v)
	default: // by its kind
		switch value.Kind() {
		case reflect.Int:
			o.b = strconv.AppendInt(o.b, value.Int(), 10)
		case reflect.Bool:
			o.b = strconv.AppendBool(o.b, value.Bool())
		case reflect.Struct:
			o.begin()
			o.members(value)
			o.end()
		case reflect.Slice:
			o.b = append(o.b, '[')
			for i := range value.Len() {
				if i > 0 {
					o.b = append(o.b, ',')
				}
				o.value(value.Index(i))
			}
			o.b = append(o.b, ']')
		default: // a string: events have no fields of another kind
			o.b = AppendString(o.b, value.String())
		}
	}
}

func (o *object) begin() { o.b = append(o.b, '{') }

func (o *object) end() { o.b = append(o.b, '}') }

func (o *object) name(key string) {
	if len(o.b) == 0 || o.b[len(o.b)-1] != '{' {
		o.b = append(o.b, ',')
	}
	o.b = append(append(append(o.b, '"'), key...), '"', ':')
}

func (o *object) str(key, s string) { o.name(key); o.b = AppendString(o.b, s) }
