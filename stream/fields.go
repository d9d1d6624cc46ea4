package stream

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// fields writes the members of a request object. A param of the user replaces
// the member that the dialect would write under the same name.
type fields struct {
	w      *segments
	r      *Request
	merged []string // objects into which a param of the user was merged
}

// openFields begins the request object with the members that come first in every dialect.
func openFields(w *segments, r *Request) *fields {
	w.str("{")
	f := &fields{w: w, r: r}
	f.set("model", "?", r.Model)
	f.set("stream", "true")
	return f
}

// set writes a member in a form, unless the user sets the member.
func (f *fields) set(name, form string, values ...any) {
	own := f.own(name)
	if value := filled(form, values...); len(value) > 0 && !own.Exists() {
		f.name(name)
		f.w.raw(value)
	}
}

// own returns the user's value of a field that the dialect can send. If it is null, the field is
// left out.
func (f *fields) own(name string) gjson.Result {
	own := paramOf(f.r, name)
	if own.Exists() && own.Type == gjson.Null {
		f.merged = append(f.merged, name)
	}
	return own
}

// filled is formed, or nothing if one of the values is zero or empty.
func filled(form string, values ...any) []byte {
	for _, value := range values {
		if v := reflect.ValueOf(value); v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0 {
			return nil
		}
	}
	return formed(form, values...)
}

// object writes an object with the members that are not empty, if there are any, after the
// members that the user set in it. AddParams has checked that the user did not set the same
// ones. If the user set another value than an object, only that value is sent. An empty object is
// not sent.
func (f *fields) object(name string, members ...[]byte) {
	members = slices.DeleteFunc(members, func(m []byte) bool { return len(m) == 0 })
	own := f.own(name)
	if len(members) == 0 || own.Exists() && !own.IsObject() {
		if isEmptyObject(own) {
			f.merged = append(f.merged, name)
		}
		return
	}
	if users := innerObject([]byte(own.Raw)); len(users) > 0 {
		members = slices.Insert(members, 0, users)
	}
	f.merged = append(f.merged, name)
	f.name(name)
	f.w.put("{?}", bytes.Join(members, []byte(",")))
}

// list writes an array with an entry, after the entries that the user set in it. If the user set
// another value than an array, only that value is sent.
func (f *fields) list(name, entry string) {
	own := f.own(name)
	if own.Exists() && !own.IsArray() {
		return
	}
	entries := []string{}
	for _, e := range own.Array() {
		if e.Raw != entry {
			entries = append(entries, e.Raw)
		}
	}
	f.merged = append(f.merged, name)
	f.name(name)
	f.w.str("[" + strings.Join(append(entries, entry), ",") + "]")
}

// innerObject returns the text between the braces of an object, nil for any other value.
func innerObject(value []byte) []byte {
	value = bytes.TrimSpace(value)
	if len(value) < 2 || value[0] != '{' {
		return nil
	}
	return bytes.TrimSpace(value[1 : len(value)-1])
}

func (f *fields) name(name string) {
	f.w.item()
	f.w.put("?:", name)
}

// params writes the params of the user, except the conversation. If several have the same name,
// the last one counts.
func (f *fields) params(conversation string) {
	for i, p := range f.r.Params {
		if p.Name == "tools" && len(f.r.Tools) > 0 {
			continue // they follow the tools of servers
		}
		if p.Name != conversation && !isFormNull(p) && !slices.Contains(f.merged, p.Name) && !hasParam(f.r.Params[i+1:], p.Name) {
			f.name(p.Name)
			f.w.raw(p.Value)
		}
	}
}

func hasParam(params []Param, name string) bool {
	return slices.ContainsFunc(params, func(p Param) bool { return p.Name == name })
}

// tools writes the tools on offer. Each of them begins with begin, holds its
// schema under the given name, and ends with end, the last one with lastEnd.
func (f *fields) tools(o options, begin, schema, end, lastEnd string) {
	tools, w := f.r.Tools, f.w
	if len(tools) == 0 {
		return // a param tools was written with the others
	}
	f.name("tools")
	size := 0
	for _, t := range tools {
		size += len(t.Name) + len(t.Description) + len(t.Schema) + roomOfTool
	}
	w.cur = slices.Grow(w.cur, size)
	w.str("[")
	for i, t := range tools {
		w.item()
		w.put(begin+`"name":?`, t.Name)
		if o.shortTexts {
			t.Description = shortText(t.Description)
		}
		w.str(string(filled(`,"description":?`, t.Description)))
		if i == len(tools)-1 {
			end = lastEnd
		}
		w.put(`,"`+schema+`":??`, toolSchema(t.Schema, o.plainSchemas), []byte(end))
	}
	for _, own := range endpointTools(f.r) {
		w.item()
		w.raw([]byte(own.Raw))
	}
	w.str("]")
}

// roomOfTool is about how many bytes a tool takes beside its texts.
const roomOfTool = 100

// conversation begins the array of messages, which is the last member.
func (f *fields) conversation(name string) {
	f.name(name)
	f.w.str("[")
}

// withoutForcedCall returns r with a param tool_choice that demands no call: a model that must
// call in each reply never gives an answer. The rest of the param stays.
func withoutForcedCall(r *Request) *Request {
	free := *r
	free.Params = nil
	for _, p := range r.Params {
		v := gjson.ParseBytes(p.Value) // "auto", {"type":"auto"} or {"type":"allowed_tools","mode":"auto",…}
		word := cmp.Or(v.Str, v.Get("mode").Str, v.Get("allowed_tools.mode").Str, v.Get("type").Str)
		if p.Name == "tool_choice" && word != "auto" && word != "none" && v.Type != gjson.Null {
			if p.Value = freeChoice(v); p.Value == nil {
				continue
			}
		}
		free.Params = append(free.Params, p)
	}
	return &free
}

// freeChoice returns the rest of a tool_choice without its demand for a call: the allowed
// tools, or the setting against parallel calls; nil for nothing.
func freeChoice(v gjson.Result) []byte {
	nested, flat := v.Get("allowed_tools.tools"), v.Get("tools")
	switch parallel := v.Get("disable_parallel_tool_use"); {
	case nested.IsArray():
		return formed(`{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":?}}`, json.RawMessage(nested.Raw))
	case flat.IsArray():
		return formed(`{"type":"allowed_tools","mode":"auto","tools":?}`, json.RawMessage(flat.Raw))
	case parallel.Exists():
		return formed(`{"type":"auto","disable_parallel_tool_use":?}`, json.RawMessage(parallel.Raw))
	}
	return nil
}

// promptCacheKey makes the value of prompt_cache_key. By this key OpenAI sends requests with
// the same beginning to the machine with the beginning in its cache. It is a hash of the head
// and the first message, so it is the same for all requests of a run, and for the runs of one
// pipeline. The model is left out: a replay need not know it.
func (c *Client) promptCacheKey(r *Request) string {
	var text segments
	anyModel := *r
	anyModel.Model = ""
	c.dialect.open(&text, &anyModel, c.options)
	e := c.dialect.encoder(r, c.options)
	for i := range r.Messages {
		if m := &r.Messages[i]; !isSystem(m) {
			e.message(&text, m)
			e.finish(&text)
			break
		}
	}
	sum := sha256.New()
	joinBody(&text).writeTo(sum)
	return "toolpipe-" + hex.EncodeToString(sum.Sum(nil)[:16])
}

func (f *fields) cacheKey(o options) {
	if !o.noCacheKey {
		f.set("prompt_cache_key", "?", o.cacheKey)
	}
}
