package stream

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// Schemas as tool servers write them, and as requests have them: always, and after a refusal ("" is
// the same).
func TestToolSchema(t *testing.T) {
	for _, x := range []struct{ schema, usual, plain string }{
		{`{"type":"array","items":{"type":"string"}}`, `{"type":"array","items":{"type":"string"}}`, ""},
		{`{ "type":"array" }`, `{"type":"array","items":{}}`, `{"type":"array","items":{"type":"string"}}`},
		{`{"type":["array","null"]}`, `{"type":["array","null"],"items":{}}`, `{"type":"array","items":{"type":"string"}}`},
		{`{"anyOf":[{"type":"array"},{"type":"string"}]}`, `{"anyOf":[{"type":"array","items":{}},{"type":"string"}]}`, `{"anyOf":[{"type":"array","items":{"type":"string"}},{"type":"string"}]}`},
		{`{"default":{"type":"array"},"examples":[{"type":"array"}]}`, `{"default":{"type":"array"},"examples":[{"type":"array"}]}`,
			`{"type":"string","description":"default: {\"type\":\"array\"}, examples: [{\"type\":\"array\"}]"}`},

		// Tuples of draft 7 and of 2020-12.
		{`{"type":"array","items":[{"type":"string"}]}`, `{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":1}`,
			`{"type":"array","items":{"type":"string"},"description":"minItems: 1, maxItems: 1"}`},
		{`{"type":"array","items":[{"type":"string"},{"type":"string"}],"minItems":0}`, `{"type":"array","items":{"type":"string"},"minItems":0,"maxItems":2}`,
			`{"type":"array","items":{"type":"string"},"description":"minItems: 0, maxItems: 2"}`},
		{`{"type":"array","items":[{"type":"string"}],"additionalItems":{"type":"null"}}`, `{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"null"}]},"minItems":1}`,
			`{"type":"array","items":{"type":"string"},"description":"minItems: 1"}`},
		{`{"type":"array","items":[]}`, `{"type":"array","items":{}}`, `{"type":"array","items":{"type":"string"}}`},
		{`{"type":"array","items":true}`, `{"type":"array","items":{}}`, `{"type":"array","items":{"type":"string"}}`},
		{`{"type":"array","prefixItems":[{"type":"string"}],"items":false}`, `{"type":"array","prefixItems":[{"type":"string"}],"items":{},"maxItems":1}`,
			`{"type":"array","items":{"type":"string"},"description":"minItems: 1, maxItems: 1"}`},
		{`{"type":"array","prefixItems":[{"type":"string"}]}`, `{"type":"array","prefixItems":[{"type":"string"}],"items":{}}`,
			`{"type":"array","items":{"type":"string"},"description":"minItems: 1, maxItems: 1"}`},

		// Parts that JSON Schema 2020-12 does not allow.
		{`{"type":"number","minimum":1,"exclusiveMinimum":true,"exclusiveMaximum":false,"maximum":2}`, `{"type":"number","exclusiveMinimum":1,"maximum":2}`,
			`{"type":"number","description":"exclusiveMinimum: 1, maximum: 2"}`},
		{`{"type":"any"}`, `{}`, `{"type":"string"}`},
		{`{"type":"STRING"}`, `{"type":"string"}`, ""},
		{`{"type":["string","str","string"]}`, `{"type":"string"}`, ""},
		{`{"type":"string","required":true,"title":null,"minLength":"1","maxLength":-1,"uniqueItems":0,"examples":{}}`, `{"type":"string"}`, ""},
		{`{"type":"object","properties":[],"required":["a",1,"a"]}`, `{"type":"object","required":["a"]}`, `{"type":"object"}`},
		{`{"type":"object","properties":{"type":"object","a":true}}`, `{"type":"object","properties":{"type":{},"a":{}}}`,
			`{"type":"object","properties":{"type":{"type":"string"},"a":{"type":"string"}}}`},
		{`{"anyOf":[],"oneOf":["x",{"type":"string"}]}`, `{"oneOf":[{"type":"string"}]}`, `{"type":"string"}`},
		{`{"enum":[]}`, `{}`, `{"type":"string"}`},

		// Values and their type.
		{`{"const":"a"}`, `{"const":"a","type":"string"}`, `{"type":"string","enum":["a"]}`},
		{`{"const":1}`, `{"const":1,"type":"number"}`, `{"type":"number","description":"const: 1"}`},
		{`{"enum":["","a","a",null]}`, `{"enum":["","a",null]}`, `{"type":"string","enum":["a"]}`},
		{`{"type":"integer","enum":[1,2]}`, `{"type":"integer","enum":[1,2]}`, `{"type":"integer","description":"enum: [1,2]"}`},

		// Forms that only some endpoints know.
		{`{"type":["string","number"],"description":"d"}`, `{"type":["string","number"],"description":"d"}`,
			`{"anyOf":[{"type":"string","description":"d"},{"type":"number","description":"d"}]}`},
		{`{"type":"string","nullable":true,"format":"uri"}`, `{"type":"string","nullable":true,"format":"uri"}`, `{"type":"string","description":"format: \"uri\""}`},
		{`{"description":"d","anyOf":[{"type":"string"},{"type":"null"}]}`, `{"description":"d","anyOf":[{"type":"string"},{"type":"null"}]}`, `{"type":"string","description":"d"}`},
		{`{"type":"string","oneOf":[{"const":"a"},{"const":"b"}]}`, `{"type":"string","oneOf":[{"const":"a","type":"string"},{"const":"b","type":"string"}]}`,
			`{"anyOf":[{"type":"string","enum":["a"]},{"type":"string","enum":["b"]}]}`},
		{`{"allOf":[{"$ref":"#/$defs/a"},{"properties":{"y":{"type":"string"}},"required":["y"]}]}`, `{"allOf":[{"$ref":"#/$defs/a"},{"properties":{"y":{"type":"string"}},"required":["y"]}]}`,
			`{"type":"object","properties":{"y":{"type":"string"},"x":{"type":"string"}},"required":["x","y"]}`},
		{`{"$ref":"#/$defs/tree"}`, `{"$ref":"#/$defs/tree"}`, `{"type":"object","properties":{"child":{"type":"string"}}}`},
		{`{"$ref":"#/properties/x/../y"}`, `{"$ref":"#/properties/x/../y"}`, `{"type":"string"}`},
		{`{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","additionalProperties":{"type":"string"}}`,
			`{"type":"object","description":"additionalProperties: {\"type\":\"string\"}"}`},
	} {
		const definitions = `"$defs":{"a":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]},"tree":{"type":"object","properties":{"child":{"$ref":"#/$defs/tree"}}}}`
		if x.plain == "" {
			x.plain = x.usual
		}
		for plain, want := range map[bool]string{false: x.usual, true: x.plain} {
			root := toolSchema(json.RawMessage(`{"type":"object","properties":{"p":`+x.schema+`},`+definitions+`}`), plain)
			if got := gjson.GetBytes(root, "properties.p").Raw; got != want || !json.Valid(root) {
				t.Errorf("%s, plain %t:\ngot  %s\nwant %s", x.schema, plain, got, want)
			}
		}
	}
}

// A small schema can have a plain form without end.
func TestPlainSchemaEnds(t *testing.T) {
	wide := `{}`
	for range 40 {
		wide = `{"anyOf":[{"title":"a"},{"title":"b"}],"items":` + wide + `}`
	}
	items := `{"$ref":"#/$defs/d"}`
	for i := range 2000 {
		items += `,{"$ref":"#/$defs/d","title":"` + strconv.Itoa(i) + `"}`
	}
	for name, schema := range map[string]string{
		"anyOf":      `{"type":"object","properties":{"p":` + wide + `}}`,
		"references": `{"type":"object","properties":{"p":{"type":"array","items":[` + items + `]}},"$defs":{"d":{"description":"` + strings.Repeat("x", 100_000) + `"}}}`,
	} {
		if plain := toolSchema(json.RawMessage(schema), true); len(plain) > 2*maxPlain || !json.Valid(plain) {
			t.Errorf("%s: %d bytes", name, len(plain))
		}
	}
}

func TestNamesOfArguments(t *testing.T) {
	long := "settings__approved__or__denied__countries__or__regions__approved__list"
	tools := []Tool{{Name: "f", Schema: json.RawMessage(`{"type":"object","properties":{"` + long + `":{},"名":{},"ok":{}},"required":["名"]}`)}}
	sent := gjson.ParseBytes(toolSchema(tools[0].Schema, true))
	var names []string
	sent.Get("properties").ForEach(func(name, _ gjson.Result) bool {
		names = append(names, name.Str)
		return true
	})
	if len(names) != 3 || len(names[0]) != maxPropertyName || sent.Get("required.0").Str != names[1] || names[2] != "ok" {
		t.Fatalf("%q in %s", names, sent.Raw)
	}
	calls := []Call{
		{Name: "f", Arguments: []byte(`{"` + names[0] + `":1,"` + names[1] + `":2, "ok":3,"new":4}`)},
		{Name: "f", Arguments: []byte(`{"` + names[0])}, {Name: "f"}, {Name: "g", Arguments: []byte(`{"` + names[0] + `":1}`)},
	}
	want := []string{`{"` + long + `":1,"名":2,"ok":3,"new":4}`, string(calls[1].Arguments), "", string(calls[3].Arguments)}
	originalNames(tools, calls)
	for i, c := range calls {
		if string(c.Arguments) != want[i] {
			t.Errorf("got %s, want %s", c.Arguments, want[i])
		}
	}
}
