package stream

import (
	"bytes"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/jsontext"
)

// A schemaPart is the part of JSON Schema that a provider accepts for the form of an answer. The
// rest goes into descriptions, where the model reads it: an answer that fits the result can
// violate only that rest. All providers demand that an object has only members that its schema
// names, and that the values of an enum are not objects or arrays.
type schemaPart struct {
	Keywords []string // that it accepts in addition to the common ones
	Formats  []string // of strings, that it accepts
	OpenAI   bool     // the further rules of OpenAI
}

// anthropicPart is structured outputs of the messages API
// (docs.claude.com, "Structured outputs", JSON Schema limitations).
var anthropicPart = schemaPart{
	Keywords: []string{"allOf", "default"},
	Formats:  []string{"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"},
}

// openAIPart is strict mode (developers.openai.com, "Structured model outputs", supported
// schemas): the root is an object, an object must have all members, the values of an enum have
// one type, a schema may refer to itself, and the limits of schemaSize apply. Azure refuses the
// keyword default (openai/openai-agents-python#4390).
var openAIPart = schemaPart{
	Keywords: []string{"pattern", "multipleOf", "maximum", "exclusiveMaximum", "minimum", "exclusiveMinimum", "minItems", "maxItems"},
	Formats:  []string{"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"},
	OpenAI:   true,
}

var (
	// Schema keywords that all providers take as they are.
	commonKeywords = []string{"type", "enum", "const", "title"}
	// Keywords that say nothing about an answer, or that are written separately.
	silentKeywords = []string{"$schema", "$id", "$comment", "$defs", "definitions", "properties", "required", "additionalProperties", "items", "anyOf", "oneOf", "allOf", "$ref"}
	// Keywords that limit no value.
	annotations = []string{"$schema", "$id", "$comment", "$defs", "definitions", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly"}
	// Keywords with a list of schemas.
	combiners = []string{"anyOf", "oneOf", "allOf"}
)

const (
	maxSchemaDepth = 50     // how deep a schema nests
	maxSchemaSteps = 20_000 // the schemas that are visited; references can make them many
)

// of returns a schema in the part that a provider accepts; false if there is none: an object
// may have members that nobody names, or a value may be anything.
func (p *schemaPart) of(schema []byte) ([]byte, bool) {
	root := gjson.ParseBytes(schema)
	w := partWriter{schemaPart: p, root: root}
	if p.OpenAI && !hasObjectType(root) {
		return nil, false
	}
	part := w.schema(root, 0)
	for _, name := range []string{"$defs", "definitions"} {
		if definitions := root.Get(name); definitions.IsObject() {
			part = jsontext.AppendMember(part[:len(part)-1], name, w.named(definitions, 1))
			part = append(part, '}')
		}
	}
	if p.OpenAI && !w.failed {
		w.failed = !new(schemaSize).fits(gjson.ParseBytes(part), 0)
	}
	return part, !w.failed
}

type partWriter struct {
	*schemaPart
	root   gjson.Result
	inside []string // the references that are being followed
	done   []string // the references that were followed
	steps  int
	failed bool
}

func (w *partWriter) fail() []byte {
	w.failed = true
	return []byte("{}")
}

func (w *partWriter) schema(v gjson.Result, depth int) []byte {
	if w.steps++; w.failed || w.steps > maxSchemaSteps || !v.IsObject() || depth > maxSchemaDepth {
		return w.fail()
	}
	defer func(n int) { w.inside = w.inside[:n] }(len(w.inside))
	v = w.flat(v, false)
	if ref := v.Get("$ref"); ref.Exists() {
		w.follow(ref.Str, depth)
		return formed(`{"$ref":?}`, []byte(ref.Raw))
	}
	out, description := w.keywords(v)
	types := v.Get("type").Array()
	values := v.Get("enum").Array()
	if value := v.Get("const"); value.Exists() {
		values = append(values, value)
	}
	switch named := w.typesOf(values); {
	case len(types) == 0 && len(values) > 0:
		out = jsontext.AppendMember(out, "type", named)
	case len(types) == 0 && !hasAny(v, combiners):
		return w.fail() // any value
	}
	for _, name := range combiners {
		list, as := v.Get(name), name
		if name == "oneOf" {
			as = "anyOf"
		}
		switch {
		case !list.IsArray():
		case as == "anyOf" || slices.Contains(w.Keywords, as):
			out = jsontext.AppendMember(out, as, w.list(list, depth+1))
		default:
			return w.fail()
		}
	}
	is := func(name string) bool {
		return slices.ContainsFunc(types, func(t gjson.Result) bool { return t.Str == name })
	}
	switch {
	case v.Get("anyOf").Exists() && v.Get("oneOf").Exists(), is("array") && v.Get("prefixItems").Exists():
		return w.fail()
	case is("object"):
		out = w.object(out, v, depth)
	}
	if is("array") {
		out = jsontext.AppendMember(out, "items", w.schema(v.Get("items"), depth+1))
	}
	if description != "" {
		out = jsontext.AppendMember(out, "description", jsontext.Quoted(description))
	}
	return append(out, '}')
}

// keywords begins the object of a schema with the keywords that stay. The others are added to
// the description.
func (w *partWriter) keywords(v gjson.Result) (out []byte, description string) {
	out = []byte{'{'}
	var rest []string
	v.ForEach(func(name, value gjson.Result) bool {
		switch key := name.Str; {
		case key == "description", key == "default" && value.Type == gjson.Null:
		case slices.Contains(commonKeywords, key), slices.Contains(w.Keywords, key) && key != "allOf",
			key == "format" && slices.Contains(w.Formats, value.Str), key == "minItems" && value.Num <= 1:
			out = jsontext.AppendMember(out, key, []byte(value.Raw))
		case !slices.Contains(silentKeywords, key):
			rest = append(rest, key+": "+value.Raw)
		}
		return true
	})
	return out, described(v, rest)
}

// described returns the description of a schema with the keywords that only the model reads.
func described(v gjson.Result, rest []string) string {
	text := v.Get("description").Str
	if rest != nil {
		text = strings.TrimSpace(text + "\n" + strings.Join(rest, ", "))
	}
	return text
}

// typesOf returns the value of the keyword type for the values of an enum or a const. It fails
// for values that providers do not accept there.
func (w *partWriter) typesOf(values []gjson.Result) []byte {
	var names []string
	for _, v := range values {
		name := typeName(v)
		if v.Type == gjson.JSON {
			w.fail()
		} else if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if w.OpenAI && len(names) > 1 && !(len(names) == 2 && slices.Contains(names, "null")) {
		w.fail()
	}
	quoted := `"` + strings.Join(names, `","`) + `"`
	if len(names) == 1 {
		return []byte(quoted)
	}
	return []byte("[" + quoted + "]")
}

func typeName(v gjson.Result) string {
	switch {
	case v.IsObject():
		return "object"
	case v.IsArray():
		return "array"
	case v.IsBool():
		return "boolean"
	}
	return strings.ToLower(v.Type.String()) // null, number or string
}

func (w *partWriter) object(out []byte, v gjson.Result, depth int) []byte {
	properties, required, other := v.Get("properties"), v.Get("required"), v.Get("additionalProperties")
	missing := map[string]bool{} // required names without a schema
	for _, name := range required.Array() {
		missing[name.Str] = true
	}
	var all [][]byte
	properties.ForEach(func(name, property gjson.Result) bool {
		all = append(all, []byte(name.Raw))
		if w.OpenAI && !missing[name.Str] && !w.allowsNull(property, depth) {
			w.fail() // a model would have to invent a member that it may leave out
		}
		delete(missing, name.Str)
		return true
	})
	if len(missing) > 0 {
		w.fail()
	}
	if open := other.IsObject() || other.Bool() || all == nil && !other.Exists(); open || hasAny(v, combiners) || hasAny(v, []string{"patternProperties"}) {
		w.fail()
	}
	out = jsontext.AppendMember(out, "properties", w.named(properties, depth+1))
	if w.OpenAI {
		out = jsontext.AppendMember(out, "required", formed("[?]", bytes.Join(all, []byte(","))))
	} else if required.IsArray() {
		out = jsontext.AppendMember(out, "required", []byte(required.Raw))
	}
	return jsontext.AppendMember(out, "additionalProperties", []byte("false"))
}

// allowsNull reports whether null certainly fits a schema. Then a model can give null for a
// member that it may leave out.
func (w *partWriter) allowsNull(v gjson.Result, depth int) bool {
	if w.steps++; w.steps > maxSchemaSteps || depth > maxSchemaDepth || !v.IsObject() || hasAny(v, []string{"not", "if"}) {
		return false
	}
	isNull := func(value gjson.Result) bool { return value.Type == gjson.Null }
	isNullType := func(name gjson.Result) bool { return name.Str == "null" }
	fits := func(schema gjson.Result) bool { return w.allowsNull(schema, depth+1) }
	all := true
	v.ForEach(func(key, value gjson.Result) bool {
		switch list := value.Array(); key.Str {
		case "type":
			all = slices.ContainsFunc(list, isNullType)
		case "enum":
			all = slices.ContainsFunc(list, isNull)
		case "const":
			all = isNull(value)
		case "anyOf":
			all = slices.ContainsFunc(list, fits)
		case "oneOf":
			all = len(slices.DeleteFunc(list, func(s gjson.Result) bool { return !fits(s) })) == 1
		case "allOf":
			all = !slices.ContainsFunc(list, func(s gjson.Result) bool { return !fits(s) })
		case "$ref":
			all = fits(localSchema(w.root, value.Str))
		}
		return all
	})
	return all
}

func hasAny(object gjson.Result, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return memberOf(object, name).Exists() })
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
	var all [][]byte
	for _, value := range v.Array() {
		all = append(all, w.schema(value, depth+1))
	}
	return formed("[?]", bytes.Join(all, []byte(",")))
}

// flat returns a schema without an allOf of one schema, and without a $ref next to other
// keywords, which OpenAI refuses (defog-ai/defog#244): their schemas take their place. A $ref
// alone is replaced too if alone is set.
func (w *partWriter) flat(v gjson.Result, alone bool) gjson.Result {
	for range maxSchemaDepth {
		keyword, inner := "", gjson.Result{}
		all, ref := v.Get("allOf").Array(), v.Get("$ref")
		switch {
		case len(all) == 1:
			keyword, inner = "allOf", all[0]
		case ref.Exists() && !slices.Contains(w.inside, ref.Str) && (alone || hasOthers(v)):
			keyword, inner = "$ref", localSchema(w.root, ref.Str)
		}
		together, ok := merged(v, keyword, inner)
		if !ok {
			break
		}
		v = together
		if keyword == "$ref" {
			w.inside = append(w.inside, ref.Str)
		}
	}
	return v
}

// hasOthers reports whether a schema has keywords for a model next to $ref.
func hasOthers(v gjson.Result) (others bool) {
	v.ForEach(func(name, _ gjson.Result) bool {
		others = name.Str == "description" || !slices.Contains(silentKeywords, name.Str)
		return !others
	})
	return others
}

// merged returns a schema with the keywords of an inner schema in place of one keyword. It cannot
// be made if both limit values by the same keyword.
func merged(v gjson.Result, keyword string, inner gjson.Result) (gjson.Result, bool) {
	out, ok := bytes.TrimSuffix(withoutMember([]byte(v.Raw), keyword), []byte("}")), inner.IsObject()
	inner.ForEach(func(name, value gjson.Result) bool {
		own := memberOf(v, name.Str)
		switch {
		case !own.Exists() || name.Str == keyword:
			out = jsontext.AppendMember(out, name.Str, []byte(value.Raw))
		case !slices.Contains(annotations, name.Str) && own.Raw != value.Raw:
			ok = false
		}
		return true
	})
	return gjson.ParseBytes(append(out, '}')), ok
}

// localSchema returns the definition, or the complete schema, to which a reference leads.
func localSchema(root gjson.Result, ref string) (schema gjson.Result) {
	section, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/"), "/")
	if ref == "#" || (section == "$defs" || section == "definitions") && !strings.ContainsAny(name, "/~%") {
		return pointed(root, ref)
	}
	return schema
}

// pointed returns the part of a schema to which a reference within it leads (RFC 6901).
func pointed(schema gjson.Result, ref string) gjson.Result {
	path, local := strings.CutPrefix(ref, "#")
	if path == "" && local {
		return schema
	}
	if path, local = strings.CutPrefix(path, "/"); !local {
		return gjson.Result{}
	}
	for key := range strings.SplitSeq(path, "/") {
		if plain, err := url.PathUnescape(key); err == nil {
			key = plain
		}
		key = strings.NewReplacer("~1", "/", "~0", "~").Replace(key)
		if !schema.IsArray() {
			schema = memberOf(schema, key)
		} else if n, err := strconv.Atoi(key); err == nil && 0 <= n && n < len(schema.Array()) {
			schema = schema.Array()[n]
		} else {
			return gjson.Result{}
		}
	}
	return schema
}

// follow fails on a reference that does not lead to a definition of the schema, or that leads
// back to itself if the provider does not accept that.
func (w *partWriter) follow(ref string, depth int) {
	switch to := localSchema(w.root, ref); {
	case !to.Exists():
		w.fail()
	case slices.Contains(w.inside, ref), ref == "#":
		if !w.OpenAI {
			w.fail()
		}
	case !slices.Contains(w.done, ref):
		w.inside = append(w.inside, ref)
		w.schema(to, depth+1)
		w.inside, w.done = w.inside[:len(w.inside)-1], append(w.done, ref)
	}
}
