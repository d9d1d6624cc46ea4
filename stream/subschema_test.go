package stream

import (
	"encoding/json"
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
		{`{"type":"object"}`, "", ""},
		{`{"type":"object","additionalProperties":false}`, `{"type":"object","additionalProperties":false}`, `{"type":"object","additionalProperties":false}`},
		{`{"type":"object","additionalProperties":{"type":"integer"}}`, "", ""},
		{`{"type":"object","properties":{"x":{}},"required":["x"]}`, "", ""},
		{`{"type":"object","properties":{},"required":["x"]}`, "", ""},
		{`{"type":"array","items":{"enum":["a","b"]},"minItems":1,"maxItems":3}`, `{"type":"array","minItems":1,"items":{"enum":["a","b"]},"description":"maxItems: 3"}`, ""},
		{`{"type":"array"}`, "", ""},
		{`{"type":"array","items":true}`, "", ""},
		{`true`, "", ""},
		{`{"oneOf":[{"type":"string"},{"type":"null"}]}`, `{"anyOf":[{"type":"string"},{"type":"null"}]}`, ""},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"required":["a"],"$defs":{"t":{"type":"object","properties":{"b":{"const":1}},"required":["b"]}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"required":["a"],"additionalProperties":false,"$defs":{"t":{"type":"object","properties":{"b":{"const":1}},"required":["b"],"additionalProperties":false}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/t"}},"required":["a"],"additionalProperties":false,"$defs":{"t":{"type":"object","properties":{"b":{"const":1}},"required":["b"],"additionalProperties":false}}}`},
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

// TestDeep: a schema that nests or refers very much takes no long time.
func TestDeepSchema(t *testing.T) {
	deep := strings.Repeat(`{"type":"array","items":`, 10000) + "{}" + strings.Repeat("}", 10000)
	var wide strings.Builder
	for i := range 40 {
		wide.WriteString(`,"` + string(rune('a'+i)) + `":{"anyOf":[{"$ref":"#/$defs/` + string(rune('b'+i)) + `"},{"$ref":"#/$defs/` + string(rune('b'+i)) + `"}]}`)
	}
	wide.WriteString(`,"` + string(rune('a'+40)) + `":{"type":"null"}`)
	for _, schema := range []string{deep, `{"$ref":"#/$defs/a","$defs":{` + wide.String()[1:] + `}}`} {
		anthropicPart.of([]byte(schema))
	}
}
