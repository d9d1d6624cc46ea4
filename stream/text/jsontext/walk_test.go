package jsontext

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
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

func FuzzPeer(f *testing.F) {
	for _, s := range jsonSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		want := reference(b)
		if got := Check(b, Peer) == nil; got != want {
			if !got && bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) > Peer.Depth {
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
	switch Kind(v) {
	case '"':
		var want string
		if err := json.Unmarshal(v, &want); err != nil || Unquote(v) != want {
			t.Fatalf("%s means %q, want %q", v, Unquote(v), want)
		}
		if back := Quoted(want); Unquote(back) != want || Check(back, Peer) != nil {
			t.Fatalf("%q is quoted as %s", want, back)
		}
	case '[':
		var want []json.RawMessage
		json.Unmarshal(v, &want)
		n := 0
		for e := range Elements(v) {
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
		for name, e := range Members(v) {
			got[Unquote(name)] = e // the last of a name, as encoding/json has it
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

func TestMember(t *testing.T) {
	doc := []byte(`{ "a" : { "\u0062" : [1, null ] , "c" : null }, "a": 2 }`)
	for path, want := range map[string]string{"a.b": `[1, null ]`, "a.c": `null`, "a.d": "", "x": "", "a.b.c": ""} {
		if got := string(Member(doc, strings.Split(path, ".")...)); got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
}

func FuzzQuoted(f *testing.F) {
	f.Add("a\"\\\x00\x1f\u2028\xff\xc3\U0001f600")
	f.Fuzz(func(t *testing.T, s string) {
		literal := AppendQuoted(nil, s)
		var back string
		if err := json.Unmarshal(literal, &back); err != nil {
			t.Fatalf("%q: %v", literal, err)
		}
		if want := strings.ToValidUTF8(s, "\ufffd"); utf8.ValidString(s) && back != s || strings.ReplaceAll(back, "\ufffd", "") != strings.ReplaceAll(want, "\ufffd", "") {
			t.Errorf("%q came back as %q", s, back)
		}
		if got := Unquote(literal); got != back {
			t.Errorf("unquoted %q, want %q", got, back)
		}
		if got := string(AppendWTF8(nil, literal[1:len(literal)-1])); got != back {
			t.Errorf("unquoted %q, want %q", got, back)
		}
	})
}

// Two surrogates of a pair that come in two pieces are joined.
func TestSurrogates(t *testing.T) {
	var text []byte
	for _, inner := range []string{`a\ud83d`, `\ude00b`, `\udc00`} {
		piece := AppendWTF8(nil, []byte(inner))
		if r := Surrogate(piece); r >= 0 {
			text = append(AppendCodeUnit(text, r), piece[3:]...)
			continue
		}
		text = append(text, piece...)
	}
	if want := "a\U0001f600b\xed\xb0\x80"; string(text) != want {
		t.Errorf("%q, want %q", text, want)
	}
}

func TestLoneSurrogate(t *testing.T) {
	for literal, want := range map[string]bool{`"a"`: false, `"\ud83d\ude00"`: false, `"\ud83d"`: true, `"\ude00\ud83d"`: true, `"\\ud83d"`: false} {
		if got := Check([]byte(literal), Options{AnyBytes: true}) != nil; got != want {
			t.Errorf("%s: %v", literal, got)
		}
	}
}

func TestSame(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true},
		{`1e2`, `100`, true},
		{`9007199254740993`, `9007199254740992`, false},
		{`0.1`, `0.10000000000000000001`, false},
		{`{"a":1,"b":[2,"\u0061"]}`, `{"b":[2.0,"a"],"a":1}`, true},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,2]`, false},
		{`"1"`, `1`, false},
		{`null`, `false`, false},
		{`[true,null]`, `[true,null]`, true},
		{`1`, `false`, false},
		{`false`, `1`, false},
		{`"a"`, `"b"`, false},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":1,"b":2}`, `{"a":1}`, false},
	} {
		if got := Same([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%s and %s: %v", c.a, c.b, got)
		}
	}
	for literal, want := range map[string]bool{
		`" {\"a\": 1.0}\n"`: true, `"\u007b\"a\":1}"`: true, `"{\"a\":2}"`: false, `"x"`: false, `"{\"a\":1"`: false, `"{\"a\":1}}"`: false,
	} {
		if got := SameAsText([]byte(`{"a":1}`), []byte(literal)); got != want {
			t.Errorf("the value in the text %s: %v", literal, got)
		}
	}
}

// Each option opens one thing and nothing else.
func TestOptions(t *testing.T) {
	for text, o := range map[string]Options{
		`{"a":1,"a":2}`: {DuplicateNames: true},
		`"\ud800"`:      {LoneSurrogates: true},
		"\"\xff\"":      {AnyBytes: true},
		strings.Repeat("[", 129) + strings.Repeat("]", 129): {Depth: 129},
	} {
		if Check([]byte(text), Options{}) == nil {
			t.Errorf("%.40q is accepted without options", text)
		}
		if err := Check([]byte(text), o); err != nil {
			t.Errorf("%.40q with %+v: %v", text, o, err)
		}
		for other, p := range map[string]Options{`{"a":1,"a":2}`: {DuplicateNames: true}, `"\ud800"`: {LoneSurrogates: true}, "\"\xff\"": {AnyBytes: true}} {
			if other != text && o != p && Check([]byte(other), o) == nil {
				t.Errorf("%q is accepted with %+v", other, o)
			}
		}
	}
}

func TestCheckObject(t *testing.T) {
	var got []string
	err := CheckObject([]byte(` {"a": {"b":[1, 2]} , "\u0063":"d"} `), Options{}, func(name, value []byte) { got = append(got, string(name), string(value)) })
	if want := `"a"|{"b":[1, 2]}|"\u0063"|"d"`; err != nil || strings.Join(got, "|") != want {
		t.Errorf("%q, %v", got, err)
	}
	if CheckObject([]byte(`[]`), Options{}, nil) == nil {
		t.Error("an array is taken for an object")
	}
}

func TestElements(t *testing.T) {
	for v := range Elements([]byte(`[ {"a":"]}\"["} , 2]`)) {
		if string(v) != `{"a":"]}\"["}` {
			t.Errorf("%s", v)
		}
		break // the loop ends here, and so does what gives the elements
	}
	if got := Strings([]byte(`[1,"a",null,"\u0062",["c"]]`)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("the strings: %q", got)
	}
}

func TestInteger(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "-12": -12, "9223372036854775807": math.MaxInt64} {
		if n, ok := Integer([]byte(text)); n != want || !ok {
			t.Errorf("%s: %d, %v", text, n, ok)
		}
	}
	for _, text := range []string{"1.0", "1e3", "9223372036854775808", `"1"`, "null", ""} {
		if n, ok := Integer([]byte(text)); ok {
			t.Errorf("%s is taken for %d", text, n)
		}
	}
}

// Text of all lengths around eight bytes, out of pieces that stand for themselves, of
// escapes and of what cannot stand between quotes.
func TestAppendMeaning(t *testing.T) {
	pieces := []string{"a", "ab cd", "é", "\xff", `\n`, `\"`, `\u00e9`, `\ud83d\ude00`, `\ud83d`, `\u12`, `\x`, `\`, `"`, "\n", "\x1f", " !#[]~"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		var inner []byte
		for range random.IntN(6) {
			inner = append(inner, pieces[random.IntN(len(pieces))]...)
		}
		valid := Check(slices.Concat([]byte(`"`), inner, []byte(`"`)), Options{AnyBytes: true}) == nil
		got, ok := AppendMeaning([]byte("begun "), inner)
		if ok != valid {
			t.Fatalf("%q: %v, but Check says %v", inner, ok, valid)
		}
		if want := "begun " + string(Unescape(inner)); ok && string(got) != want {
			t.Fatalf("%q: got %q, want %q", inner, got, want)
		}
	}
}
