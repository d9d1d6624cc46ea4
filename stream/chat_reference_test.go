package stream

import (
	"encoding/json"
	"fmt"
	"strings"
)

// slowChat reads chunks slowly: generic values, no shortcuts, one rule after
// another. It takes the data of the events in order and prints the reply.
func slowChat(chunks []string) string {
	r := &slowReply{}
	for _, chunk := range chunks {
		if chunk == "[DONE]" {
			r.done = true
			break
		}
		var v map[string]any
		if json.Unmarshal([]byte(chunk), &v) != nil {
			return "error"
		}
		if e := v["error"]; e != nil && e != "" && e != false && fmt.Sprint(e) != "map[]" {
			return "error"
		}
		if v["object"] == "error" || v["type"] == "error" {
			return "error"
		}
		if r.chunk(v) {
			return "error"
		}
	}
	return r.String()
}

type slowReply struct {
	text, reasoning, finish string
	done, deltas, seen      bool
	calls                   []*slowCall
}

type slowCall struct {
	index         string // "" when none was given
	id, name, arg string
}

func (r *slowReply) String() string {
	if r.finish == "" && !r.done {
		return "error"
	}
	if !r.seen {
		return "error"
	}
	s := fmt.Sprintf("text %q reasoning %q finish %q", r.text, r.reasoning, r.finish)
	calls := 0
	for _, c := range r.calls {
		if c.name != "" || c.arg != "" {
			calls++
			s += fmt.Sprintf(" call %s %q %q", c.id, c.name, c.arg)
		}
	}
	if calls == 0 && (r.finish == "tool_calls" || r.finish == "error") {
		return "error"
	}
	return s
}

// whole takes a message that repeats what came: only what is missing counts.
func (r *slowReply) whole(m map[string]any) {
	var w slowReply
	w.delta(map[string]any{"content": m["content"], "reasoning_content": m["reasoning_content"], "reasoning": m["reasoning"], "thinking": m["thinking"]})
	if strings.HasPrefix(w.text, r.text) {
		r.text = w.text
	}
	if strings.HasPrefix(w.reasoning, r.reasoning) {
		r.reasoning = w.reasoning
	}
	list, _ := m["tool_calls"].([]any)
	found, taken := make([]*slowCall, len(list)), map[*slowCall]bool{}
	wholes := make([]slowReply, len(list))
	for i, t := range list {
		wholes[i].tool(t.(map[string]any))
	}
	known := len(r.calls)
	for rule := range 3 {
		for i := range list {
			for _, c := range r.calls[:known] {
				w := wholes[i].calls[0]
				fits := w.name == "" || c.name == "" || w.name == c.name
				switch rule {
				case 0:
					fits = w.id != "" && w.id == c.id
				case 1:
					fits = fits && w.index != "" && w.index == c.index
				}
				if fits && found[i] == nil && !taken[c] {
					found[i], taken[c] = c, true
				}
			}
		}
	}
	for i, w := range wholes {
		c, w := found[i], w.calls[0]
		if c == nil {
			r.calls = append(r.calls, w)
			continue
		}
		if c.id == "" {
			c.id = w.id
		}
		if c.name == "" {
			c.name = w.name
		}
		if c.arg == "" || strings.HasPrefix(w.arg, "{") && w.arg != "{}" && (json.Valid([]byte(w.arg)) || len(w.arg) > len(c.arg)) {
			c.arg = w.arg
		}
	}
}

// chunk reports whether the chunk is an error.
func (r *slowReply) chunk(v map[string]any) bool {
	choices, ok := v["choices"].([]any)
	r.seen = r.seen || ok
	for _, c := range choices {
		choice, _ := c.(map[string]any)
		if n, isNumber := choice["index"].(float64); choice == nil || (isNumber && n != 0) {
			continue
		}
		delta, hasDelta := choice["delta"].(map[string]any)
		message, hasMessage := choice["message"].(map[string]any)
		had := r.text != "" || r.reasoning != "" || len(r.calls) > 0
		if hasDelta {
			r.delta(delta)
		}
		if hasMessage && len(delta) == 0 {
			if (hasDelta && had) || r.deltas {
				r.whole(message)
			} else {
				r.delta(message)
			}
		}
		if len(delta) > 0 && (r.text != "" || r.reasoning != "" || len(r.calls) > 0) {
			r.deltas = true
		}
		if f, _ := choice["finish_reason"].(string); f != "" {
			r.finish = f
		}
	}
	return false
}

func (r *slowReply) delta(d map[string]any) {
	for _, name := range []string{"reasoning_content", "reasoning", "thinking"} {
		if s, _ := d[name].(string); s != "" {
			r.reasoning += s
			break
		}
	}
	switch content := d["content"].(type) {
	case string:
		r.text += content
	case []any:
		for _, p := range content {
			switch part := p.(type) {
			case string:
				r.text += part
			case map[string]any:
				s, _ := part["text"].(string)
				r.text += s
			}
		}
	}
	list, _ := d["tool_calls"].([]any)
	for _, t := range list {
		if tool, ok := t.(map[string]any); ok {
			r.tool(tool)
		}
	}
}

func (r *slowReply) tool(t map[string]any) {
	f, _ := t["function"].(map[string]any)
	name, _ := f["name"].(string)
	id := ""
	switch v := t["id"].(type) {
	case string:
		id = v
	case float64:
		id = fmt.Sprint(v)
	}
	index := ""
	switch v := t["index"].(type) {
	case string:
		index = v
	case float64:
		index = fmt.Sprint(v)
	}
	c := r.owner(index, id, name, f["arguments"])
	if c == nil {
		c = &slowCall{index: index}
		r.calls = append(r.calls, c)
	}
	if c.id == "" {
		c.id = id
	}
	if name != c.name {
		c.name += name
	}
	switch a := f["arguments"].(type) {
	case nil:
	case string:
		if a != c.arg || !c.complete() {
			c.arg += a
		}
	default:
		b, _ := json.Marshal(a)
		c.arg += string(b)
	}
}

func (c *slowCall) complete() bool { return json.Valid([]byte(c.arg)) }

func (r *slowReply) owner(index, id, name string, arguments any) *slowCall {
	byID := func() *slowCall {
		for _, c := range r.calls {
			if id != "" && c.id == id {
				return c
			}
		}
		return nil
	}
	if index != "" {
		var latest *slowCall
		for _, c := range r.calls {
			if c.index == index {
				if id != "" && c.id == id {
					return c
				}
				latest = c
			}
		}
		if latest == nil {
			if name == "" {
				return byID()
			}
			return nil
		}
		if id != "" && id != latest.id && name != "" && (name != latest.name || latest.complete()) {
			return nil
		}
		a, _ := arguments.(string)
		if id == "" && name != "" && latest.complete() && (name != latest.name || strings.HasPrefix(a, "{") && a != latest.arg) {
			return nil
		}
		return latest
	}
	if c := byID(); c != nil {
		return c
	}
	if len(r.calls) == 0 {
		return nil
	}
	last := r.calls[len(r.calls)-1]
	if id != "" && name != "" {
		return nil
	}
	if id == "" && name != "" && (last.complete() || last.name != name) {
		return nil
	}
	return last
}
