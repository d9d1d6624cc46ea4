package stream

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
)

// A schema of another value than an object is the only member of one, and its references lead to
// the same schemas.
func TestObjectSchema(t *testing.T) {
	for _, x := range []struct{ schema, want string }{
		{`{"type":"object"}`, `{"type":"object"}`},
		{`{"type":["object"],"description":"x"}`, `{"type":["object"],"description":"x"}`},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"object","properties":{"b":{"$ref":"#/$defs/a"}}}}}`,
			`{"$defs":{"a":{"type":"object","properties":{"b":{"$ref":"#/$defs/a"}}}},"type":"object","properties":{"b":{"$ref":"#/$defs/a"}}}`},
		{`{"allOf":[{"$ref":"#/definitions/a"}],"definitions":{"a":{"type":"object"}}}`, `{"definitions":{"a":{"type":"object"}},"type":"object"}`},
		{`{"type":"string"}`, wrappedAs(``, `{"type":"string"}`)},
		{`{"type":["object","null"]}`, wrappedAs(``, `{"type":["object","null"]}`)},
		{`true`, wrappedAs(``, `true`)},
		{`{"$schema":"s","$id":"i","type":"array","items":{"$ref":"#/$defs/a"},"$defs":{"a":{"$ref":"i#/$defs/b"},"b":{}}}`,
			wrappedAs(`"$schema":"s","$id":"i","$defs":{"a":{"$ref":"#/$defs/b"},"b":{}},`, `{"type":"array","items":{"$ref":"#/$defs/a"}}`)},
		{`{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/answers"},{"$ref":"/x"}]},"$defs":{"answers":{}}}`,
			wrappedAs(`"$defs":{"answers":{}},`, `{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/answers"},{"$ref":"/x"}]}}`)},
		{`{"type":"array","items":{"$ref":"#/definitions/a"},"definitions":{"a":{"type":"null"}}}`,
			wrappedAs(`"definitions":{"a":{"type":"null"}},`, `{"type":"array","items":{"$ref":"#/definitions/a"}}`)},
		{`{"type":"array","items":{"anyOf":[{"$ref":"#"},{"$ref":"#/items"},{"$ref":"#name"},{"$id":"x","$ref":"#"}]}}`,
			wrappedAs(`"$defs":{"answer":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/answer"},{"$ref":"#/$defs/answer/items"},{"$ref":"#name"},{"$id":"x","$ref":"#"}]}}},`, `{"$ref":"#/$defs/answer"}`)},
		{`{"type":"array","items":{"$ref":"#"},"$defs":{"answer":{"const":{"$ref":"#"}},"x":{"properties":{"$ref":{"type":"null"}}}}}`,
			wrappedAs(`"$defs":{"answer":{"const":{"$ref":"#"}},"x":{"properties":{"$ref":{"type":"null"}}},"answer_":{"type":"array","items":{"$ref":"#/$defs/answer_"}}},`, `{"$ref":"#/$defs/answer_"}`)},
	} {
		got := objectSchema([]byte(x.schema))
		if string(got) != x.want || !json.Valid(got) {
			t.Errorf("%s\n%s\nwant\n%s", x.schema, got, x.want)
		}
	}
}

func wrappedAs(before, schema string) string {
	return `{` + before + `"type":"object","properties":{"answer":` + schema + `},"required":["answer"],"additionalProperties":false}`
}

func TestUnwrapped(t *testing.T) {
	for _, x := range []struct{ schema, text, asked, unasked string }{ // "": the text itself
		{`{"type":"object"}`, `{"answer":1}`, ``, ``},
		{`{"type":"array"}`, ` {"answer": [1.0] } `, `[1.0]`, `[1.0]`},
		{`{"type":["array","null"]}`, `{"rivers":[1]}`, `[1]`, `[1]`},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"array"}}}`, `{"rivers":[1]}`, `[1]`, `[1]`},
		{`{"type":["array","object"]}`, `{"rivers":[1]}`, ``, ``},
		{`{"type":["array","object"]}`, `{"\u0061nswer":[1]}`, `[1]`, ``},
		{`{"anyOf":[{"type":"array"}]}`, `{"answer":[1]}`, `[1]`, ``},
		{`true`, `{"answer":[1]}`, `[1]`, ``},
		{`{"type":"array"}`, `{"a":1,"b":2}`, ``, ``},
		{`{"type":"array"}`, `{"answer":1,"answer":2}`, ``, ``},
		{`{"type":"array"}`, `[1]`, ``, ``},
		{`{"type":"array"}`, `{"answer":`, ``, ``},
	} {
		for asked, want := range map[bool]string{true: x.asked, false: x.unasked} {
			if got := string(Unwrapped(json.RawMessage(x.schema), asked, []byte(x.text))); got != cmp.Or(want, x.text) {
				t.Errorf("%s %s, asked %t: %s", x.schema, x.text, asked, got)
			}
		}
	}
}

// The steps after refusals of the form, until nothing is left. What was not sent is no step.
func TestFormSteps(t *testing.T) {
	object, list := `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`, `{"type":"array","items":{"type":"string"}}`
	optional := `{"type":"object","properties":{"n":{"type":"integer"}}}`
	for _, x := range []struct {
		schema, refusal string
		openAI          bool
		want            string
	}{
		{object, "invalid schema", false, "strict, schema | schema | json | none"},
		{object, "response_format is not supported", false, "strict, schema | json | none"},
		{object, "invalid schema: not an object", false, "strict, schema | schema | json | none"},
		{list, "invalid schema: not an object", false, "strict, schema | strict, object | object | json | none"},
		{list, `{"object":"error","message":"invalid schema; json_object is known"}`, false, "strict, schema | schema | json | none"},
		{list, "invalid schema: not an object", true, "strict, object | object | json | none"},
		{optional, "invalid schema", true, "schema | json | none"},
		{optional, "invalid schema", false, "strict, schema | schema | json | none"},
	} {
		r, o := &Request{Schema: json.RawMessage(x.schema)}, options{isOpenAI: x.openAI}
		var all []string
		for {
			format := string(answerFormat(r, o, "", ""))
			words := strings.ReplaceAll(strings.ReplaceAll(format, `"strict":true,`, "strict, "), `{"type":"json_object"}`, "json")
			if before, _, ok := strings.Cut(words, `"schema":`); ok {
				words = before + "schema"
				if strings.Contains(format, `"answer"`) {
					words = before + "object"
				}
			}
			if words == "" {
				words = "none"
			}
			all = append(all, words)
			if firstNeeded(chatDialect.formRepairs(&o, r, readRefusal(400, []byte(x.refusal)), FormRefused)...) == "" {
				break
			}
		}
		if got := strings.Join(all, " | "); got != x.want {
			t.Errorf("%s, %s, %t: %s, want %s", x.schema, x.refusal, x.openAI, got, x.want)
		}
	}
}
