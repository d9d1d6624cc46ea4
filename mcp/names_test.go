package mcp

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestOfferedName(t *testing.T) {
	for _, tt := range []struct{ server, tool, want string }{
		{"fs", "read_file", "fs__read_file"},
		{"fs", "get-tree", "fs__get-tree"},
		{"fs", "greet (structured)", "fs__greet__structured__"},
		{"fs", "a.b", "fs__a_b_"},
		{"fs", "a/b", "fs__a_b_"},
		{"7z", "list", "t_7z__list_"},
		{"fs", strings.Repeat("x", 60), "fs__" + strings.Repeat("x", 60)},
		{"fs", strings.Repeat("x", 61), "fs__" + strings.Repeat("x", 51) + "_"},
		{"fs", "run_20240101", "fs__run_20240101_"},
	} {
		got := OfferedName(tt.server, tt.tool)
		hashed := strings.HasSuffix(tt.want, "_")
		if !hashed && got != tt.want || hashed && (!strings.HasPrefix(got, tt.want) || len(got) != len(tt.want)+hashDigits) {
			t.Errorf("%s, %s: %s, want %s", tt.server, tt.tool, got, tt.want)
		}
	}
}

var (
	legal      = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]{0,63}$`)
	serverName = regexp.MustCompile(`^[A-Za-z0-9_-]{0,31}[A-Za-z0-9-]$`)
)

// FuzzOfferedName: always legal, always the same, never the same for two.
func FuzzOfferedName(f *testing.F) {
	f.Add("a", "b", "a", "c")
	f.Add("a", "x y", "a", OfferedName("a", "x y")[len("a__"):])
	f.Add("a", "_b", "a_", "b")
	f.Add("fs", "a.b", "fs", "a_b")
	f.Add("fs", strings.Repeat("é", 99), "fs", strings.Repeat("é", 98))
	f.Fuzz(func(t *testing.T, server1, tool1, server2, tool2 string) {
		for _, s := range []string{server1, server2} {
			if !serverName.MatchString(s) || strings.Contains(s, "__") {
				t.Skip("no server is named so")
			}
		}
		one, two := OfferedName(server1, tool1), OfferedName(server2, tool2)
		if !legal.MatchString(one) || one != OfferedName(server1, tool1) {
			t.Fatalf("%q, %q gives %q", server1, tool1, one)
		}
		if (server1 != server2 || tool1 != tool2) && one == two {
			t.Fatalf("%q, %q and %q, %q are both %q", server1, tool1, server2, tool2, one)
		}
	})
}

// FuzzHeaderValue: always one legal header, and what was meant can be read back.
func FuzzHeaderValue(f *testing.F) {
	for _, s := range []string{"plain", "", " lead", "trail ", "tab\there", "Köln", "a\r\nX: y", "=?base64?x?=", "=?base64??=", "\x00", "=?base64?", "\xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := headerValue(s)
		for i := range len(v) {
			if v[i] < 0x20 || v[i] > 0x7E {
				t.Fatalf("%q is sent as %q", s, v)
			}
		}
		if v != strings.TrimSpace(v) {
			t.Fatalf("%q has white space around it", v)
		}
		back := v
		if inner, ok := strings.CutPrefix(v, sentinelBegin); ok && strings.HasSuffix(inner, sentinelEnd) {
			b, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, sentinelEnd))
			if err != nil {
				t.Fatal(err)
			}
			back = string(b)
		}
		if back != s {
			t.Fatalf("%q comes back as %q", s, back)
		}
		h := http.Header{"X": {v}}
		if h.Get("X") != v {
			t.Fatalf("%q does not stand in a header", v)
		}
	})
}

func TestOfferedSchema(t *testing.T) {
	for _, tt := range []struct{ raw, want, note string }{
		{`{"type":"object","properties":{"a":{}},"$defs":{"x":{}}}`, `{"type":"object","properties":{"a":{}},"$defs":{"x":{}}}`, ""},
		{`{ "properties" : {}, "type" : "object" }`, `{ "properties" : {}, "type" : "object" }`, ""},
		{``, emptySchema, ""},
		{`null`, emptySchema, ""},
		{`true`, emptySchema, ""},
		{`[]`, emptySchema, ""},
		{`{}`, `{"type":"object","properties":{}}`, ""},
		{`{"type":"object"}`, `{"properties":{},"type":"object"}`, ""},
		{`{"properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`, ""},
		{`{"type":["object","null"],"properties":[],"required":null,"x":1}`, `{"type":"object","properties":{},"x":1}`, ""},
		{`{"type":"string","properties":{}}`, `{"type":"object","properties":{}}`, ""},
		{`{"type":"object","properties":{"a":{"anyOf":[{}]}},"anyOf":[ {"required":["a"]} ],"not":{}}`, `{"type":"object","properties":{"a":{"anyOf":[{}]}}}`,
			`The arguments must also match: {"anyOf":[{"required":["a"]}],"not":{}}`},
	} {
		before := strings.Clone(tt.raw)
		schema, note := OfferedSchema(json.RawMessage(tt.raw))
		if string(schema) != tt.want || note != tt.note || tt.raw != before {
			t.Errorf("%s: %s %q, want %s %q", tt.raw, schema, note, tt.want, tt.note)
		}
	}
}
