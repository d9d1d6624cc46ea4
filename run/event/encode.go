package event

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"time"

	"toolpipe/run/failure"
)

// object writes a JSON object, member by member. Its zero value is ready.
type object struct {
	b    []byte
	full func(b []byte) // takes what has been written of a long object; nil: b holds all
}

// flushed is how many bytes of an object are kept before they are written.
const flushed = 64 << 10

// event writes an event. Those that come with every piece of a reply are written
// without reflection.
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
	if n, ok := e.(*Nested); ok {
		o.name("parent")
		o.value(reflect.ValueOf(n.Parent))
		e = n.Event
	}
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

// members writes the fields of a struct as their tags say.
func (o *object) members(of reflect.Value) {
	before := false // the field before was written
	for i := range of.NumField() {
		value, field := of.Field(i), of.Type().Field(i)
		if field.Anonymous {
			o.members(value)
			continue
		}
		if !field.IsExported() {
			continue
		}
		key, options, _ := strings.Cut(field.Tag.Get("event"), ",")
		raw, isRaw := value.Interface().(json.RawMessage)
		left := isRaw && raw == nil || strings.Contains(options, "opt") && value.IsZero() || strings.Contains(options, "else") && before
		if before = key != "" && !left; before {
			o.name(key)
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
	case time.Duration:
		o.b = strconv.AppendInt(o.b, v.Milliseconds(), 10)
	case *failure.Error:
		o.begin()
		o.str("message", v.Message)
		if len(v.Hints) > 0 {
			o.str("hint", strings.Join(v.Hints, "\n"))
		}
		o.end()
	case Event:
		o.event(v)
	default: // as any of its kind
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
		default: // a string; of no other kind is any field of an event
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
