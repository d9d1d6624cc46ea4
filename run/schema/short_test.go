package schema

import (
	"strings"
	"testing"
)

func TestShort(t *testing.T) {
	const closed = `,"additionalProperties":false}`
	for text, want := range map[string]string{
		"name, length_km number, note: one sentence": `{"type":"object","properties":{"name":{"type":"string"},"length_km":{"type":"number"},"note":{"type":"string","description":"one sentence"}},` +
			`"required":["name","length_km","note"]` + closed,
		"a int,b float ,c bool, d str: the \"last\": really": `{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"number"},"c":{"type":"boolean"},` +
			`"d":{"type":"string","description":"the \"last\": really"}},"required":["a","b","c","d"]` + closed,
		"[] z, a int":                   `{"type":"array","items":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}},"required":["z","a"]` + closed + "}",
		"[]größe-1":                     `{"type":"array","items":{"type":"object","properties":{"größe-1":{"type":"string"}},"required":["größe-1"]` + closed + "}",
		"\n  a:\r\n\n b int: x, y, z\n": `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer","description":"x, y, z"}},"required":["a","b"]` + closed,
		"a,\nb bool,\n":                 `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"boolean"}},"required":["a","b"]` + closed,
		"a,, b,":                        `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"required":["a","b"]` + closed,
	} {
		got, err := FromShort(text)
		if !IsShort(text) || err != nil || string(got) != want {
			t.Errorf("%q: %v\n got %s\nwant %s", text, err, got, want)
			continue
		}
		if s := compile(t, string(got)); s.Unchecked != nil {
			t.Errorf("%q: not checked: %q", text, s.Unchecked)
		}
	}
	for text, want := range map[string]string{
		"name, age integr":         `"age integr": there is no type "integr"`,
		"two words long, a":        `"two words long": only a name and a type`,
		"a, b/c":                   `"b/c": a member begins with a name`,
		"a, : b":                   `": b": a member begins with a name`,
		"1st int":                  `"1st int": a member begins with a name`,
		"a, b, a int":              `the name "a" appears twice`,
		"a, b\nc":                  `"a, b": a member begins with a name`, // one line, or one member a line
		"[] ":                      "it names no member",
		" , ":                      "it names no member",
		strings.Repeat("x ", 9999): "only a name and a type",
	} {
		if got, err := FromShort(text); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 400 {
			t.Errorf("%q: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"schema.json", "name", "./a-b", ""} {
		if IsShort(text) {
			t.Errorf("%q is the name of a file", text)
		}
	}
}
