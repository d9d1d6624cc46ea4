package stream

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/jsontext"
)

// toolSchema returns the schema of a tool for a request. Only the model sees it: calls are checked
// against the schema of the tool server. It has the member properties, which OpenAI demands. The
// plain form is for endpoints that refuse the usual one.
func toolSchema(schema json.RawMessage, plain bool) []byte {
	schema = bytes.TrimSpace(schema)
	if root := gjson.ParseBytes(schema); root.IsObject() && valid(schema) {
		edit := schemaEdit{rewrite: mended}
		if plain {
			root = renamed(root)
			edit.rewrite = (&plainWriter{edit: &edit, root: root}).schema
		}
		schema = edit.append(make([]byte, 0, len(schema)+len(schema)/8), root, false)
	}
	inner := innerObject(schema)
	switch {
	case len(schema) > 0 && schema[0] != '{', gjson.GetBytes(schema, "properties").Exists():
		return schema
	case len(inner) == 0:
		return []byte(`{"type":"object","properties":{}}`)
	}
	return formed(`{?,"properties":{}}`, inner)
}

// Members of a schema. valueMembers hold values, which are no schemas; namedSchemas hold
// schemas under names that the tool chose.
var (
	valueMembers = []string{"default", "const", "enum", "examples", "example"}
	namedSchemas = []string{"properties", "patternProperties", "dependentSchemas", "$defs", "definitions"}
)

// schemaEdit is what changes in a schema while it is copied. A function that is nil changes nothing.
type schemaEdit struct {
	ref     func(ref string) string                // returns the value of $ref
	rewrite func(schema gjson.Result) gjson.Result // returns the schema that is copied instead
	inside  []string                               // the references that rewrite has replaced around the current schema
}

// append appends a schema or, if byName is set, the value of a member of namedSchemas.
func (e *schemaEdit) append(w []byte, v gjson.Result, byName bool) []byte {
	foreign := e.ref != nil && !byName && v.IsObject() && v.Get("$id").Exists() // its references are relative to its own URI
	if !v.IsObject() && !v.IsArray() || foreign {
		return append(w, v.Raw...)
	}
	defer func(n int) { e.inside = e.inside[:n] }(len(e.inside))
	if e.rewrite != nil && v.IsObject() && !byName {
		v = e.rewrite(v)
	}
	w = append(w, v.Raw[0])
	begin := len(w)
	v.ForEach(func(name, value gjson.Result) bool {
		switch {
		case v.IsObject() && !byName:
			w = e.appendMember(w, name, value)
			return true
		case len(w) > begin:
			w = append(w, ',')
		}
		if byName {
			w = append(append(w, name.Raw...), ':')
		}
		if byName && e.rewrite != nil && !value.IsObject() && value.Type != gjson.False { // true, or no schema
			value = gjson.Parse("{}")
		}
		w = e.append(w, value, false)
		return true
	})
	return append(w, v.Raw[len(v.Raw)-1])
}

// appendMember appends a member of a schema to an object without its end.
func (e *schemaEdit) appendMember(w []byte, name, value gjson.Result) []byte {
	if w[len(w)-1] != '{' {
		w = append(w, ',')
	}
	w = append(append(w, name.Raw...), ':')
	switch {
	case slices.Contains(valueMembers, name.Str):
		return append(w, value.Raw...)
	case name.Str == "$ref" && e.ref != nil && value.Type == gjson.String:
		return jsontext.AppendQuoted(w, e.ref(value.Str))
	}
	return e.append(w, value, slices.Contains(namedSchemas, name.Str))
}

// mended returns a schema in a form that all providers accept. The schemas in it stay as they are.
// JSON Schema 2020-12 must allow the form: Anthropic and SGLang check this, and refuse the complete
// request otherwise (Dokploy/mcp#74). An array has one schema for its items, because OpenAI, Gemini
// and Moonshot demand it (vercel/ai#18921). A constant or an enum has its type.
func mended(v gjson.Result) gjson.Result {
	var types, items, prefix, enum, constant gjson.Result
	find(v, wanted{"type", &types}, wanted{"items", &items}, wanted{"prefixItems", &prefix}, wanted{"enum", &enum}, wanted{"const", &constant})
	var more []member
	add := func(name, value string) { more = append(more, newMember(name, []byte(value))) }
	isArray := slices.ContainsFunc(types.Array(), func(t gjson.Result) bool { return strings.EqualFold(t.Str, "array") }) // of one type or of several
	switch {
	case items.IsArray() && len(items.Array()) > 0:
		n, others := strconv.Itoa(len(items.Array())), v.Get("additionalItems")
		if !v.Get("minItems").Exists() {
			add("minItems", n)
		}
		if !v.Get("maxItems").Exists() && !others.IsObject() && !others.Bool() {
			add("maxItems", n)
		}
	case items.Type == gjson.False && prefix.IsArray() && !v.Get("maxItems").Exists():
		add("maxItems", strconv.Itoa(len(prefix.Array())))
	case !items.Exists() && (isArray || prefix.IsArray()):
		add("items", "{}")
	}
	values := enum.Array()
	if constant.Exists() {
		values = []gjson.Result{constant}
	}
	if name := commonType(values); !types.Exists() && name != "" {
		add("type", strconv.Quote(name))
	}
	same := more == nil
	v.ForEach(func(name, value gjson.Result) bool {
		same = same && mendedValue(v, name.Str, value) == value.Raw
		return same
	})
	if same {
		return v
	}
	var list []member
	v.ForEach(func(name, value gjson.Result) bool {
		if raw := mendedValue(v, name.Str, value); raw != "" {
			list = append(list, member{name.Raw, raw})
		}
		return true
	})
	return gjson.ParseBytes(formed("{?}", joinMembers(append(list, more...))))
}

// mendedValue returns the value of a keyword of a schema, "" for a keyword that is left out.
func mendedValue(v gjson.Result, keyword string, value gjson.Result) string {
	switch keyword {
	case "type":
		return mendedType(value)
	case "exclusiveMinimum", "exclusiveMaximum": // in draft 4 they say how the limit is meant
		if limit := v.Get("m" + keyword[len("exclusiveM"):]); value.Type == gjson.True && limit.Type == gjson.Number {
			return limit.Raw
		}
	case "minimum", "maximum":
		if v.Get("exclusiveM"+keyword[1:]).Type == gjson.True {
			return ""
		}
	case "items":
		if value.IsArray() {
			return anyItem(value, v.Get("additionalItems"))
		}
		if value.IsBool() {
			return "{}"
		}
	case "additionalItems": // it is only for items that are an array
		return ""
	}
	if !isLegal(keyword, value) {
		return ""
	}
	switch keyword {
	case "required":
		return only(value, func(name gjson.Result) bool { return name.Type == gjson.String })
	case "anyOf", "oneOf", "allOf":
		return only(value, isSchema)
	case "enum":
		return only(value, func(gjson.Result) bool { return true })
	}
	return value.Raw
}

// typeNames are the values of the keyword type.
var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

// mendedType returns the value of the keyword type without names that are no types; "" for none.
func mendedType(value gjson.Result) string {
	if value.Type == gjson.String && slices.Contains(typeNames, value.Str) {
		return value.Raw
	}
	var names []string
	given := value.Array()
	for _, t := range given {
		name := strings.ToLower(t.Str)
		if quoted := strconv.Quote(name); slices.Contains(typeNames, name) && !slices.Contains(names, quoted) {
			names = append(names, quoted)
		}
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) == 1:
		return names[0]
	case len(names) == len(given) && strings.ToLower(value.Raw) == value.Raw:
		return value.Raw
	}
	return "[" + strings.Join(names, ",") + "]"
}

// commonType returns the type that all values have; "" if they have several, or there are none.
func commonType(values []gjson.Result) (name string) {
	for i, v := range values {
		if i > 0 && typeName(v) != name {
			return ""
		}
		name = typeName(v)
	}
	return name
}

// anyItem returns one schema for all items of an array: any of the schemas for single ones.
func anyItem(schemas, others gjson.Result) string {
	list := schemas.Array()
	if others.IsObject() && len(list) > 0 {
		list = append(list, others)
	}
	different := only(gjson.Parse(arrayOf(list)), gjson.Result.IsObject)
	switch list = gjson.Parse(different).Array(); len(list) {
	case 0:
		return "{}"
	case 1:
		return list[0].Raw
	}
	return `{"anyOf":` + different + "}"
}

// only returns an array with the elements that are kept, each once; "" if none of several is left.
func only(list gjson.Result, keep func(gjson.Result) bool) string {
	var kept []gjson.Result
	all, seen := list.Array(), map[string]bool{}
	for _, v := range all {
		if keep(v) && !seen[v.Raw] {
			kept, seen[v.Raw] = append(kept, v), true
		}
	}
	switch {
	case len(kept) == len(all) && list.IsArray():
		return list.Raw
	case kept == nil:
		return ""
	}
	return arrayOf(kept)
}

func arrayOf(values []gjson.Result) string {
	raw := make([]string, len(values))
	for i, v := range values {
		raw[i] = v.Raw
	}
	return "[" + strings.Join(raw, ",") + "]"
}

func isSchema(v gjson.Result) bool { return v.IsObject() || v.IsBool() }

// isLegal reports whether JSON Schema 2020-12 allows a value of a keyword. Any value of a keyword
// that it does not know is allowed.
func isLegal(keyword string, v gjson.Result) bool {
	switch keyword {
	case "title", "description", "format", "pattern", "$schema", "$id", "$comment", "$ref", "$anchor":
		return v.Type == gjson.String
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		return v.Type == gjson.Number
	case "multipleOf":
		return v.Num > 0
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		return v.Type == gjson.Number && v.Num >= 0 && v.Num == math.Trunc(v.Num)
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		return v.IsBool()
	case "examples", "required":
		return v.IsArray()
	case "enum", "anyOf", "oneOf", "allOf", "prefixItems":
		return len(v.Array()) > 0 && v.IsArray()
	case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties":
		return isSchema(v)
	}
	return v.IsObject() || !slices.Contains(namedSchemas, keyword)
}
