package stream

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/jsontext"
)

// plainWriter rewrites the schemas of a tool in the form that the strictest endpoints take. Gemini
// knows few keywords, and no references and lists of types (zed-industries/zed#45552). Moonshot
// demands a type everywhere except beside anyOf (vercel/ai#18921), Vertex demands nothing else there
// (modelcontextprotocol/servers#2014), and llama.cpp cannot use many patterns and limits
// (firecrawl/firecrawl#4512). The model reads the rest of a schema in its description.
type plainWriter struct {
	edit *schemaEdit // copies the result
	root gjson.Result
	read int // bytes; references and anyOf can make them many
}

// maxPlain is how many bytes of schemas plainWriter reads for one tool. In place of a schema after
// them, any text is allowed.
const maxPlain = 4 << 20

// fits reports whether that many more bytes may be read.
func (p *plainWriter) fits(bytes int) bool {
	p.read += bytes
	return p.read <= maxPlain
}

// schema returns a schema in plain form. The schemas in it are rewritten when they are copied.
func (p *plainWriter) schema(v gjson.Result) gjson.Result {
	if !p.fits(len(v.Raw)) {
		return gjson.Parse(`{"type":"string"}`)
	}
	v = mended(p.unfolded(v))
	if v.Get("anyOf").Exists() {
		return v
	}
	types := v.Get("type").Array()
	if len(types) > 1 {
		types = slices.DeleteFunc(types, func(t gjson.Result) bool { return t.Str == "null" }) // a call can leave the value out
	}
	switch {
	case len(types) > 1:
		for i, t := range types {
			types[i] = withMember(v, "type", t.Raw)
		}
		return anyOf(types)
	case len(types) == 1:
		return p.keywords(v, types[0].Str)
	case v.Get("properties").Exists():
		return p.keywords(v, "object")
	case v.Get("items").Exists():
		return p.keywords(v, "array")
	}
	return p.keywords(v, "string")
}

// keywords returns a schema of one type with the few keywords that every endpoint knows.
func (p *plainWriter) keywords(v gjson.Result, kind string) gjson.Result {
	list := []member{newMember("type", jsontext.Quoted(kind))}
	properties := v.Get("properties")
	var rest []string
	v.ForEach(func(name, value gjson.Result) bool {
		values := ""
		switch key := name.Str; {
		case key == "enum" || key == "const" && !value.IsArray():
			values = plainValues(value)
		case key == "required":
			value = gjson.Parse(only(value, func(name gjson.Result) bool { return memberOf(properties, name.Str).Exists() }))
		}
		switch key := name.Str; {
		case values != "":
			list = append(list, newMember("enum", []byte(values)))
		case key == "properties", key == "items", key == "required" && len(value.Array()) > 0:
			list = append(list, member{name.Raw, value.Raw})
		case key == "title", key == "description", key == "nullable", value.Type == gjson.Null, isEmptyObject(value):
		case key == "additionalProperties" && value.IsObject(), !slices.Contains(silentKeywords, key) && key != "type":
			rest = append(rest, key+": "+value.Raw)
		}
		return true
	})
	if text := described(v, rest); text != "" {
		list = append(list, newMember("description", jsontext.Quoted(text)))
	}
	return gjson.ParseBytes(formed("{?}", joinMembers(list)))
}

// plainValues returns the values of an enum or a const that are texts and not empty; "" if there are
// others than null and the empty text. Gemini takes nothing else (Bobsilvio/ha-claude#32).
func plainValues(value gjson.Result) string {
	values := slices.DeleteFunc(value.Array(), func(v gjson.Result) bool { return v.Type == gjson.Null || v.Raw == `""` })
	if commonType(values) != "string" {
		return ""
	}
	return only(value, func(v gjson.Result) bool { return v.Type == gjson.String && v.Str != "" })
}

// unfolded returns a schema without $ref, allOf, oneOf and prefixItems. It is either anyOf alone, or
// has no anyOf. A reference to a schema around it is left out.
func (p *plainWriter) unfolded(v gjson.Result) gjson.Result {
	for {
		ref, all, one, some, prefix := v.Get("$ref"), v.Get("allOf"), v.Get("oneOf"), v.Get("anyOf"), v.Get("prefixItems")
		switch {
		case ref.Exists():
			v = withMember(v, "$ref", "")
			if to := pointed(p.root, ref.Str); to.IsObject() && !slices.Contains(p.edit.inside, ref.Str) && p.fits(len(to.Raw)) {
				p.edit.inside = append(p.edit.inside, ref.Str)
				v = joined(v, to)
			}
		case all.Exists():
			v = withMember(v, "allOf", "")
			for _, part := range all.Array() {
				if p.fits(len(v.Raw)) {
					v = joined(v, p.unfolded(part))
				}
			}
		case one.Exists() && !some.Exists():
			v = withMember(withMember(v, "oneOf", ""), "anyOf", one.Raw)
		case prefix.IsArray():
			v = withMember(withMember(v, "prefixItems", ""), "items", prefix.Raw)
		case some.Exists():
			v = withMember(withMember(v, "oneOf", ""), "anyOf", "")
			branches := slices.DeleteFunc(some.Array(), func(b gjson.Result) bool {
				return !b.IsObject() || b.Get("type").Str == "null" || b.Get("const").Raw == "null" // a call can leave the value out
			})
			switch {
			case len(branches) == 0, !p.fits(len(branches) * len(v.Raw)):
			case v.Get("properties").Exists():
				v = withMember(v, "description", string(jsontext.Quoted(described(v, []string{"anyOf: " + some.Raw}))))
			case len(branches) == 1:
				v = joined(v, branches[0])
			default:
				for i, branch := range branches {
					branches[i] = joined(branch, v)
				}
				return anyOf(branches)
			}
		default:
			return v
		}
	}
}

func anyOf(schemas []gjson.Result) gjson.Result {
	return gjson.Parse(`{"anyOf":` + arrayOf(schemas) + "}")
}

// withMember returns an object with another value of a member; "" takes the member out.
func withMember(object gjson.Result, name, value string) gjson.Result {
	list := otherMembers(nil, object, name)
	if value != "" {
		list = append(list, newMember(name, []byte(value)))
	}
	return gjson.ParseBytes(formed("{?}", joinMembers(list)))
}

// joined returns a schema with the keywords of another one that it lacks, and with the properties of
// both.
func joined(v, other gjson.Result) gjson.Result {
	other.ForEach(func(name, value gjson.Result) bool {
		own := memberOf(v, name.Str)
		switch key := name.Str; {
		case !own.Exists():
			v = gjson.ParseBytes(withMembers(v, gjson.Parse("{"+name.Raw+":"+value.Raw+"}")))
		case key == "properties" && own.IsObject() && value.IsObject():
			v = withMember(v, key, string(withMembers(value, own)))
		case key == "required" && own.IsArray() && value.IsArray():
			v = withMember(v, key, arrayOf(slices.Concat(own.Array(), value.Array())))
		}
		return true
	})
	return v
}

// maxPropertyName is the longest name of a property that Anthropic takes.
const maxPropertyName = 64

// plainName returns the name of a property in a form that Anthropic takes
// (decocms/studio#6874). Equal names have equal forms, and others have others.
func plainName(name string) string {
	legal := func(c byte) bool {
		return isWord(c) || 'A' <= c && c <= 'Z' || c == '.' || c == '-'
	}
	plain := []byte(name)
	for i, c := range plain {
		if !legal(c) {
			plain[i] = '_'
		}
	}
	if name != "" && len(name) <= maxPropertyName && string(plain) == name {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return string(plain[:min(len(plain), maxPropertyName-9)]) + "_" + hex.EncodeToString(sum[:4])
}

// renamed returns the schema of a tool with plain names of its arguments. The descriptions have the
// names of the tool server.
func renamed(schema gjson.Result) gjson.Result {
	if !hasOtherNames(schema) {
		return schema
	}
	var list []member
	schema.Get("properties").ForEach(func(name, value gjson.Result) bool {
		if plain := plainName(name.Str); plain != name.Str {
			value = withMember(value, "description", string(jsontext.Quoted(described(value, []string{"name: " + name.Raw}))))
			name.Raw = string(jsontext.Quoted(plain))
		}
		list = append(list, member{name.Raw, value.Raw})
		return true
	})
	required := schema.Get("required").Array()
	for i, name := range required {
		required[i].Raw = string(jsontext.Quoted(plainName(name.Str)))
	}
	schema = withMember(schema, "properties", "{"+string(joinMembers(list))+"}")
	return withMember(schema, "required", arrayOf(required))
}

// hasOtherNames reports whether a tool has an argument without a plain name.
func hasOtherNames(schema gjson.Result) (has bool) {
	schema.Get("properties").ForEach(func(name, _ gjson.Result) bool {
		has = plainName(name.Str) != name.Str
		return !has
	})
	return has
}

// originalNames gives the arguments of calls the names of the tool servers again.
func originalNames(tools []Tool, calls []Call) {
	for i := range calls {
		c := &calls[i]
		n := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == c.Name })
		if n < 0 || !valid(c.Arguments) || innerObject(c.Arguments) == nil {
			continue
		}
		schema := gjson.ParseBytes(tools[n].Schema)
		if !hasOtherNames(schema) {
			continue
		}
		names := map[string]string{}
		schema.Get("properties").ForEach(func(name, _ gjson.Result) bool {
			names[plainName(name.Str)] = name.Str
			return true
		})
		var list []member
		gjson.ParseBytes(c.Arguments).ForEach(func(name, value gjson.Result) bool {
			if original, ok := names[name.Str]; ok && original != name.Str {
				name.Raw = string(jsontext.Quoted(original))
			}
			list = append(list, member{name.Raw, value.Raw})
			return true
		})
		c.Arguments = formed("{?}", joinMembers(list))
	}
}
