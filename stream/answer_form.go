package stream

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/jsontext"
)

// answerMember is the only member of the object in which a schema is wrapped, if the endpoint
// takes only schemas of objects.
const answerMember = "answer"

// formSchema returns the schema that the endpoint shall enforce; nil for none. OpenAI takes only
// a schema of an object (podly-pure-podcasts/podly_pure_podcasts#89), and in JSON mode every
// answer is an object. Anthropic, llama.cpp and vLLM take a schema of any value.
func formSchema(r *Request, o options) []byte {
	switch {
	case r.Schema == nil, schemaInPrompt(r), o.noFormat:
		return nil
	case wrapsAnswers(o):
		return objectSchema(r.Schema)
	}
	return r.Schema
}

func wrapsAnswers(o options) bool { return o.isOpenAI || o.wrapRoot || o.anyJSON }

// strictSchema is formSchema in the form in which it is sent. The endpoint enforces all of it if
// strict is set. OpenAI does this only for a part of JSON Schema, other endpoints for the part
// that they know.
func strictSchema(r *Request, o options) (schema []byte, strict bool) {
	schema = formSchema(r, o)
	switch {
	case schema == nil, o.noStrict, o.anyJSON:
		return schema, false
	case !o.isOpenAI:
		return schema, true
	}
	if part, ok := openAIPart.of(schema); ok {
		return part, true
	}
	return schema, false
}

// answerFormat asks the endpoint to follow the schema of the answer; nil for nothing. before is
// the text before strict and the schema, after the text after them.
func answerFormat(r *Request, o options, before, after string) []byte {
	schema, strict := strictSchema(r, o)
	switch {
	case schema == nil:
		return nil
	case o.anyJSON:
		return []byte(`{"type":"json_object"}`)
	case strict:
		before += `"strict":true,`
	}
	return formed(before+`"schema":?`+after, schema)
}

// formRepairs are the steps from a schema down to none, after a refusal of the form of r. Beside
// tools, an endpoint may refuse any form.
func (d *dialect) formRepairs(o *options, r *Request, f *refusal, kind Kind) []repair {
	schema, strict := strictSchema(r, *o)
	if d == &messagesDialect {
		schema = messagesFormat(r, *o)
	}
	inPrompt := repair{&o.noFormat, schema != nil, "with the schema of the answer only in the prompt"}
	switch {
	case kind == PairRefused:
		return []repair{inPrompt}
	case d == &messagesDialect:
		return []repair{rootRepair(o, r, f), inPrompt}
	}
	return []repair{
		rootRepair(o, r, f),
		{&o.noStrict, strict && f.says("schema", "strict", "json_schema"), "without strict next to the schema"},
		{&o.anyJSON, schema != nil, inPrompt.change},
		{&o.noFormat, schema != nil, "without JSON as the form of the answer"},
	}
}

// rootRepair is the step for an endpoint that demands a schema of an object.
func rootRepair(o *options, r *Request, f *refusal) repair {
	demands := strings.NewReplacer("json_object", "", `"object":`, "").Replace(f.words) // the name of JSON mode; a member of vLLM's errors
	needed := !o.isOpenAI && !o.anyJSON && !isObjectSchema(r.Schema) && strings.Contains(demands, "object")
	return repair{&o.wrapRoot, needed, "with the answer as the only member of an object"}
}

// saysForm reports whether the prompt must contain the schema of the answer.
func (d *dialect) saysForm(r *Request, o options) bool {
	return r.Schema != nil && (o.anyJSON || formSchema(r, o) == nil || d == &messagesDialect && messagesFormat(r, o) == nil)
}

// withForm returns a request with the schema of the answer in the prompt.
func withForm(r *Request, o options) *Request {
	schema := formSchema(r, o)
	if schema == nil {
		schema = r.Schema
	}
	said, n := *r, 0
	for n < len(r.Messages) && isSystem(&r.Messages[n]) {
		n++
	}
	said.Messages = slices.Insert(slices.Clone(r.Messages), n, Message{Role: System, Parts: []Part{{
		Text: "The answer is one JSON value that fits this JSON Schema, and nothing else:\n" + string(schema),
	}}})
	return &said
}

// Unwrapped returns the answer in a text of the model: its only member, if the text is an object
// but the schema is of another value. asked says that the request asked for such an object
// (Reply.Wrapped). Otherwise a model chose one by itself, as many do in JSON mode.
func Unwrapped(schema json.RawMessage, asked bool, text []byte) []byte {
	types := rootOf(schema).Get("type")
	mayBeObject := !types.Exists() || slices.ContainsFunc(types.Array(), isObjectType)
	if mayBeObject && !asked || isObjectSchema(schema) {
		return text
	}
	var name, value []byte
	members := 0
	err := jsontext.CheckObject(text, fromEndpoint, func(n, v []byte) { name, value, members = n, v, members+1 })
	if err == nil && members == 1 && (!mayBeObject || jsontext.Is(name, answerMember)) {
		return value
	}
	return text
}

// isObjectSchema reports whether only objects fit a schema, because of its type.
func isObjectSchema(schema []byte) bool { return hasObjectType(rootOf(schema)) }

func hasObjectType(v gjson.Result) bool {
	types := v.Get("type").Array()
	return len(types) == 1 && isObjectType(types[0])
}

func isObjectType(name gjson.Result) bool { return name.Str == "object" }

// rootOf returns a schema with the schema that its reference leads to, if it is one.
func rootOf(schema []byte) gjson.Result {
	root := gjson.ParseBytes(schema)
	return (&partWriter{root: root}).flat(root, true)
}

// objectSchema returns a schema of an object: the schema itself, or that of an object with it as
// the only member. Its URI and its definitions stay at the root, where references find them. If a
// reference leads to another part of it, the complete schema becomes a definition too.
func objectSchema(schema []byte) []byte {
	if root := rootOf(schema); hasObjectType(root) {
		return []byte(root.Raw)
	}
	root := gjson.ParseBytes(schema)
	name := answerMember
	for memberOf(root.Get("$defs"), name).Exists() {
		name += "_"
	}
	to, moved := "#/$defs/"+name, false
	edit := schemaEdit{ref: func(ref string) string {
		now := movedRef(ref, strings.TrimSuffix(root.Get("$id").Str, "#"), to)
		moved = moved || strings.HasPrefix(now+"/", to+"/")
		return now
	}}
	value, top, defs := []byte{'{'}, []byte{'{'}, []byte{'{'}
	root.ForEach(func(key, v gjson.Result) bool {
		switch {
		case key.Str == "$id", key.Str == "$schema", key.Str == "definitions":
			top = edit.appendMember(top, key, v)
		case key.Str == "$defs" && v.IsObject():
			defs = edit.append(nil, v, true)
			defs = defs[:len(defs)-1]
		default:
			value = edit.appendMember(value, key, v)
		}
		return true
	})
	if value = append(value, '}'); !root.IsObject() {
		value = schema // true: any value
	}
	if moved {
		defs = jsontext.AppendMember(defs, name, value)
		value = formed(`{"$ref":?}`, to)
	}
	if len(defs) > 1 {
		top = jsontext.AppendMember(top, "$defs", append(defs, '}'))
	}
	top = jsontext.AppendMember(top, "type", []byte(`"object"`))
	top = jsontext.AppendMember(top, "properties", append(jsontext.AppendMember([]byte{'{'}, answerMember, value), '}'))
	return append(top, `,"required":["`+answerMember+`"],"additionalProperties":false}`...)
}

// movedRef returns a reference in a schema that moved from the root to another path, without its
// definitions. id is the schema's own URI.
func movedRef(ref, id, to string) string {
	if rest, own := strings.CutPrefix(ref, id); own && id != "" && (rest == "" || rest[0] == '#') {
		ref = "#" + strings.TrimPrefix(rest, "#")
	}
	pointer, local := strings.CutPrefix(ref, "#")
	isPart := pointer == "" || pointer[0] == '/' && !strings.HasPrefix(pointer, "/$defs/") && !strings.HasPrefix(pointer, "/definitions/")
	if local && isPart {
		return to + pointer
	}
	return ref
}
