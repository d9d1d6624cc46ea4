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
	b      []byte
	follow bool // a member has been written
}

// appendEvent appends an event as one line without its newline.
func appendEvent(dst []byte, e Event) []byte {
	o := object{b: dst}
	o.event(e)
	return o.b
}

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
	switch e := e.(type) {
	case *Start:
		o.int("schema", schema)
		o.members(reflect.ValueOf(e).Elem())
	default:
		o.members(reflect.ValueOf(e).Elem())
	}
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
		key, options, _ := strings.Cut(field.Tag.Get("event"), ",")
		raw, isRaw := value.Interface().(json.RawMessage)
		left := isRaw && raw == nil || strings.Contains(options, "opt") && value.IsZero() || strings.Contains(options, "else") && before
		if before = key != "" && !left; before {
			o.member(key, value)
		}
	}
}

func (o *object) member(key string, value reflect.Value) {
	switch v := value.Interface().(type) {
	case json.RawMessage:
		o.raw(key, v)
	case []byte:
		o.text(key, v)
	case time.Duration:
		o.int(key, int(v.Milliseconds()))
	case int:
		o.int(key, v)
	case bool:
		o.name(key)
		o.b = strconv.AppendBool(o.b, v)
	case Usage:
		o.name(key)
		o.begin()
		o.members(value)
		o.end()
	case *failure.Error:
		o.name(key)
		o.begin()
		o.str("message", v.Message)
		if len(v.Hints) > 0 {
			o.str("hint", strings.Join(v.Hints, "\n"))
		}
		o.end()
	case []string:
		o.name(key)
		o.b = append(o.b, '[')
		for i, s := range v {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.b = AppendString(o.b, s)
		}
		o.b = append(o.b, ']')
	case []Event:
		o.list(key, len(v), func(i int) { o.event(v[i]) })
	case []ServerInfo, []PromptArgument, []ExplainedRule:
		o.list(key, value.Len(), func(i int) {
			o.begin()
			o.members(value.Index(i))
			o.end()
		})
	default:
		o.str(key, value.String())
	}
}

func (o *object) begin() { o.b, o.follow = append(o.b, '{'), false }

func (o *object) end() { o.b, o.follow = append(o.b, '}'), true }

func (o *object) name(key string) {
	if o.follow {
		o.b = append(o.b, ',')
	}
	o.follow = true
	o.b = append(append(append(o.b, '"'), key...), '"', ':')
}

func (o *object) str(key, s string) { o.name(key); o.b = AppendString(o.b, s) }

func (o *object) text(key string, s []byte) { o.name(key); o.b = AppendString(o.b, s) }

func (o *object) int(key string, n int) { o.name(key); o.b = strconv.AppendInt(o.b, int64(n), 10) }

func (o *object) raw(key string, v []byte) { o.name(key); o.b = AppendJSON(o.b, v) }

// list is a member whose value is an array of n objects.
func (o *object) list(key string, n int, element func(i int)) {
	o.name(key)
	o.b = append(o.b, '[')
	for i := range n {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		element(i)
	}
	o.b = append(o.b, ']')
}
