package document

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
	"testing"
	"time"
	"toolpipe/stream/text/jsontext"
)

// build makes of a value what encoding/json makes of it.
func build(v Value) any {
	switch v.Kind() {
	case '{':
		m := map[string]any{}
		for _, f := range v.Members() {
			m[f.Key] = build(f.Value)
		}
		return m
	case '[':
		a := []any{}
		for _, e := range v.Elements() {
			a = append(a, build(e))
		}
		return a
	case '"':
		return v.Text()
	}
	if v.Kind() == '0' {
		return json.Number(v.Raw())
	}
	var x any
	json.Unmarshal(v.Raw(), &x)
	return x
}

var documents = []string{
	`{}`, `[]`, ` {"a" : [ 1 , 2.5e3,-0, true,false , null ] , "b\n\u0041":{"c":"\"}]"} } `, `"x"`, `1`, ` null `,
	`[[[]],{"a":{}}]`, `{"":""}`, "{\r\n\"a\"\t:\n1\n}", `["\\","\\\"",""]`,
}

func TestDocument(t *testing.T) {
	for _, d := range documents {
		if !checkDocument(t, []byte(d)) {
			t.Errorf("%q is refused", d)
		}
	}
	for _, d := range []string{``, ` `, `{`, `{}{}`, `{"a":1,"a":2}`, `{"a":1,}`, `[1 2]`, `{a:1}`, `01`, `"\ud800"`, "\"\xff\"", `nul`, "\"\n\""} {
		if checkDocument(t, []byte(d)) {
			t.Errorf("%q is accepted", d)
		}
	}
}

// checkDocument holds that data is read as encoding/json reads it, if at all.
func checkDocument(t *testing.T, data []byte) (accepted bool) {
	v, err := Parse("x.json", data)
	if err != nil {
		return false
	}
	var want any
	r := json.NewDecoder(bytes.NewReader(data))
	r.UseNumber()
	if err := r.Decode(&want); err != nil {
		t.Fatalf("%q was accepted, but: %v", data, err)
	}
	if got := build(v); !reflect.DeepEqual(got, want) {
		t.Errorf("%q: %#v, want %#v", data, got, want)
	}
	return true
}

// FuzzDocument: the walk sees what encoding/json sees.
func FuzzDocument(f *testing.F) {
	for _, d := range documents {
		f.Add([]byte(d))
	}
	f.Fuzz(func(t *testing.T, data []byte) { checkDocument(t, data) })
}

func TestDocumentLines(t *testing.T) {
	v, err := Parse("x.json", []byte("{\n\"a\": 1,\n  \"b\": 2\n}"))
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := v.Get("b"); b.line() != 3 || b.Origin() != "x.json:3" {
		t.Errorf("line %d", b.line())
	}
}

func TestWithoutComments(t *testing.T) {
	for in, want := range map[string]string{
		"{\"a\":1} // end":                   "{\"a\":1}       ",
		"/* a\n b */[1]":                     "    \n     [1]",
		`{"a":[1,2,],}`:                      `{"a":[1,2 ] }`,
		"[1, // one\n]":                      "[1        \n]",
		"[1 /* , */ , /* x */]":              "[1                  ]",
		`["// no","/* no */",",]","\",]"]`:   `["// no","/* no */",",]","\",]"]`,
		"\ufeff{}":                           "   {}",
		`[,]`:                                `[,]`,
		`[1,,]`:                              `[1,,]`,
		`{,}`:                                `{,}`,
		`/* open`:                            `/* open`,
		`["open, // `:                        `["open, // `,
		`[1/2]`:                              `[1/2]`,
		"{\"a\":\"\\\\\", // b\n\"c\":1,\t}": "{\"a\":\"\\\\\",     \n\"c\":1 \t}",
	} {
		if got := string(WithoutComments([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// FuzzWithoutComments: JSON stays as it is, and all else keeps its place.
func FuzzWithoutComments(f *testing.F) {
	for _, d := range documents {
		f.Add([]byte(d))
	}
	f.Add([]byte("{// a\n\"b\":[1,/**/],}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got := WithoutComments(data)
		if len(got) != len(data) || bytes.Count(got, []byte{'\n'}) != bytes.Count(data, []byte{'\n'}) {
			t.Errorf("%q: %q", data, got)
		}
		if jsontext.Check(data, jsontext.Options{}) == nil && !bytes.Equal(got, data) {
			t.Errorf("%q is JSON and became %q", data, got)
		}
		if again := WithoutComments(got); jsontext.Check(got, jsontext.Options{}) == nil && !bytes.Equal(again, got) {
			t.Errorf("%q became %q, and that %q", data, got, again)
		}
	})
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{"30s": 30 * time.Second, "2m": 2 * time.Minute, "90": 90 * time.Second, "1.5": 1500 * time.Millisecond, "1h30m": 90 * time.Minute, "2540400h": 2540400 * time.Hour} {
		if got, err := ParseDuration(in); err != nil || got != want {
			t.Errorf("%q: %v, %v", in, got, err)
		}
	}
	for _, bad := range []string{"", "x", "-1s", "-3", "1 s", "∞", "5n", "5u", "1h30", "1.2.3", ".", "..."} {
		if d, err := ParseDuration(bad); err == nil || err.Error() != strconv.Quote(bad)+" is not a duration" {
			t.Errorf("%q gave %v, %v", bad, d, err)
		}
	}
	for _, long := range []string{"9999999999", "99999999999999999999.5", "2562048h", "1m9999999999s"} {
		if d, err := ParseDuration(long); err == nil || err.Error() != strconv.Quote(long)+" is too large" {
			t.Errorf("%q gave %v, %v", long, d, err)
		}
	}
}
