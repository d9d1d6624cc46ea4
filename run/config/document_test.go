package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
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
	v, err := ParseDocument("x.json", data)
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
	v, err := ParseDocument("x.json", []byte("{\n\"a\": 1,\n  \"b\": 2\n}"))
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := v.Get("b"); b.line() != 3 || b.Origin() != "x.json:3" {
		t.Errorf("line %d", b.line())
	}
}
