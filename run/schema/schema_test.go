package schema

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func compile(t *testing.T, text string) *Schema {
	t.Helper()
	s, err := Compile([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

// Each fault has the place in the value and the keyword, all of them are found,
// and no long value is printed whole.
func TestFaults(t *testing.T) {
	const tree = `{"$id":"https://x.example/tree","type":"object","required":["name"],"properties":{"name":{"type":"string","maxLength":5},
		"children":{"type":"array","items":{"$ref":"#"}}},"additionalProperties":false}`
	long := strings.Repeat("x", 5000)
	for _, test := range []struct{ schema, value, want string }{
		{tree, `{"name":"a","children":[{"name":"b"}]}`, ``},
		{tree, `{"name":1,"children":[{"name":"b"},{"nam":"c"},{"name":"toolong","children":[7]}]}`,
			`/children/1/nam: additionalProperties: is none of children, name; /children/1: required: missing properties: ["name"]; ` +
				`/children/2/children/0: type: has type "integer", want "object"; ` +
				`/children/2/name: maxLength: contains 7 Unicode code points, more than 5; /name: type: has type "integer", want "string"`},
		{tree, `not json`, `(the whole): is not JSON: `},
		{`{"properties":{"a":{"type":"string"}}}`, `{"a":1,"a":"x"}`, `(the whole): is not JSON: duplicate key "a"`}, // readers differ on which of them counts
		{`{"$ref":"#/definitions/a","definitions":{"a":{"$ref":"#/definitions/b~1c"},"b/c":{"enum":["x","y"]}},"$schema":"http://json-schema.org/draft-07/schema"}`,
			`"z"`, `(the whole): enum: is none of ["x","y"]`},
		{`{"allOf":[{"properties":{"a":{"minimum":3}}},{"properties":{"b":{"pattern":"^x"}}}]}`, `{"a":1,"b":"y"}`,
			`/a: minimum: is less than 3; /b: pattern: does not match regular expression "^x"`},
		{`{"prefixItems":[{"type":"null"}],"items":{"const":2},"minItems":9}`, `[1,2,3]`,
			`/0: type: has type "integer", want "null"; /2: const: is not 2; (the whole): minItems: `},
		{`{"patternProperties":{"^a":{"type":"string"}},"additionalProperties":{"type":"number"}}`, `{"ab":1,"b/c":"x"}`,
			`/ab: type: has type "integer", want "string"; /b~1c: type: has type "string", want "number"`},
		{`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"oneOf":[{"type":"number"},{"type":"integer"}]},"c":{"not":{"type":"null"}},"d":false}}`,
			`{"a":1,"b":1,"c":null,"d":1}`,
			`/a: anyOf: fits none of the alternatives; /b: oneOf: fits more than one of the alternatives; /c: not: is what the schema excludes; /d: false: nothing is allowed here`},
		{`{"properties":{"a":{}},"unevaluatedProperties":false}`, `{"a":1,"b":2}`, `/b: false: nothing is allowed here`},
		{`{"properties":{"a":{"type":"number"}}}`, `{"a":"` + long + `"}`, `/a: type: has type "string", want "number"`},
		{`{"propertyNames":{"maxLength":9}}`, `{"` + long + `":1}`, `(the whole): maxLength: contains 5000 Unicode`},
		{`{"enum":["` + long + `"]}`, `1`, ` … `},
		{`{"enum":[9007199254740991,0.5]}`, `9007199254740991`, ``},
		{`{"type":"integer","maximum":9007199254740991}`, `9007199254740993`, `maximum`},
		{`{"enum":[9007199254740993]}`, `9007199254740992`, `enum`},
		{`{"enum":[1e2,{"a":1,"b":2}]}`, `100.0`, ``},
		{`{"enum":[1e2,{"a":1,"b":2}]}`, `{"b":2,"a":1.0}`, ``},
		{`{"multipleOf":0.01}`, `4.35`, ``},
		{`{"multipleOf":0.01}`, `4.351`, `(the whole): multipleOf: is not a multiple of 0.01`},
		{`{"type":"integer"}`, `1e999999999`, ``},
		{`{"uniqueItems":true}`, `[{"a":1},"1",1,{"a":1.0}]`, `uniqueItems: the elements 0 and 3 are equal`},
		{`{"contains":{"type":"string"},"minContains":2}`, `["a",1]`, `minContains: contains 1 elements that fit, fewer than 2`},
		{`{"multipleOf":1.5}`, `4.25`, `multipleOf`},
		{`true`, `1`, ``},
		{`false`, `1`, `(the whole): false: nothing is allowed here`},
	} {
		faults, err := compile(t, test.schema).Check([]byte(test.value))
		got := Text(faults)
		if err != nil || (got == "") != (test.want == "") || !strings.Contains(got, test.want) || len(got) > 600 {
			t.Errorf("%s\n%.200s\n got %s, %v\nwant %s", test.schema, test.value, got, err, test.want)
		}
	}
	faults, err := compile(t, `{"items":{"type":"string"}}`).Check([]byte("[" + strings.Repeat("1,", 5000) + "1]"))
	if len(faults) != maxFaults || err != nil {
		t.Errorf("%d faults, %v", len(faults), err)
	}
}

// Keywords that are not checked are named, and they reject nothing.
func TestUnchecked(t *testing.T) {
	s := compile(t, `{"properties":{"a":{"type":"string","format":"date","pattern":"(?=x)y"},"b":{"multipleOf":0.5,"nullable":true,"x-hint":1}}}`)
	want := `["format at /properties/a" "nullable at /properties/b" "pattern at /properties/a"]`
	if got := fmt.Sprintf("%q", s.Unchecked); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if faults, err := s.Check([]byte(`{"a":"z","b":1.5}`)); len(faults) > 0 || err != nil {
		t.Errorf("%v, %v", faults, err)
	}
}

// Patterns that compile to much are compiled only until they are too much together.
func TestLargePatterns(t *testing.T) {
	text := `{"allOf":[{}`
	for i := range 5000 {
		text += fmt.Sprintf(`,{"pattern":"(?:x%d){999}"}`, i)
	}
	s := compile(t, text+`]}`)
	if all := len(s.patterns) + len(s.Unchecked); len(s.patterns) > 200 || all != 5000 {
		t.Errorf("of %d patterns %d are checked", all, len(s.patterns))
	}
}

// What cannot be checked rightly is not checked at all, and nothing is fetched.
func TestNotCompiled(t *testing.T) {
	for _, text := range []string{
		`{"not":{"pattern":"(?=x)y"}}`, `{"$dynamicAnchor":"x","properties":{"a":{"$dynamicRef":"#x"}}}`, `{"multipleOf":0}`, `{"type":"text"}`, `{"enum":1}`, `{"properties":[]}`, `{"allOf":{}}`, `{"dependentRequired":{"a":[1]}}`, `{"patternProperties":{"(?=x)":{}}}`,
		`{"$ref":"https://schema.example/x.json"}`, `{"$ref":"file:///etc/passwd"}`, `{"$ref":"other.json"}`, `{"$ref":"#/nowhere"}`,
		`{"$schema":"http://json-schema.org/draft-04/schema#","exclusiveMinimum":true}`, `{"type":5}`, `{"required":true}`, `[]`, `{`, ``, `{"minLength":1e99}`,
		strings.Repeat(`{"items":`, 200) + "1" + strings.Repeat(`}`, 200), `{"title":"` + strings.Repeat("x", maxText) + `"}`,
	} {
		if s, err := Compile([]byte(text)); err == nil {
			t.Errorf("%.100s was compiled: %q", text, s.Unchecked)
		}
	}
}

// A mistake in a schema is told apart from what is not checked, and the message
// speaks of the schema.
func TestMalformed(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"any"}`: `type at (the whole): there is no type "any"`, `{"properties":{"a":{"type":["string","int"]}}}`: `type at /properties/a: there is no type "int"`,
		`{"type":[]}`: "type at (the whole) cannot be []", `{"required":"name"}`: `required at (the whole) cannot be "name"`,
		`{"properties":{"a":{"properties":[]}}}`: "properties at /properties/a cannot be []", `{"items":3}`: "the value at /items is no schema",
		`{"$ref":"#n","$defs":{"a":{"$anchor":"n","type":"object"},"b":{"$dynamicAnchor":"n","type":"string"}}}`:                                              `$dynamicAnchor "n" appears at /$defs/a and at /$defs/b`,
		`{"$ref":"n","$defs":{"a":{"$id":"n","type":"object"},"b":{"$id":"./n","type":"string"}}}`:                                                            `$id "./n" appears at /$defs/a and at /$defs/b`,
		`{"$id":"https://x.test/n","not":{"$id":"n"}}`:                                                                                                        `$id "n" appears at (the whole) and at /not`,
		`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#n","definitions":{"a":{"$id":"#n","type":"object"},"b":{"$id":"#n","type":"string"}}}`: `$id "#n" appears at /definitions/a and at /definitions/b`,
		`{"minLength":1.5}`: "minLength at (the whole) cannot be 1.5", `[]`: "the value at (the whole) is no schema",
	} {
		_, err := Compile([]byte(text))
		if !errors.Is(err, ErrMalformed) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	// The same name in two resources, and two names of one schema, are right; so is the
	// place as a name, as some generators write it.
	compile(t, `{"$ref":"#/$defs/b","$defs":{"a":{"$id":"#/$defs/a"},"b":{"$id":"#/$defs/b"}}}`)
	compile(t, `{"$ref":"#n","$anchor":"n","$dynamicAnchor":"n","$defs":{"a":{"$id":"a","$anchor":"n"},"b":{"$id":"b","$anchor":"n"}}}`)
	for _, text := range []string{`{"$schema":"http://json-schema.org/draft-04/schema#","exclusiveMinimum":true}`, `{"$ref":"other.json"}`, `{"patternProperties":{"(?=x)":{}}}`} {
		if _, err := Compile([]byte(text)); err == nil || errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A schema of a stranger uses up neither the stack nor, as the time of the test shows, more
// steps than a check has.
func TestHostileSchemas(t *testing.T) {
	double := `{"$defs":{"z":{}`
	for i := range 60 {
		next := fmt.Sprint("#/$defs/a", i+1)
		if i == 59 {
			next = "#/$defs/z"
		}
		double += fmt.Sprintf(`,"a%d":{"allOf":[{"$ref":%q},{"$ref":%q}]}`, i, next, next)
	}
	array, object := "[0", `{"k":0`
	for i := range 10_000 {
		array += fmt.Sprint(",", i)
		object += fmt.Sprintf(`,"a%d":0`, i)
	}
	array, object = array+"]", object+"}"
	wide := `{"anyOf":[` + strings.Repeat(`{"type":"null"},`, 4_000) + `{}]}`
	for name, test := range map[string]struct{ schema, value string }{
		"loop":           {`{"$ref":"#"}`, `1`},
		"long loop":      {`{"$ref":"#/$defs/a","$defs":{"a":{"allOf":[{"$ref":"#/$defs/b"}]},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`, `1`},
		"loop of ids":    {`{"$id":"https://a.example/","$ref":"https://a.example/"}`, `1`},
		"loop of names":  {`{"$dynamicAnchor":"x","$dynamicRef":"#x"}`, `1`},
		"loop below":     {`{"properties":{"a":{"not":{"$ref":"#/properties/a"}}}}`, `{"a":1}`},
		"doubling":       {double + `},"$ref":"#/$defs/a0"}`, `1`},
		"doubling below": {`{"allOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, strings.Repeat(`{"a":`, 60) + "1" + strings.Repeat("}", 60)},
		"wide":           {wide, `["` + strings.Repeat("x", 1<<18) + `"]`},
		"long array":     {`{"allOf":[` + strings.Repeat(`{},`, 100_000) + `false]}`, array},
		"many patterns":  {`{"patternProperties":{"k":false` + strings.ReplaceAll(object[len(`{"k":0`):], ":0", ":{}") + `}`, object},
		"long text":      {`{"allOf":[` + strings.Repeat(`{"pattern":"(a|b|ab|ba)*c[^x]*d$"},`, 10_000) + `false]}`, `"` + strings.Repeat("ab", 100_000) + `"`},
		"deep value":     {`{"items":{"$ref":"#"}}`, strings.Repeat("[", 5000) + strings.Repeat("]", 5000)},
		"huge number":    {`{"multipleOf":3}`, `1e999999999`},
		"unique":         {`{"uniqueItems":true}`, "[" + strings.Repeat("[1],[1,2],", 2_000) + "1]"},
	} {
		s, err := Compile([]byte(test.schema))
		var faults []Fault
		if err == nil {
			faults, err = s.Check([]byte(test.value))
		}
		if err == nil && len(faults) == 0 {
			t.Errorf("%s: the value fits", name)
		}
	}
}

// A list of thousands of values is checked.
func TestLargeValue(t *testing.T) {
	s := compile(t, `{"type":"array","items":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`)
	value := "[" + strings.Repeat(`{"n":1},`, 5_000) + `{"n":"x"}]`
	if faults, err := s.Check([]byte(value)); err != nil || Text(faults) != `/5000/n: type: has type "string", want "integer"` {
		t.Errorf("%v, %v", faults, err)
	}
}

// An object of many members, of which a schema names each, is checked with the steps
// that a check has.
func TestManyMembers(t *testing.T) {
	const most = 50_000
	value, names, needs := []byte("{"), []byte("["), []byte("{")
	for i := range most {
		value = fmt.Appendf(value, `"n%05d":0,`, i)
		names = fmt.Appendf(names, `"n%05d",`, i)
		needs = fmt.Appendf(needs, `"n%05d":["n00000"],`, i)
	}
	value = append(value[:len(value)-1], '}')
	for _, schema := range []string{
		`{"required":` + string(names) + `"none"]}`,
		`{"dependentRequired":` + string(needs[:len(needs)-1]) + `,"n00001":["none"]}}`,
	} {
		faults, err := compile(t, schema).Check(value)
		if err != nil || !strings.Contains(Text(faults), `missing properties: ["none"]`) {
			t.Errorf("%.20s: %v, %v", schema, faults, err)
		}
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(`{"properties":{"a":{"$ref":"#"}},"additionalProperties":false}`, `{"a":{"b":1}}`)
	f.Add(`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"not":{}}],"dependencies":{"a":["b"],"c":{"minimum":1}}}`, `[1,{"a":"x"}]`)
	f.Fuzz(func(t *testing.T, schema, value string) {
		s, err := Compile([]byte(schema))
		if err != nil {
			return
		}
		faults, err := s.Check([]byte(value))
		if len(faults) > maxFaults || err != nil && len(faults) > 0 {
			t.Errorf("%q, %v", faults, err)
		}
	})
}

// A call of a tool is checked before it is made, and again before it is sent.
func BenchmarkCheck(b *testing.B) {
	s, err := Compile([]byte(`{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"integer","minimum":1}},"required":["path"]}`))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s.Check([]byte(`{"path":"a/b.txt","limit":10}`))
	}
}
