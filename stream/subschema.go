package stream

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/jsontext"
)

// A schemaPart is the part of JSON Schema that a provider accepts for the form of an answer. The
// rest goes into descriptions, where the model reads it: an answer that fits the result can
// violate only that rest. All providers demand that an object has only members that its schema
// names.
type schemaPart struct {
	Keywords    []string // that it accepts in addition to the common ones
	Formats     []string // of strings, that it accepts
	ObjectRoot  bool     // the complete schema must be of an object
	AllRequired bool     // an object must have all members
	Recursive   bool     // a schema may refer to itself
}

// anthropicPart is structured outputs of the messages API
// (docs.claude.com, "Structured outputs", JSON Schema limitations).
var anthropicPart = schemaPart{
	Keywords: []string{"allOf"},
	Formats:  []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
}

// openAIPart is strict mode (platform.openai.com, "Structured model outputs", supported schemas).
var openAIPart = schemaPart{
	Keywords:   []string{"pattern", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "minItems", "maxItems"},
	Formats:    []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
	ObjectRoot: true, AllRequired: true, Recursive: true,
}

// Schema keywords that all providers take as they are.
var commonKeywords = []string{"type", "enum", "const", "description", "title", "default"}

// Keywords that say nothing about an answer.
var silentKeywords = []string{"$schema", "$id", "$comment", "$defs", "definitions", "properties", "required", "additionalProperties", "items", "anyOf", "oneOf", "allOf", "$ref"}

// maxSchemaDepth bounds how deep a schema nests.
const maxSchemaDepth = 50

// of returns a schema in the part that a provider accepts; false if there is none: an object
// may have members that nobody names, or a value may be anything.
func (p *schemaPart) of(schema []byte) ([]byte, bool) {
	root := gjson.ParseBytes(schema)
	w := partWriter{schemaPart: p, root: root}
	if p.ObjectRoot && root.Get("type").Str != "object" {
		return nil, false
	}
	closed := w.schema(root, 0)
	for _, name := range []string{"$defs", "definitions"} {
		if definitions := root.Get(name); definitions.IsObject() {
			closed = jsontext.AppendMember(closed[:len(closed)-1], name, w.named(definitions, 1))
			closed = append(closed, '}')
		}
	}
	return closed, !w.failed
}

type partWriter struct {
	*schemaPart
	root   gjson.Result
	inside []string // the references that are being followed
	done   []string // the references that were followed
	failed bool
}

func (w *partWriter) fail() []byte {
	w.failed = true
	return []byte("{}")
}

// schema writes one schema, at a depth.
func (w *partWriter) schema(v gjson.Result, depth int) []byte {
	if !v.IsObject() || depth > maxSchemaDepth {
		return w.fail()
	}
	out := []byte{'{'}
	add := func(name string, value []byte) { out = jsontext.AppendMember(out, name, value) }
	if ref := v.Get("$ref"); ref.Exists() {
		w.follow(ref.Str, depth)
		add("$ref", []byte(ref.Raw))
		return append(out, '}')
	}
	var rest []string
	v.ForEach(func(name, value gjson.Result) bool {
		switch key := name.Str; {
		case key == "description":
		case slices.Contains(commonKeywords, key), slices.Contains(w.Keywords, key) && key != "allOf", key == "format" && slices.Contains(w.Formats, value.Str),
			key == "minItems" && value.Num <= 1:
			add(key, []byte(value.Raw))
		case !slices.Contains(silentKeywords, key):
			rest = append(rest, key+": "+value.Raw)
		}
		return true
	})
	for _, name := range []string{"anyOf", "oneOf"} {
		if list := v.Get(name); list.IsArray() {
			add("anyOf", w.list(list, depth+1))
		}
	}
	if list := v.Get("allOf"); list.IsArray() {
		if !slices.Contains(w.Keywords, "allOf") {
			return w.fail()
		}
		add("allOf", w.list(list, depth+1))
	}
	types := v.Get("type").Array()
	is := func(name string) bool {
		return slices.ContainsFunc(types, func(t gjson.Result) bool { return t.Str == name })
	}
	if len(types) == 0 && !slices.ContainsFunc([]string{"enum", "const", "anyOf", "oneOf", "allOf"}, func(name string) bool { return v.Get(name).Exists() }) {
		return w.fail()
	}
	if is("object") {
		out = w.object(out, v, depth)
	}
	if items := v.Get("items"); is("array") {
		add("items", w.schema(items, depth+1))
	}
	description := v.Get("description").Str
	if rest != nil {
		description = strings.TrimSpace(description + "\n" + strings.Join(rest, ", "))
	}
	if description != "" {
		add("description", jsontext.Quoted(description))
	}
	return append(out, '}')
}

func (w *partWriter) object(out []byte, v gjson.Result, depth int) []byte {
	properties, required := v.Get("properties"), v.Get("required")
	names := 0
	properties.ForEach(func(name, _ gjson.Result) bool {
		names++
		if w.AllRequired && !slices.ContainsFunc(required.Array(), func(r gjson.Result) bool { return r.Str == name.Str }) {
			w.fail() // a model would have to invent a member that it may leave out
		}
		return true
	})
	if names == 0 && (!v.Get("additionalProperties").Exists() || v.Get("additionalProperties").Bool() || v.Get("additionalProperties").IsObject()) {
		w.fail()
	}
	for _, name := range required.Array() {
		if !memberOf(properties, name.Str).Exists() {
			w.fail()
		}
	}
	if names > 0 {
		out = jsontext.AppendMember(out, "properties", w.named(properties, depth+1))
	}
	if required.IsArray() {
		out = jsontext.AppendMember(out, "required", []byte(required.Raw))
	}
	return jsontext.AppendMember(out, "additionalProperties", []byte("false"))
}

// memberOf returns the member of an object; gjson's Get would read the name as a path.
func memberOf(object gjson.Result, name string) (member gjson.Result) {
	find(object, wanted{name, &member})
	return member
}

func (w *partWriter) named(v gjson.Result, depth int) []byte {
	out := []byte{'{'}
	v.ForEach(func(name, value gjson.Result) bool {
		out = jsontext.AppendMember(out, name.Str, w.schema(value, depth+1))
		return true
	})
	return append(out, '}')
}

func (w *partWriter) list(v gjson.Result, depth int) []byte {
	out := []byte{'['}
	for i, value := range v.Array() {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, w.schema(value, depth+1)...)
	}
	return append(out, ']')
}

// follow fails on a reference that does not lead to a definition of the schema, or that leads
// back to itself if the provider does not accept that.
func (w *partWriter) follow(ref string, depth int) {
	if w.Recursive && ref == "#" {
		return
	}
	section, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/"), "/")
	if !strings.HasPrefix(ref, "#/") || section != "$defs" && section != "definitions" || strings.ContainsAny(name, "/~%") {
		w.fail()
		return
	}
	if slices.Contains(w.done, ref) {
		return
	}
	if slices.Contains(w.inside, ref) {
		if !w.Recursive {
			w.fail()
		}
		return
	}
	w.inside = append(w.inside, ref)
	w.schema(memberOf(memberOf(w.root, section), name), depth+1)
	w.inside, w.done = w.inside[:len(w.inside)-1], append(w.done, ref)
}
