package event

import (
	"strconv"
	"strings"
)

func (e *Start) appendJSON(dst []byte) []byte {
	o := begin(dst, "start")
	o.int("schema", schema)
	o.str("version", e.Version)
	o.str("model", e.Model)
	o.str("api", e.API)
	o.list("servers", len(e.Servers), func(m *object, i int) {
		m.str("name", e.Servers[i].Name)
		m.str("protocol", e.Servers[i].Protocol)
		m.int("tools", int64(e.Servers[i].Tools))
	})
	o.optional("policy", e.Policy)
	if e.ConfigRules > 0 {
		o.int("config_rules", int64(e.ConfigRules))
	}
	return o.end()
}

func appendDelta(dst []byte, kind string, turn int, text []byte) []byte {
	o := begin(dst, kind)
	o.int("turn", int64(turn))
	o.text("text", text)
	return o.end()
}

func (e *Text) appendJSON(dst []byte) []byte { return appendDelta(dst, "text", e.Turn, e.Text) }

func (e *Reasoning) appendJSON(dst []byte) []byte {
	return appendDelta(dst, "reasoning", e.Turn, e.Text)
}

func (e *Call) appendJSON(dst []byte) []byte {
	o := begin(dst, "tool_call")
	o.int("turn", int64(e.Turn))
	o.str("id", e.ID)
	o.optional("server", e.Server)
	o.optional("tool", e.Tool)
	o.str("name", e.Name)
	if e.Arguments != nil {
		o.raw("arguments", e.Arguments)
	} else {
		o.text("raw", e.Raw)
	}
	return o.end()
}

func (e *Approval) appendJSON(dst []byte) []byte {
	o := begin(dst, "approval")
	o.str("id", e.ID)
	e.members(&o)
	return o.end()
}

func (e *Approval) members(o *object) {
	o.str("decision", e.Decision)
	o.str("by", e.By)
	o.optional("rule", e.Rule)
	o.optional("reason", e.Reason)
}

func (e *Progress) appendJSON(dst []byte) []byte {
	o := begin(dst, "progress")
	o.str("id", e.ID)
	o.raw("progress", e.Progress)
	o.raw("total", e.Total)
	o.optional("message", e.Message)
	return o.end()
}

func (e *Result) appendJSON(dst []byte) []byte {
	o := begin(dst, "tool_result")
	o.str("id", e.ID)
	o.str("status", string(e.Status))
	if e.TextJSON != nil {
		o.raw("text", e.TextJSON)
	} else {
		o.text("text", e.Text)
	}
	o.raw("content", e.Content)
	o.raw("structured", e.Structured)
	o.int("bytes", int64(e.Bytes))
	o.bool("truncated", e.Truncated)
	o.int("ms", e.Time.Milliseconds())
	return o.end()
}

func (u Usage) members(o *object) {
	o.name("usage")
	m := beginObject(o.b)
	m.int("input_tokens", int64(u.Input))
	m.int("output_tokens", int64(u.Output))
	m.int("reasoning_tokens", int64(u.Reasoning))
	m.int("cached_tokens", int64(u.Cached))
	o.b = m.end()
}

func (e *Turn) appendJSON(dst []byte) []byte {
	o := begin(dst, "turn")
	o.int("turn", int64(e.Turn))
	o.str("finish", e.Finish)
	e.Usage.members(&o)
	o.int("ms", e.Time.Milliseconds())
	return o.end()
}

func (e *Retry) appendJSON(dst []byte) []byte {
	o := begin(dst, "retry")
	o.int("attempt", int64(e.Attempt))
	o.int("of", int64(e.Of))
	o.int("after_ms", e.After.Milliseconds())
	if e.Status != 0 {
		o.int("status", int64(e.Status))
	}
	o.str("message", e.Message)
	return o.end()
}

func (e *Warning) appendJSON(dst []byte) []byte {
	o := begin(dst, "warning")
	o.str("code", e.Code)
	o.str("message", e.Message)
	o.optional("server", e.Server)
	return o.end()
}

func (e *Tool) appendJSON(dst []byte) []byte {
	o := begin(dst, "tool")
	o.str("name", e.Name)
	o.str("server", e.Server)
	o.str("tool", e.Tool)
	o.str("description", e.Description)
	o.raw("schema", e.Schema)
	o.raw("output_schema", e.OutputSchema)
	o.raw("annotations", e.Annotations)
	o.str("verdict", e.Verdict)
	o.optional("rule", e.Rule)
	return o.end()
}

func (e *Server) appendJSON(dst []byte) []byte {
	o := begin(dst, "server")
	o.str("name", e.Name)
	o.str("target", e.Target)
	o.str("transport", e.Transport)
	o.str("protocol", e.Protocol)
	o.int("tools", int64(e.Tools))
	o.str("status", e.Status)
	o.optional("message", e.Message)
	return o.end()
}

func (e *Item) appendJSON(dst []byte) []byte {
	o := begin(dst, e.Kind)
	o.str("server", e.Server)
	o.optional("uri", e.URI)
	o.str("name", e.Name)
	o.optional("description", e.Description)
	o.optional("mime_type", e.MIME)
	if e.Template {
		o.bool("template", true)
	}
	if e.Arguments != nil {
		o.list("arguments", len(e.Arguments), func(m *object, i int) {
			m.str("name", e.Arguments[i].Name)
			m.optional("description", e.Arguments[i].Description)
			m.bool("required", e.Arguments[i].Required)
		})
	}
	return o.end()
}

func (e *Explanation) appendJSON(dst []byte) []byte {
	o := begin(dst, "explanation")
	o.str("name", e.Name)
	o.raw("arguments", e.Arguments)
	e.members(&o)
	if e.Approver {
		o.bool("approver", true)
	}
	o.list("rules", len(e.Rules), func(m *object, i int) {
		m.str("decision", e.Rules[i].Decision)
		m.str("rule", e.Rules[i].Rule)
		m.optional("reason", e.Rules[i].Reason)
	})
	return o.end()
}

func (e *End) appendJSON(dst []byte) []byte {
	o := begin(dst, "end")
	o.str("status", string(e.Status))
	o.int("exit", int64(e.Exit))
	o.text("text", e.Text)
	o.str("finish", e.Finish)
	o.int("turns", int64(e.Turns))
	o.int("tool_calls", int64(e.ToolCalls))
	o.int("denied", int64(e.Denied))
	e.Usage.members(&o)
	o.int("ms", e.Time.Milliseconds())
	if e.Err != nil {
		o.name("error")
		m := beginObject(o.b)
		m.str("message", e.Err.Message)
		m.optional("hint", strings.Join(e.Err.Hints, "\n"))
		o.b = m.end()
	}
	if e.Items != nil {
		o.name("items")
		o.b = append(o.b, '[')
		for i, it := range e.Items {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.b = it.appendJSON(o.b)
		}
		o.b = append(o.b, ']')
	}
	return o.end()
}

// object writes one JSON object, member by member.
type object struct {
	b     []byte
	first bool
}

func beginObject(dst []byte) object { return object{append(dst, '{'), true} }

// begin begins an event's object with its type.
func begin(dst []byte, kind string) object {
	o := beginObject(dst)
	o.str("type", kind)
	return o
}

func (o *object) end() []byte { return append(o.b, '}') }

func (o *object) name(key string) {
	if !o.first {
		o.b = append(o.b, ',')
	}
	o.first = false
	o.b = append(append(append(o.b, '"'), key...), '"', ':')
}

func (o *object) str(key, s string) { o.name(key); o.b = AppendString(o.b, s) }

func (o *object) optional(key, s string) {
	if s != "" {
		o.str(key, s)
	}
}

func (o *object) text(key string, s []byte) { o.name(key); o.b = AppendString(o.b, s) }

func (o *object) int(key string, n int64) { o.name(key); o.b = strconv.AppendInt(o.b, n, 10) }

func (o *object) bool(key string, v bool) { o.name(key); o.b = strconv.AppendBool(o.b, v) }

func (o *object) raw(key string, v []byte) {
	if v != nil {
		o.name(key)
		o.b = AppendJSON(o.b, v)
	}
}

// list is a member whose value is an array of n objects.
func (o *object) list(key string, n int, members func(m *object, i int)) {
	o.name(key)
	o.b = append(o.b, '[')
	for i := range n {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		m := beginObject(o.b)
		members(&m, i)
		o.b = m.end()
	}
	o.b = append(o.b, ']')
}
