package stream

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// TestOf: what a provider does not know is in a description, objects are closed, and what
// cannot be said so is said.
func TestSchemaPart(t *testing.T) {
	for _, x := range []struct{ schema, anthropic, openAI string }{ // "": there is none
		{`{"type":"object","properties":{"n":{"type":"integer","minimum":0}},"required":["n"]}`,
			`{"type":"object","properties":{"n":{"type":"integer","description":"minimum: 0"}},"required":["n"],"additionalProperties":false}`,
			`{"type":"object","properties":{"n":{"type":"integer","minimum":0}},"required":["n"],"additionalProperties":false}`},
		{`{"type":"object","properties":{"a":{"type":"string","description":"A name.","maxLength":5,"format":"email"},"b":{"type":["string","null"],"format":"x"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","format":"email","description":"A name.\nmaxLength: 5"},"b":{"type":["string","null"],"description":"format: \"x\""}},"additionalProperties":false}`, ""},
		// A member that may be left out is required if it may be null.
		{`{"type":"object","properties":{"a":{"type":["string","null"],"default":null},"b":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"integer"}],"default":5}},"required":["b"],"$defs":{"n":{"type":"null"}}}`,
			`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"default":5,"anyOf":[{"$ref":"#/$defs/n"},{"type":"integer"}]}},"required":["b"],"additionalProperties":false,"$defs":{"n":{"type":"null"}}}`,
			`{"type":"object","properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"integer"}],"description":"default: 5"}},"required":["a","b"],"additionalProperties":false,"$defs":{"n":{"type":"null"}}}`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"enum":["x",null]}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"additionalProperties":false,"$defs":{"n":{"enum":["x",null],"type":["string","null"]}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"}},"required":["a"],"additionalProperties":false,"$defs":{"n":{"enum":["x",null],"type":["string","null"]}}}`},
		{`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x"]}}}`,
			`{"type":"object","properties":{"a":{"type":["string","null"],"enum":["x"]}},"additionalProperties":false}`, ""},
		{`{"type":"object","properties":{"a":{"oneOf":[{"type":"null"},{"type":["null","string"]}]}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"null"},{"type":["null","string"]}]}},"additionalProperties":false}`, ""},
		// The values of an enum.
		{`{"type":"object","properties":{"a":{"enum":["x",1]}},"required":["a"]}`,
			`{"type":"object","properties":{"a":{"enum":["x",1],"type":["string","number"]}},"required":["a"],"additionalProperties":false}`, ""},
		{`{"type":"object","properties":{"a":{"enum":[{"b":1}]}},"required":["a"]}`, "", ""},
		{`{"type":"object","properties":{"a":{"type":"array","const":[]}},"required":["a"]}`, "", ""},
		// The keywords next to a reference.
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/t","description":"mine"},"b":{"allOf":[{"$ref":"#/$defs/t"}],"title":"B"}},"required":["a","b"],"$defs":{"t":{"type":"string","description":"its"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"mine"},"b":{"title":"B","type":"string","description":"its"}},"required":["a","b"],"additionalProperties":false,"$defs":{"t":{"type":"string","description":"its"}}}`,
			`{"type":"object","properties":{"a":{"type":"string","description":"mine"},"b":{"title":"B","type":"string","description":"its"}},"required":["a","b"],"additionalProperties":false,"$defs":{"t":{"type":"string","description":"its"}}}`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/t","title":"T"}},"required":["a"],"$defs":{"t":{"type":"object","properties":{"n":{"$ref":"#/$defs/t","title":"N"}},"required":["n"]}}}`, "",
			`{"type":"object","properties":{"a":{"title":"T","type":"object","properties":{"n":{"$ref":"#/$defs/t"}},"required":["n"],"additionalProperties":false}},"required":["a"],"additionalProperties":false,"$defs":{"t":{"type":"object","properties":{"n":{"title":"N","type":"object","properties":{"n":{"$ref":"#/$defs/t"}},"required":["n"],"additionalProperties":false}},"required":["n"],"additionalProperties":false}}}`},
		// Objects that are open, or have two lists of members.
		{`{"type":"object","properties":{"a":{"type":"null"}},"required":["a"],"additionalProperties":true}`, "", ""},
		{`{"type":"object","properties":{"a":{"type":"null"}},"required":["a"],"patternProperties":{"b":{"type":"null"}}}`, "", ""},
		{`{"type":"object","properties":{"a":{"type":"null"}},"required":["a"],"anyOf":[{"type":"object","properties":{"b":{"type":"null"}}}]}`, "", ""},
		{`{"type":"object","properties":{"x":{"anyOf":[{"type":"null"}],"oneOf":[{"type":"null"}]}},"required":["x"]}`, "", ""},
		{`{"type":"object","properties":{"x":{"type":"array","prefixItems":[{"type":"null"}],"items":{"type":"string"}}},"required":["x"]}`, "", ""},
		{`{"type":"object"}`, "", ""},
		{`{"type":"object","additionalProperties":false}`, `{"type":"object","properties":{},"additionalProperties":false}`, `{"type":"object","properties":{},"required":[],"additionalProperties":false}`},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, "", ""},
		{`{"type":"object","properties":{"x":{}},"required":["x"]}`, "", ""},
		{`{"type":"object","properties":{},"required":["x"]}`, "", ""},
		{`{"type":"array","items":{"enum":["a","b"]},"minItems":1,"maxItems":3}`, `{"type":"array","minItems":1,"items":{"enum":["a","b"],"type":"string"},"description":"maxItems: 3"}`, ""},
		{`{"type":"array"}`, "", ""},
		{`{"type":"array","items":true}`, "", ""},
		{`true`, "", ""},
		{`{"oneOf":[{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, ""},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"required":["a"],"$defs":{"t":{"type":"object","properties":{"b":{"const":1}},"required":["b"]}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"required":["a"],"additionalProperties":false,"$defs":{"t":{"type":"object","properties":{"b":{"const":1,"type":"number"}},"required":["b"],"additionalProperties":false}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"required":["a"],"additionalProperties":false,"$defs":{"t":{"type":"object","properties":{"b":{"const":1,"type":"number"}},"required":["b"],"additionalProperties":false}}}`},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"required":["a"],"$defs":{"t":{"type":"array","items":{"$ref":"#/$defs/t"}}}}`, "",
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"required":["a"],"additionalProperties":false,"$defs":{"t":{"type":"array","items":{"$ref":"#/$defs/t"}}}}`},
		{`{"type":"object","properties":{"a":{"$ref":"https://example.com/x"}},"required":["a"]}`, "", ""},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/none"}},"required":["a"]}`, "", ""},
		{`{"type":"object","properties":{"type":{"type":"string"},"$ref":{"type":"string"}},"required":["type","$ref"]}`,
			`{"type":"object","properties":{"type":{"type":"string"},"$ref":{"type":"string"}},"required":["type","$ref"],"additionalProperties":false}`,
			`{"type":"object","properties":{"type":{"type":"string"},"$ref":{"type":"string"}},"required":["type","$ref"],"additionalProperties":false}`},
	} {
		for p, want := range map[*schemaPart]string{&anthropicPart: x.anthropic, &openAIPart: x.openAI} {
			got, ok := p.of([]byte(x.schema))
			if ok != (want != "") || ok && string(got) != want {
				t.Errorf("%s: %v\n%s\nwant\n%s", x.schema, ok, got, want)
			}
			if ok && !json.Valid(got) {
				t.Errorf("%s is no JSON", got)
			}
		}
	}
}

// TestSchemaLimits: a schema that is larger than OpenAI takes is not sent in strict mode.
func TestSchemaLimits(t *testing.T) {
	member := func(schema string) string {
		return `{"type":"object","properties":{"a":` + schema + `},"required":["a"]}`
	}
	object := func(names int, value string) string {
		var all, required []string
		for i := range names {
			name := fmt.Sprintf("%q", fmt.Sprint("n", i))
			all, required = append(all, name+":"+value), append(required, name)
		}
		return `{"type":"object","properties":{` + strings.Join(all, ",") + `},"required":[` + strings.Join(required, ",") + `]}`
	}
	values := func(n, size int) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`"%0*d"`, size, i))
		}
		return `{"type":"string","enum":[` + strings.Join(all, ",") + `]}`
	}
	nested := func(n int) string {
		schema := `{"type":"string"}`
		for range n {
			schema = member(schema)
		}
		return schema
	}
	for _, x := range []struct {
		what, fits, larger string
	}{
		{"levels", nested(10), nested(11)},
		{"levels of arrays", member(strings.Repeat(`{"type":"array","items":`, 9) + `{"type":"null"}` + strings.Repeat("}", 9)),
			member(strings.Repeat(`{"type":"array","items":`, 10) + `{"type":"null"}` + strings.Repeat("}", 10))},
		{"properties", object(5000, `{"type":"null"}`), object(5001, `{"type":"null"}`)},
		{"values", object(5, values(200, 3)), object(5, values(201, 3))},
		{"text", object(1, `{"type":"string","const":"`+strings.Repeat("é", 119_998)+`"}`), object(1, `{"type":"string","const":"`+strings.Repeat("é", 119_999)+`"}`)},
		{"text of many values", object(1, values(251, 59)), object(1, values(251, 60))},
		{"text of not so many", object(1, values(250, 400)), object(1, values(250, 500))},
	} {
		if _, ok := openAIPart.of([]byte(x.fits)); !ok {
			t.Errorf("%s: what fits does not", x.what)
		}
		if _, ok := openAIPart.of([]byte(x.larger)); ok {
			t.Errorf("%s: what is larger fits", x.what)
		}
	}
}

// TestDeep: a schema that nests or refers very much takes no long time.
func TestDeepSchema(t *testing.T) {
	deep := strings.Repeat(`{"type":"array","items":`, 10000) + "{}" + strings.Repeat("}", 10000)
	var wide strings.Builder
	for i := range 40 {
		wide.WriteString(`,"` + string(rune('a'+i)) + `":{"anyOf":[{"$ref":"#/$defs/` + string(rune('b'+i)) + `"},{"$ref":"#/$defs/` + string(rune('b'+i)) + `"}]}`)
	}
	wide.WriteString(`,"` + string(rune('a'+40)) + `":{"type":"null"}`)
	titled := strings.ReplaceAll(wide.String()[1:], `"}`, `","title":"x"}`)
	for _, schema := range []string{
		deep, `{"$ref":"#/$defs/a","$defs":{` + wide.String()[1:] + `}}`, `{"$ref":"#/$defs/a","$defs":{` + titled + `}}`,
		`{"type":"object","properties":{"x":{"$ref":"#/$defs/a"}},"$defs":{` + wide.String()[1:] + `}}`,
	} {
		anthropicPart.of([]byte(schema))
		openAIPart.of(objectSchema([]byte(schema)))
	}
}
