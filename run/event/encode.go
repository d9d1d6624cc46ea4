package event

import (
	"strconv"
	"strings"
)

func (e *Start) members(o *object) {
	o.str("type", "start")
	o.int("schema", schema)
	o.str("version", e.Version)
	o.str("model", e.Model)
	o.str("api", e.API)
	o.list("servers", len(e.Servers), func(i int) {
		o.str("name", e.Servers[i].Name)
		o.str("protocol", e.Servers[i].Protocol)
		o.int("tools", e.Servers[i].Tools)
	})
	o.optional("policy", e.Policy)
	if e.ConfigRules > 0 {
		o.int("config_rules", e.ConfigRules)
	}
}

func (e *Text) members(o *object) { o.piece("text", e.Turn, e.Text) }

func (e *Reasoning) members(o *object) { o.piece("reasoning", e.Turn, e.Text) }

func (o *object) piece(kind string, turn int, text []byte) {
	o.str("type", kind)
	o.int("turn", turn)
	o.text("text", text)
}

func (e *Call) members(o *object) {
	o.str("type", "tool_call")
	o.int("turn", e.Turn)
	o.str("id", e.ID)
	o.optional("server", e.Server)
	o.optional("tool", e.Tool)
	o.str("name", e.Name)
	if e.Arguments != nil {
		o.raw("arguments", e.Arguments)
	} else {
		o.text("raw", e.Raw)
	}
}

func (e *Approval) members(o *object) {
	o.str("type", "approval")
	o.str("id", e.ID)
	e.verdict(o)
}

func (e *Approval) verdict(o *object) {
	o.str("decision", e.Decision)
	o.str("by", e.By)
	o.optional("rule", e.Rule)
	o.optional("reason", e.Reason)
}

func (e *Progress) members(o *object) {
	o.str("type", "progress")
	o.str("id", e.ID)
	o.raw("progress", e.Progress)
	o.raw("total", e.Total)
	o.optional("message", e.Message)
}

func (e *Result) members(o *object) {
	o.str("type", "tool_result")
	o.str("id", e.ID)
	o.str("status", string(e.Status))
	if e.TextJSON != nil {
		o.raw("text", e.TextJSON)
	} else {
		o.text("text", e.Text)
	}
	o.raw("content", e.Content)
	o.raw("structured", e.Structured)
	o.int("bytes", e.Bytes)
	o.bool("truncated", e.Truncated)
	o.int("ms", int(e.Time.Milliseconds()))
}

func (u Usage) member(o *object) {
	o.name("usage")
	o.begin()
	o.int("input_tokens", u.Input)
	o.int("output_tokens", u.Output)
	o.int("reasoning_tokens", u.Reasoning)
	o.int("cached_tokens", u.Cached)
	o.end()
}

func (e *Turn) members(o *object) {
	o.str("type", "turn")
	o.int("turn", e.Turn)
	o.str("finish", e.Finish)
	e.Usage.member(o)
	o.int("ms", int(e.Time.Milliseconds()))
}

func (e *Retry) members(o *object) {
	o.str("type", "retry")
	o.int("attempt", e.Attempt)
	if e.Of != 0 {
		o.int("of", e.Of)
	}
	o.int("after_ms", int(e.After.Milliseconds()))
	if e.Status != 0 {
		o.int("status", e.Status)
	}
	o.str("message", e.Message)
}

func (e *Warning) members(o *object) {
	o.str("type", "warning")
	o.str("code", e.Code)
	o.str("message", e.Message)
	o.optional("server", e.Server)
}

func (e *Tool) members(o *object) {
	o.str("type", "tool")
	o.str("name", e.Name)
	o.str("server", e.Server)
	o.str("tool", e.Tool)
	o.str("description", e.Description)
	o.raw("schema", e.Schema)
	o.raw("output_schema", e.OutputSchema)
	o.raw("annotations", e.Annotations)
	o.str("verdict", e.Verdict)
	o.optional("rule", e.Rule)
}

func (e *Server) members(o *object) {
	o.str("type", "server")
	o.str("name", e.Name)
	o.str("target", e.Target)
	o.str("transport", e.Transport)
	o.str("protocol", e.Protocol)
	o.int("tools", e.Tools)
	o.str("status", e.Status)
	o.optional("message", e.Message)
}

func (e *Item) members(o *object) {
	o.str("type", e.Kind)
	o.str("server", e.Server)
	o.optional("uri", e.URI)
	o.str("name", e.Name)
	o.optional("description", e.Description)
	o.optional("mime_type", e.MIME)
	if e.Template {
		o.bool("template", true)
	}
	if e.Arguments != nil {
		o.list("arguments", len(e.Arguments), func(i int) {
			o.str("name", e.Arguments[i].Name)
			o.optional("description", e.Arguments[i].Description)
			o.bool("required", e.Arguments[i].Required)
		})
	}
}

func (e *Explanation) members(o *object) {
	o.str("type", "explanation")
	o.str("name", e.Name)
	o.raw("arguments", e.Arguments)
	e.verdict(o)
	if e.Approver {
		o.bool("approver", true)
	}
	o.list("rules", len(e.Rules), func(i int) {
		o.str("decision", e.Rules[i].Decision)
		o.str("rule", e.Rules[i].Rule)
		o.optional("reason", e.Rules[i].Reason)
	})
}

func (e *End) members(o *object) {
	o.str("type", "end")
	o.str("status", string(e.Status))
	o.int("exit", e.Exit)
	o.text("text", e.Text)
	o.str("finish", e.Finish)
	o.int("turns", e.Turns)
	o.int("tool_calls", e.ToolCalls)
	o.int("denied", e.Denied)
	e.Usage.member(o)
	o.int("ms", int(e.Time.Milliseconds()))
	if e.Err != nil {
		o.name("error")
		o.begin()
		o.str("message", e.Err.Message)
		o.optional("hint", strings.Join(e.Err.Hints, "\n"))
		o.end()
	}
	if e.Items != nil {
		o.list("items", len(e.Items), func(i int) { e.Items[i].members(o) })
	}
}

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

func (o *object) event(e Event) { o.begin(); e.members(o); o.end() }

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

func (o *object) optional(key, s string) {
	if s != "" {
		o.str(key, s)
	}
}

func (o *object) text(key string, s []byte) { o.name(key); o.b = AppendString(o.b, s) }

func (o *object) int(key string, n int) { o.name(key); o.b = strconv.AppendInt(o.b, int64(n), 10) }

func (o *object) bool(key string, v bool) { o.name(key); o.b = strconv.AppendBool(o.b, v) }

func (o *object) raw(key string, v []byte) {
	if v != nil {
		o.name(key)
		o.b = AppendJSON(o.b, v)
	}
}

// list is a member whose value is an array of n objects.
func (o *object) list(key string, n int, members func(i int)) {
	o.name(key)
	o.b = append(o.b, '[')
	for i := range n {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.begin()
		members(i)
		o.end()
	}
	o.b = append(o.b, ']')
}
