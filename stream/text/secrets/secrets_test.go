package secrets

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"
)

const key = "sk-proj-T3st/Key+0123456789\"abc"

func newSet(words ...string) *Set {
	s := &Set{}
	for _, w := range words {
		s.Add(w)
	}
	return s
}

// encodings are what may be made of a secret.
func encodings(w string) map[string]string {
	reversed := []byte(w)
	slices.Reverse(reversed)
	quoted, _ := json.Marshal(w)
	inner := string(quoted[1 : len(quoted)-1])
	twice, _ := json.Marshal(inner)
	all := map[string]string{
		"raw": w, "reversed": string(reversed), "quoted": inner, "quoted twice": string(twice[1 : len(twice)-1]),
		"hex": hex.EncodeToString([]byte(w)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(w))),
		"query": url.QueryEscape(w), "path": url.PathEscape(w), "percent": escapeAll("%%%02x", w), "PERCENT": escapeAll("%%%02X", w),
		"unicode": escapeAll(`\u%04x`, w), "unicode twice": escapeAll(`\\u%04x`, w), "C": escapeAll(`\x%02x`, w),
		"percent twice":   url.QueryEscape(url.QueryEscape(w)),
		"one byte each":   `%` + hex.EncodeToString([]byte(w[:1])) + w[1:],
		"the last byte":   w[:len(w)-1] + `\u00` + hex.EncodeToString([]byte(w[len(w)-1:])),
		"base64, slashes": strings.ReplaceAll(base64.StdEncoding.EncodeToString([]byte(w)), "/", `\/`),
	}
	for offset := range 4 {
		for name, e := range map[string]*base64.Encoding{"std": base64.StdEncoding, "url": base64.RawURLEncoding} {
			all[fmt.Sprintf("base64 %s %d", name, offset)] = e.EncodeToString([]byte("user:"[:offset] + w + "xy"[:offset/2]))
		}
	}
	return all
}

// leftOf is what tells that a spelling is still there: 12 characters of it.
func leftOf(hidden, encoded string) string {
	for i := 0; i+12 <= len(encoded); i++ {
		if strings.Contains(hidden, encoded[i:i+12]) {
			return encoded[i : i+12]
		}
	}
	return ""
}

func TestHide(t *testing.T) {
	f := newSet(key, "another-Secret-77").Content()
	for name, encoded := range encodings(key) {
		text := "before " + encoded + " after"
		hidden := string(f.Hide([]byte(text)))
		if left := leftOf(hidden, encoded); left != "" || !strings.HasPrefix(hidden, "before ") || !strings.HasSuffix(hidden, " after") || !strings.Contains(hidden, Mark) {
			t.Errorf("%s: %q shows %q", name, hidden, left)
		}
		if got := f.HideString(text); got != hidden {
			t.Errorf("%s: HideString %q", name, got)
		}
	}
	for _, text := range []string{"", "sk-proj-", "an ordinary text of 100% with \\n and \\u0041 and %41", key[1:], key[:len(key)-1], strings.Repeat("%73%6b", 100)} {
		if got := f.Hide([]byte(text)); string(got) != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	if got := f.HideString(key + "another-Secret-77" + key); got != Mark+Mark+Mark {
		t.Errorf("%q", got)
	}
	var none *Finder
	if got := none.HideString(key); got != key {
		t.Errorf("nothing is secret: %q", got)
	}
}

// Short words are taken out of diagnostics only.
func TestLengths(t *testing.T) {
	s := newSet("ollama", "abc", "", "12345678")
	if got := s.Content().HideString("ollama abc 12345678"); got != "ollama abc "+Mark {
		t.Errorf("content: %q", got)
	}
	if got := s.Message().HideString("ollama abc 12345678"); got != Mark+" abc "+Mark {
		t.Errorf("message: %q", got)
	}
}

func TestHideJSON(t *testing.T) {
	s := newSet(key, "12345678")
	for in, want := range map[string]string{
		`{"a":1,"b":[true,"x"]}`: `{"a":1,"b":[true,"x"]}`,
		`{"a":` + string(must(json.Marshal(key))) + `,"n":12345678,"m":-1.5e3}`: `{"a":"` + Mark + `","n":"` + Mark + `","m":-1.5e3}`,
		`{"a":"` + escapeAll(`\u%04x`, key) + `","b":"\n"}`:                     `{"a":"` + Mark + `","b":"\n"}`,
		`{"` + hex.EncodeToString([]byte(key)) + `":null}`:                      `{"` + Mark + `":null}`,
	} {
		got := s.Content().HideJSON([]byte(in))
		if string(got) != want || !json.Valid(got) {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func must(b []byte, err error) []byte { return b }

// TestPieces: wherever a text is cut, no more than the first bytes of a
// secret pass, and all else does.
func TestPieces(t *testing.T) {
	f := newSet(key, key+"-longer", "another-Secret-77").Content()
	for name, encoded := range encodings(key) {
		text := "before " + encoded + " after"
		for cut := range len(text) {
			for _, again := range []int{cut, min(cut+3, len(text)), min(cut+9, len(text))} {
				var p Pieces
				var got []byte
				for _, piece := range []string{text[:cut], text[cut:again], text[again:]} {
					got = append(got, p.Next(f, []byte(piece))...)
				}
				got = append(got, p.Rest(f)...)
				if left := leftOf(string(got), encoded); left != "" || !strings.HasPrefix(string(got), "before ") || !strings.HasSuffix(string(got), " after") || !p.Replaced {
					t.Fatalf("%s cut at %d and %d: %q shows %q", name, cut, again, got, left)
				}
			}
		}
	}
}

// What is no secret passes whole, and all but the beginning of one at once.
func TestPiecesPass(t *testing.T) {
	f := newSet(key).Content()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var p Pieces
		var text, got []byte
		for range 20 {
			piece := []byte(key[:random.IntN(len(key))] + "s"[:random.IntN(2)])
			piece = piece[random.IntN(len(piece)+1):]
			if bytes.Contains(append(bytes.Clone(text), piece...), []byte(key)) {
				break
			}
			text = append(text, piece...)
			got = append(got, p.Next(f, piece)...)
			if len(text)-len(got) >= len(key)*3 || !bytes.HasPrefix(text, got) {
				t.Fatalf("%q of %q", got, text)
			}
		}
		if got = append(got, p.Rest(f)...); !bytes.Equal(got, text) || p.Replaced {
			t.Fatalf("%q became %q", text, got)
		}
	}
	var p Pieces
	if got := p.Next(f, []byte("this goes s")); string(got) != "this goes s" {
		t.Errorf("held back: %q", got)
	}
}

// FuzzFind: the search finds what looking at every place finds.
func FuzzFind(f *testing.F) {
	f.Add("abcdefgh", "xxabcdefghyy")
	f.Add("aaaaaaaa", "aaaaaaaaaaaaaaaaa%61aaaaaaa")
	f.Fuzz(func(t *testing.T, word, text string) {
		find := newSet(word).Message()
		if find == nil {
			return
		}
		hidden := find.HideString(text)
		for _, spelling := range find.spellings {
			if strings.Contains(hidden, spelling) && !strings.Contains(Mark, spelling) && !strings.Contains(spelling, Mark) && strings.Contains(text, spelling) && !strings.ContainsAny(spelling, Mark) {
				t.Errorf("%q still shows %q: %q", text, spelling, hidden)
			}
		}
		if got := find.search([]byte(text)); len(got) == 0 && slices.ContainsFunc(find.spellings, func(s string) bool { return strings.Contains(text, s) }) {
			t.Errorf("nothing found of %q in %q", word, text)
		}
	})
}

func TestNames(t *testing.T) {
	for name, want := range map[string]bool{"GITHUB_TOKEN": true, "apiKey": true, "Authorization": true, "PROXY_AUTH": true, "Cookie": true, "GIT_AUTHOR_NAME": false, "LANG": false, "X-Auth": true} {
		if Named(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
	s := &Set{}
	s.AddNamed("DATABASE_URL", "postgres://me:correct-h0rse@db/x")
	s.AddNamed("EDITOR", "an-editor")
	s.AddNamed("AUTH_TYPE", "kubernetes")
	s.AddNamed("TOKEN_URL", "https://host/oauth2/token")
	s.AddNamed("API_KEY", "k8s-key-value")
	s.AddProxy("http://somebody:pa%73sword-1@proxy:8080")
	s.AddProxy("otherbody:pass word@x@proxy")
	s.AddProxy("http://me:pw@proxy:80")
	s.AddURL("https://host/mcp?mode=read&api_key=in-the-%71u3ry")
	if got := s.Content().HideString("correct-h0rse an-editor password-1 somebody " + base64.StdEncoding.EncodeToString([]byte("somebody:password-1"))); got != Mark+" an-editor "+Mark+" somebody "+Mark {
		t.Errorf("%q", got)
	}
	if got := s.Content().HideString("read in-the-qu3ry bWU6cHc="); got != "read "+Mark+" "+Mark {
		t.Errorf("%q", got)
	}
	if got := s.Content().HideString("kubernetes https://host/oauth2/token k8s-key-value"); got != "kubernetes https://host/oauth2/token "+Mark {
		t.Errorf("%q", got)
	}
	if got := s.Wire().HideString("an-editor kubernetes"); got != Mark+" "+Mark {
		t.Errorf("%q", got)
	}
	if got := s.Message().HideString("an-editor somebody pass word@x"); got != "an-editor "+Mark+" "+Mark {
		t.Errorf("%q", got)
	}
}

func BenchmarkPieces(b *testing.B) {
	f := newSet(key).Content()
	var p Pieces
	delta := []byte(" stream")
	for b.Loop() {
		p.Next(f, delta)
	}
}

func BenchmarkHide(b *testing.B) {
	f := newSet(key).Content()
	text := bytes.Repeat([]byte("some text of a result, \\n line by \\\"line\\\" "), 1<<20/45)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		f.Hide(text)
	}
}

func escapeAll(format, w string) string {
	var b strings.Builder
	for i := range len(w) {
		fmt.Fprintf(&b, format, w[i])
	}
	return b.String()
}

// What may stand in any text stays in an answer, and is still kept out of diagnostics.
func TestOrdinary(t *testing.T) {
	t.Parallel()
	for value, hidden := range map[string]bool{
		"lm-studio": false, "localhost": false, "password": false, "not-needed": false, "sk-no-key-required": false, "Not-Needed": false, "PLACEHOLDER": false, "********": false, "change_me!": false,
		"localhost:8080": false, "10.0.0.1:11434": false, "2001:db8::1": false, "api.example2.com": false, "gateway7.internal:443": false,
		"hunter2hunter": true, "sk-1234567890abcdef": true, "AbCdEfGhIjKl": true, "abcdefgh-1234": true, "eyJhbGciOi.eyJzdWIiOi.c2lnbmF0": true, "user:pa55word": true,
	} {
		s := &Set{}
		s.Add(value)
		if got := s.Content().HideString("a " + value + " b"); (got == "a "+Mark+" b") != hidden {
			t.Errorf("%q: %q", value, got)
		}
		if got := s.Message().HideString("a " + value + " b"); got != "a "+Mark+" b" {
			t.Errorf("%q in a message: %q", value, got)
		}
	}
}

// TestFragments: a part of a token is hidden from 12 bytes on that are its own, also where
// it is cut anywhere. What all tokens of its kind begin with, and a part of a short secret
// or of a value that is no token, stays.
func TestFragments(t *testing.T) {
	const web = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
	f := newSet(token, "Bearer ghp_16C7e42F292c6912E7710c838347Ae178B4a", web, "Sh0rt-secret-of-23-byte", "postgres://somebody:x@db-7.example.com/orders-2024").Content()
	for in, want := range map[string]string{
		token[7:]:                             "api03-" + Mark,
		token[:len(token)-1]:                  "sk-ant-api03-" + Mark,
		token[20:32]:                          Mark,
		token[20:31]:                          token[20:31],
		"sk-ant-api03-" + token[13:24]:        "sk-ant-api03-" + token[13:24],
		"a sk-ant-api03-key, Bearer ghp_x":    "a sk-ant-api03-key, Bearer ghp_x",
		"16C7e42F292c":                        Mark,
		`{"k":"` + token[30:60] + `"}`:        `{"k":"` + Mark + `"}`,
		escapeAll("%%%02x", token[30:60]):     Mark,
		web[:60]:                              web[:60],
		web[len(web)-20:]:                     Mark,
		"somebody:x@db-7.example.com":         "somebody:x@db-7.example.com",
		"Sh0rt-secret-of-2":                   "Sh0rt-secret-of-2",
		"orders-2024, -secret-of-23, aaa0aaa": "orders-2024, -secret-of-23, aaa0aaa",
	} {
		in, want := "before "+in+" after", "before "+want+" after"
		if got := f.HideString(in); got != want {
			t.Errorf("%q became %q, not %q", in, got, want)
		}
		for cut := range len(in) {
			for _, step := range []int{1, 5, len(in)} {
				var p Pieces
				got := bytes.Clone(p.Next(f, []byte(in[:cut])))
				for piece := range slices.Chunk([]byte(in[cut:]), step) {
					got = append(got, p.Next(f, piece)...)
				}
				got = append(got, p.Rest(f)...)
				if left := leftOf(string(got), token[13:]); left != "" || strings.Contains(want, Mark) != p.Replaced || !p.Replaced && string(got) != in {
					t.Fatalf("%q cut at %d by %d: %q", in, cut, step, got)
				}
			}
		}
	}
}

// deltas are what a model streams: words of a text.
func deltas() (all [][]byte) {
	words := strings.Fields("The function reads the configuration, checks each of its members and returns an error that names the file; see config.go:120 and https://example.com/docs/v2 for more. `Read(ctx, 64<<10)` is called 1234567 times.")
	for i := range 200_000 {
		all = append(all, []byte(" "+words[i%len(words)]))
	}
	return all
}

const token = "sk-ant-api03-" + "Rk7dQ2xVb9LmTz4HcW8yNp3sJf6AgE1uKoXi5vBqZtYhMr0n-DwPlCaSeGj_UFOI8x2v7b4n9QAA"

func BenchmarkDeltas(b *testing.B) {
	f, all := newSet(token).Content(), deltas()
	for b.Loop() {
		var p Pieces
		for _, delta := range all {
			p.Next(f, delta)
		}
	}
}

func BenchmarkLargeText(b *testing.B) {
	f, text := newSet(token).Content(), bytes.Repeat(bytes.Join(deltas()[:4000], nil), 64<<20/24_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		f.Hide(text)
	}
}
