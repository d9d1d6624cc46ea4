package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// arguments are what the arguments of a call are read with.
var arguments = Options{Object: true, FoldNames: true}

func TestCompact(t *testing.T) {
	deep := func(n int) string {
		return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}`
	}
	for _, c := range []struct{ in, want, problem string }{
		{`{}`, `{}`, ""},
		{" \n{} \t", `{}`, ""},
		{` { "a" : [ 1 , 2 , { "b" : "x y" } ] , "c" : { } , "d" : [ ] } `, `{"a":[1,2,{"b":"x y"}],"c":{},"d":[]}`, ""},
		{`{"n":[9007199254740993,12345678901234567890,1.0,1E2,-0,1e400,0.1]}`, `{"n":[9007199254740993,12345678901234567890,1.0,1E2,-0,1e400,0.1]}`, ""},
		{`{"z":1,"a":"\u003c<\/\ud83d\ude00"}`, `{"z":1,"a":"\u003c<\/\ud83d\ude00"}`, ""},
		{"{\"t\":\"\u2028\\u0000\"}", "{\"t\":\"\u2028\\u0000\"}", ""},
		{deep(DefaultDepth), deep(DefaultDepth), ""},
		{`{"a":{"x":1},"b":{"x":1}}`, `{"a":{"x":1},"b":{"x":1}}`, ""},
		{`{"path":"ok.txt","path":"../../etc/passwd"}`, "", "duplicate key"},
		{`{"path":1,"p\u0061th":2}`, "", "duplicate key"},
		{`{"path":1,"Path":2}`, "", "duplicate key"},
		{`{"s":1,"ſ":2}`, "", "duplicate key"},
		{`{"k":1,"K":2}`, "", "duplicate key"},
		{`{"k":1,"\u212a":2}`, "", "duplicate key"},
		{`{"σ":1,"ς":2}`, "", "duplicate key"},
		{`{"x":{"y":[{"a":1,"b":2,"A":3}]}}`, "", "duplicate key"},
		{"{\"a\":\"\xff\"}", "", "invalid UTF-8"},
		{"{\"a\":\"b\u00e4\ufffd\xfe\"}", "", "invalid UTF-8 (byte 0xfe) at byte 12"},
		{"{\"a\":\"\xff", "", "invalid UTF-8"},
		{"{\"a\":\"\xff\x01\"}", "", "invalid UTF-8"},
		{`{"ä":1,"b":2,"Ä":3}`, "", "duplicate key"},
		{`{"a":"\u12"}`, "", `\u without four hexadecimal digits`},
		{`{"a":"\x"}`, "", "an unknown escape"},
		{`{"a":nul}`, "", "'n' where a value should begin"},
		{`{"a":x}`, "", "where a value should begin"},
		{`{"a":+1}`, "", "where a value should begin"},
		{"{\"a\":\"\xc0\xaf\"}", "", "invalid UTF-8"},
		{"{\"a\":\"\xed\xa0\x80\"}", "", "invalid UTF-8"},
		{"{\"\xff\":1}", "", "invalid UTF-8"},
		{`{"a":"\ud800"}`, "", "lone surrogate"},
		{`{"a":"\udc00\ud800"}`, "", "lone surrogate"},
		{`{"a":"\ud800\u0041"}`, "", "lone surrogate"},
		{`{"\udfff":1}`, "", "lone surrogate"},
		{`{"a\u0000":1}`, "", "NUL"},
		{`{"\u0000":1}`, "", "NUL"},
		{`{"\\u0000":1,"\\u0001":2}`, `{"\\u0000":1,"\\u0001":2}`, ""},
		{`{"\u0061":1,"a":2}`, "", "duplicate key (upper and lower case count as the same) \"a\""},
		{`{} {}`, "", "after the end"},
		{`{}//c`, "", "after the end"},
		{"\ufeff{}", "", "byte order mark"},
		{`[]`, "", "found an array"},
		{`null`, "", "found null"},
		{`"x"`, "", "found a string"},
		{`1`, "", "found a number"},
		{``, "", "empty"},
		{`  `, "", "empty"},
		{deep(DefaultDepth + 1), "", "nested more than 128"},
		{strings.Repeat(`{"a":`, 100_000), "", "nested more than 128"},
		{`{"a":1`, "", "the end where ',' or '}' should be"},
		{`{"a":"b`, "", "without end"},
		{`{"a":01}`, "", "where ',' or '}'"},
		{`{"a":1,}`, "", "where a key"},
		{`{'a':1}`, "", "where a key"},
		{"{\"a\":\"\n\"}", "", "control character"},
	} {
		got, err := Compact([]byte(c.in), arguments)
		if c.problem == "" {
			if err != nil || string(got) != c.want {
				t.Errorf("%.60q: %q, %v", c.in, got, err)
			}
			continue
		}
		if _, ok := errors.AsType[*SyntaxError](err); !ok || !strings.Contains(err.Error(), c.problem) {
			t.Errorf("%.60q: %q, error %v, want %q", c.in, got, err, c.problem)
		}
	}
}

func TestManyNames(t *testing.T) {
	many := []byte("{")
	for i := range 50_000 {
		many = append(many, `"k`...)
		many = append(many, strings.Repeat("x", i%7)+string(rune('a'+i%26))+strings.Repeat("0", i%3)...)
		many = append(many, string(rune(0x4e00+i%20000))+string(rune(0x4e00+i/20000))+`":1,`...)
	}
	many = append(many, `"K":1,"k":2}`...)
	if _, err := Compact(many, arguments); err == nil || !strings.Contains(err.Error(), `"k"`) {
		t.Errorf("a duplicate among many names: %v", err)
	}
	if err := Check(many, Options{}); err != nil {
		t.Errorf("a document may have names that differ in case: %v", err)
	}
}

// A duplicate is found wherever the first of the two stands, and both places are told.
func TestDuplicatePlace(t *testing.T) {
	for _, n := range []int{0, 1, 15, 16, 100} {
		text := `{"twice":1`
		for i := range n {
			text += fmt.Sprintf(`,"k%d":1`, i)
		}
		text += `,"twice":2}`
		err := Check([]byte(text), Options{})
		if s, ok := errors.AsType[*SyntaxError](err); !ok || s.Offset != len(text)-10 || s.First == nil || s.First.Offset != 1 || !strings.Contains(s.Error(), `duplicate key "twice"`) {
			t.Errorf("%d names between: %+v", n, err)
		}
	}
	long := strings.Repeat("x", 101)
	err := Check([]byte(`{"`+long+`":1,"`+long+`":2}`), Options{})
	if err == nil || !strings.Contains(err.Error(), long[1:]) || strings.Contains(err.Error(), long) {
		t.Errorf("not the first 100 bytes: %v", err)
	}
}

func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{
		" ~\x7fä": `" ~` + "\x7f" + `ä"`, "\"\\/": `"\"\\/"`, "\n\r\t\b\x1f": `"\n\r\t\u0008\u001f"`,
		"a\x80b\xffc\u20ac\xe2\x82": "\"a\ufffdb\ufffdc\u20ac\ufffd\ufffd\"", "\ufffd": "\"\ufffd\"",
	} {
		if got := string(Quoted(in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestSyntaxErrorPlace(t *testing.T) {
	err := Check([]byte("{\n  \"ä\": 1,\n  \"ö\": x\n}"), Options{})
	s, ok := errors.AsType[*SyntaxError](err)
	if !ok || s.Line != 3 || s.Column != 8 || s.Offset != 21 {
		t.Errorf("%+v", err)
	}
}

func TestCompactDoesNotCopy(t *testing.T) {
	in := []byte(`{"path":"notes/a.txt","content":"some text \n","mode":{"append":true,"tags":["a","b",3.5]}}`)
	if out, err := Compact(in, arguments); err != nil || &out[0] != &in[0] {
		t.Error("changed", err)
	}
}

// undecided freezes what we do with the documents that the suite leaves to the
// implementation: everything that is not Unicode or too deep is refused,
// numbers of any size are kept.
var undecided = map[string]bool{
	"number_double_huge_neg_exp": true, "number_huge_exp": true, "number_neg_int_huge_exp": true, "number_pos_double_huge_exp": true,
	"number_real_neg_overflow": true, "number_real_pos_overflow": true, "number_real_underflow": true, "number_too_big_neg_int": true,
	"number_too_big_pos_int": true, "number_very_big_negative_int": true,
	"object_key_lone_2nd_surrogate": false, "string_1st_surrogate_but_2nd_missing": false, "string_1st_valid_surrogate_2nd_invalid": false,
	"string_UTF-16LE_with_BOM": false, "string_UTF-8_invalid_sequence": false, "string_UTF8_surrogate_U+D800": false,
	"string_incomplete_surrogate_and_escape_valid": false, "string_incomplete_surrogate_pair": false, "string_incomplete_surrogates_escape_valid": false,
	"string_invalid_lonely_surrogate": false, "string_invalid_surrogate": false, "string_invalid_utf-8": false, "string_inverted_surrogates_U+1D11E": false,
	"string_iso_latin_1": false, "string_lone_second_surrogate": false, "string_lone_utf8_continuation_byte": false, "string_not_in_unicode_range": false,
	"string_overlong_sequence_2_bytes": false, "string_overlong_sequence_6_bytes": false, "string_overlong_sequence_6_bytes_null": false,
	"string_truncated-utf-8": false, "string_utf16BE_no_BOM": false, "string_utf16LE_no_BOM": false,
	"structure_500_nested_arrays": false, "structure_UTF-8_BOM_empty_object": false,
}

// stricter are documents that every reader must accept, except one that wants
// to know which of two values a key has.
var stricter = map[string]bool{"object_duplicated_key": true, "object_duplicated_key_and_value": true}

func TestSuite(t *testing.T) {
	files, _ := filepath.Glob("../../../../shared/json-suite/test_parsing/*.json")
	if len(files) == 0 {
		t.Skip("the JSON suite is not there")
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		kind, name, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".json"), "_")
		want := kind == "y" && !stricter[name]
		if kind == "i" {
			known := false
			if want, known = undecided[name]; !known {
				t.Errorf("%s: nothing is decided about it", name)
			}
		}
		if err := Check(data, Options{}); (err == nil) != want {
			t.Errorf("%s_%s: %v", kind, name, err)
		}
		// The same document as a value inside arguments.
		wrapped := append(append([]byte(`{"v":`), data...), '}')
		_, err = Compact(wrapped, arguments)
		if want && name != "object_escaped_null_in_key" != (err == nil) && bytes.TrimSpace(data) != nil {
			t.Errorf("%s_%s inside arguments: %v", kind, name, err)
		}
	}
}

// slowCheck is Check by the standard library's reader and plain rules.
func slowCheck(data []byte, fold bool) bool {
	if !utf8.Valid(data) || !json.Valid(data) || hasLoneSurrogate(data) {
		return false
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return slowValue(d, 0, fold) && func() bool { _, err := d.Token(); return err == io.EOF }()
}

func slowValue(d *json.Decoder, depth int, fold bool) bool {
	token, err := d.Token()
	if err != nil {
		return false
	}
	delim, ok := token.(json.Delim)
	if !ok {
		return true
	}
	if depth++; depth > DefaultDepth {
		return false
	}
	seen := map[string]bool{}
	for d.More() {
		if delim == '{' {
			token, err := d.Token()
			if err != nil {
				return false
			}
			key := token.(string)
			if fold {
				if strings.ContainsRune(key, 0) {
					return false
				}
				for other := range seen {
					if strings.EqualFold(other, key) {
						return false
					}
				}
			} else if seen[key] {
				return false
			}
			seen[key] = true
		}
		if !slowValue(d, depth, fold) {
			return false
		}
	}
	_, err = d.Token()
	return err == nil
}

// hasLoneSurrogate looks at the \u escapes of a valid document.
func hasLoneSurrogate(data []byte) bool {
	s := string(data)
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		if i++; s[i] != 'u' {
			continue
		}
		r := hex4([]byte(s[i+1:]))
		i += 4
		switch {
		case r >= 0xdc00 && r <= 0xdfff:
			return true
		case r >= 0xd800 && r <= 0xdbff:
			if i+6 >= len(s) || s[i+1] != '\\' || s[i+2] != 'u' {
				return true
			}
			if low := hex4([]byte(s[i+3:])); low < 0xdc00 || low > 0xdfff {
				return true
			}
			i += 6
		}
	}
	return false
}

func FuzzStrict(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":"x"}],"A":null}`, `{"a":"\ud83d\ude00","k":1,"\u212a":2}`, `[1.5e-3,true,false]`, ` { "x" : "\u0000" } `, `{"a":1}x`, `"\ud800\udc00"`} {
		f.Add([]byte(s))
	}
	files, _ := filepath.Glob("../../../../shared/json-suite/*/*.json")
	for _, path := range files {
		if data, err := os.ReadFile(path); err == nil && len(data) < 4096 {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if got, want := Check(data, Options{}) == nil, slowCheck(data, false); got != want {
			t.Errorf("Check(%q) = %v, want %v", data, got, want)
		}
		before := bytes.Clone(data)
		out, err := Compact(data, arguments)
		if !bytes.Equal(before, data) {
			t.Errorf("the input was changed")
		}
		trimmed := bytes.Trim(data, " \t\r\n")
		want := slowCheck(data, true) && len(trimmed) > 0 && trimmed[0] == '{'
		if (err == nil) != want {
			t.Fatalf("Compact(%q): %v, want %v", data, err, want)
		}
		if err != nil {
			return
		}
		var compact bytes.Buffer
		if json.Compact(&compact, data) != nil || !bytes.Equal(compact.Bytes(), out) {
			t.Errorf("Compact(%q) = %q, want %q", data, out, compact.Bytes())
		}
	})
}

func TestFoldRune(t *testing.T) {
	for r := range unicode.MaxRune + 1 {
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			if FoldRune(f) != FoldRune(r) {
				t.Fatalf("%U and %U are equal under folding", f, r)
			}
		}
		if f := FoldRune(r); f != r && !strings.EqualFold(string(f), string(r)) {
			t.Fatalf("%U is not %U", f, r)
		}
	}
}

func BenchmarkCompact(b *testing.B) {
	in := []byte(`{"path":"notes/a.txt","old_string":"func main() {\n\tfmt.Println(\"x\")\n}","new_string":"func main() {}","replace_all":false,"n":12}`)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Compact(in, arguments); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	one := `{"role":"user","content":"` + strings.Repeat("some text and \\n more ", 200) + `"},`
	in := []byte("[" + strings.TrimSuffix(strings.Repeat(one, 250), ",") + "]")
	b.SetBytes(int64(len(in)))
	for b.Loop() {
		if err := Check(in, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}

// The cases in testdata are read and refused as each of them says.
func TestCases(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	widest := Options{Depth: 10_000, DuplicateNames: true, LoneSurrogates: true, AnyBytes: true}
	cases := 0
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		kind, quoted, _ := strings.Cut(strings.TrimSpace(line), " ")
		text, err := strconv.Unquote(quoted)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if err := Check([]byte(text), Options{}); (err == nil) != (kind == "y") {
			t.Errorf("strictest: %s: %v", quoted, err)
		}
		if err := Check([]byte(text), widest); (err == nil) != (kind != "n") {
			t.Errorf("widest: %s: %v", quoted, err)
		}
		cases++
	}
	if cases < 90 {
		t.Errorf("only %d cases", cases)
	}
}
