package mcp

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// jsonSeeds are documents on both sides of the grammar.
var jsonSeeds = []string{
	`{}`, `[]`, `null`, ` true `, `-0.5e+10`, `"a\u00e9\ud83d\ude00"`, `{"a":[1,{"b":"c\"d\\"}],"e":""}`, `"é€😀"`, "\"12345678\\n12345678é\"",
	`{"a":1,}`, `[1 2]`, `01`, `1.`, `.5`, `"\x"`, `"\u12g4"`, `"`, `{"a"}`, `nul`, "\"a\tb\"", "\"\xff\"", `{"a":1}x`, `"12345678\`, `[`, `{"a":[`, `-`, `1e`,
	`{"id":"\ud800","\u0069d":2}`,
}

// reference is the slow and obvious judge: encoding/json, and UTF-8.
func reference(b []byte) bool { return json.Valid(b) && utf8.Valid(b) }

func FuzzCheckJSON(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want := reference(b)
		if got := checkJSON(b) == nil; got != want {
			if !got && bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) > maxDepth {
				t.Skip("too deep on purpose")
			}
			t.Fatalf("accepted is %v, want %v: %q", got, want, b)
		}
		if want {
			compareWalk(t, bytes.TrimSpace(b))
		}
	})
}

// compareWalk takes a value apart both ways.
func compareWalk(t *testing.T, v []byte) {
	switch kind(v) {
	case '"':
		var want string
		if err := json.Unmarshal(v, &want); err != nil || unquote(v) != want {
			t.Fatalf("%s means %q, want %q", v, unquote(v), want)
		}
		if n, _ := literalLength(v); n != len(want) {
			t.Fatalf("%s has length %d, want %d", v, n, len(want))
		}
		if back := quoted(want); unquote(back) != want || checkJSON(back) != nil {
			t.Fatalf("%q is quoted as %s", want, back)
		}
	case '[':
		var want []json.RawMessage
		json.Unmarshal(v, &want)
		n := 0
		for e := range elements(v) {
			if n == len(want) || !bytes.Equal(e, want[n]) {
				t.Fatalf("element %d of %s is %s", n, v, e)
			}
			compareWalk(t, e)
			n++
		}
		if n != len(want) {
			t.Fatalf("%s has %d elements, want %d", v, n, len(want))
		}
	case '{':
		var want map[string]json.RawMessage
		json.Unmarshal(v, &want)
		got := map[string][]byte{}
		for name, e := range members(v) {
			got[unquote(name)] = e // the last of a name, as encoding/json has it
			compareWalk(t, e)
		}
		if len(got) != len(want) {
			t.Fatalf("%s has %d names, want %d", v, len(got), len(want))
		}
		for name, e := range want {
			if !bytes.Equal(got[name], e) {
				t.Fatalf("%q of %s is %s, want %s", name, v, got[name], e)
			}
		}
	}
}

// TestJSONSuite judges the documents of the suite beside the repository.
func TestJSONSuite(t *testing.T) {
	files, _ := filepath.Glob("../../shared/json-suite/*/*.json")
	more, _ := filepath.Glob("../../shared/json-suite/*.json")
	if files = append(files, more...); len(files) == 0 {
		t.Skip("no JSON suite beside the repository")
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name, got := filepath.Base(file), checkJSON(b) == nil
		if strings.HasPrefix(name, "y_") && !got || strings.HasPrefix(name, "n_") && got {
			t.Errorf("%s: accepted is %v", name, got)
		}
	}
}

func TestSyntaxErrorSaysWhere(t *testing.T) {
	for doc, at := range map[string]int{`{"a":1,}`: 7, `[1 2]`: 3, `{"a":"b` + "\n" + `"}`: 7, `{} {}`: 3, `"ok" "`: 5} {
		e, ok := checkJSON([]byte(doc)).(*SyntaxError)
		if !ok || e.Offset != at {
			t.Errorf("%q: %v, want offset %d", doc, e, at)
		}
	}
	if checkJSON([]byte(strings.Repeat("[", maxDepth)+strings.Repeat("]", maxDepth))) != nil {
		t.Error("the deepest nesting that is allowed is refused")
	}
	if checkJSON([]byte(strings.Repeat("[", maxDepth+1)+strings.Repeat("]", maxDepth+1))) == nil {
		t.Error("deeper nesting is accepted")
	}
}

func TestMember(t *testing.T) {
	doc := []byte(`{ "a" : { "\u0062" : [1, null ] , "c" : null }, "a": 2 }`)
	for path, want := range map[string]string{"a.b": `[1, null ]`, "a.c": `null`, "a.d": "", "x": "", "a.b.c": ""} {
		if got := string(member(doc, strings.Split(path, ".")...)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}
