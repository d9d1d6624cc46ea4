package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"

	"toolpipe/stream/text/jsontext"
)

func TestRender(t *testing.T) {
	textBlock := func(s string) string { return `{"type":"text","text":` + string(jsontext.Quoted(s)) + `}` }
	long := strings.Repeat("a line of a file. ", 100)
	tests := []struct{ name, result, want string }{
		{"one text", `{"content":[` + textBlock("a\nb") + `]}`, "a\nb"},
		{"joined", `{"content":[` + textBlock("a") + `,` + textBlock("b") + `]}`, "a\nb"},
		{"empty list", `{"content":[]}`, "(no output)"},
		{"empty text", `{"content":[` + textBlock("") + `]}`, "(no output)"},
		{"absent", `{}`, "(no output)"},
		{"null", `{"content":null,"structuredContent":null}`, "(no output)"},
		{"a bare string", `{"content":"hello"}`, "hello"},
		{"one block without a list", `{"content":` + textBlock("x") + `}`, "x"},
		{"strings in the list", `{"content":["x","y"]}`, "x\ny"},
		{"image", `{"content":[{"type":"image","mimeType":"image/png","data":"/9j/4AAQSkZJRg=="}]}`, "[image image/jpeg 10 bytes]"},
		{"image of no known label", `{"content":[{"type":"image","mimeType":"image/svg+xml","data":"PHN2Zy8+"}]}`, "[image image/svg+xml 6 bytes]"},
		{"image that is none", `{"content":[{"type":"image","mimeType":"image/png","data":"PGh0bWw+"}]}`, "[image text/html 6 bytes]"},
		{"image without base64", `{"content":[{"type":"image","mimeType":"image/png","data":"no base64!!!"}]}`, "[image image/png 9 bytes]"},
		{"audio", `{"content":[{"type":"audio","mimeType":"audio/wav","data":"aGVs"}]}`, "[audio audio/wav 3 bytes]"},
		{"link", `{"content":[{"type":"resource_link","uri":"file:///etc/passwd","name":"pw"}]}`, "[resource pw file:///etc/passwd]"},
		{"link with all members", `{"content":[{"type":"resource_link","uri":"x:1","name":"n","title":"T","mimeType":"text/plain","size":12,"description":"what\nit is"}]}`, "[resource T x:1 text/plain 12 bytes: what it is]"},
		{"link with a description", `{"content":[{"type":"resource_link","uri":"x:1","name":"n","size":"12","description":"d"}]}`, "[resource n x:1: d]"},
		{"embedded text", `{"content":[{"type":"resource","resource":{"uri":"x:1","text":"inside"}}]}`, "inside"},
		{"embedded blob", `{"content":[{"type":"resource","resource":{"uri":"x:1","mimeType":"a/b","blob":"aGVs"}}]}`, "[resource x:1 a/b 3 bytes]"},
		{"embedded text as a blob", `{"content":[{"type":"resource","resource":{"uri":"x:1","mimeType":"application/vnd.x+JSON; charset=utf-8","blob":"eyJhIjoxfQ=="}}]}`, `{"a":1}`},
		{"embedded blob without a type", `{"content":[{"type":"resource","resource":{"uri":"x:1","blob":"w6kK"}}]}`, "é\n"},
		{"embedded blob of a text type that is not UTF-8", `{"content":[{"type":"resource","resource":{"uri":"x:1","mimeType":"text/plain","blob":"6Q=="}}]}`, "[resource x:1 text/plain 1 bytes]"},
		{"embedded picture", `{"content":[{"type":"resource","resource":{"uri":"x:1","mimeType":"text/plain","blob":"R0lGODlh"}}]}`, "[resource x:1 image/gif 6 bytes]"},
		{"unknown", `{"content":[{"type":"hologram"}]}`, "[unsupported content: hologram]"},
		{"for the user", `{"content":[{"type":"text","text":"u","annotations":{"audience":["user"]}},{"type":"text","text":"m"}]}`, "m"},
		{"only for the user", `{"content":[{"type":"text","text":"u","annotations":{"audience":["user"]}}]}`, "u"},
		{"structured alone", `{"structuredContent":{ "a" : [1, 2] }}`, `{"a":[1,2]}`},
		{"structured beside a summary", `{"content":[` + textBlock("2 rows") + `],"structuredContent":{"rows":2}}`, "2 rows\n" + `{"rows":2}`},
		{"structured again", `{"content":[` + textBlock(`{"b":"\u00e9","a":1.0}`) + `],"structuredContent":{"a":1,"b":"é"}}`, `{"b":"\u00e9","a":1.0}`},
		{"structured again, indented", `{"content":[` + textBlock("\n[\n 1\n]\n") + `],"structuredContent":[1]}`, "\n[\n 1\n]\n"},
		{"structured nearly again", `{"content":[` + textBlock(`{"n":12345678901234567}`) + `],"structuredContent":{"n":12345678901234568}}`, `{"n":12345678901234567}` + "\n" + `{"n":12345678901234568}`},
		{"structured is text", `{"content":[` + textBlock(`"x"`) + `],"structuredContent":"x"}`, `"x"`},
		{"structured holds the text", `{"content":[` + textBlock("line 1\nline \"2\"") + `],"structuredContent":{"content":"line 1\nline \"2\"","lines":2}}`, "line 1\nline \"2\""},
		{"structured holds all texts, in another order", `{"content":[` + textBlock("first text") + `,` + textBlock("second text") + `],"structuredContent":{"all":["second text","first text","no"]}}`, "first text\nsecond text"},
		{"structured holds more", `{"content":[` + textBlock("first text") + `],"structuredContent":["first text","other text"]}`, "first text\n" + `["first text","other text"]`},
		{"structured holds a long text and more", `{"content":[` + textBlock(long) + `],"structuredContent":{"content":"` + long + `","path":"/a/b.txt"}}`, long + "\n" + `{"content":"[above]","path":"/a/b.txt"}`},
		{"structured is the content", `{"content":[{"type":"resource","resource":{"uri":"file:///a","text":"inside"}}],"structuredContent":{"content":[{"type":"resource","resource":{"text":"inside","uri":"file:///a"}}]}}`, "inside"},
		{"structured is a picture again", `{"content":[{"type":"image","mimeType":"image/png","data":"R0lGODlh"}],"structuredContent":{"content":[{"type":"image","mimeType":"image/png","data":"R0lGODlh","size":6}]}}`, "[image image/gif 6 bytes]"},
		{"structured is a picture and more", `{"content":[{"type":"image","mimeType":"image/png","data":"R0lGODlh"}],"structuredContent":{"picture":"R0lGODlh","path":"/a/b.png"}}`, "[image image/gif 6 bytes]\n" + `{"picture":"[above]","path":"/a/b.png"}`},
		{"structured has only short strings", `{"content":[` + textBlock("ok 3") + `],"structuredContent":{"a":"ok","n":3}}`, "ok 3\n" + `{"a":"ok","n":3}`},
		{"a name that stands in the text", `{"content":[` + textBlock("temperature") + `],"structuredContent":{"temperature":22.5}}`, "temperature\n" + `{"temperature":22.5}`},
		{"with an error", `{"isError":true,"content":[` + textBlock("failed") + `],"structuredContent":{"code":7}}`, "failed\n" + `{"code":7}`},
		{"half a pair", `{"content":[{"type":"text","text":"a\ud800b"}]}`, "a\uFFFDb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := ReadResult([]byte(tt.result))
			if err != nil {
				t.Fatal(err)
			}
			out := r.Render()
			var got string
			if err := json.Unmarshal(out.JSON, &got); err != nil || got != tt.want || out.Bytes != len(tt.want) {
				t.Errorf("got %q (%d bytes), want %q, %v", got, out.Bytes, tt.want, err)
			}
			if jsontext.Check(out.JSON, jsontext.Options{AnyBytes: true}) != nil {
				t.Error("half a surrogate pair goes to the model")
			}
		})
	}
	if _, err := ReadResult([]byte(`[1]`)); err == nil {
		t.Error("a list is taken as a result")
	}
}

// TestRenderStructuredList: a list of many texts, each of which is a block too, as
// FastMCP gives it, is not shown twice.
func TestRenderStructuredList(t *testing.T) {
	var blocks, items []string
	for i := range 6000 {
		item := fmt.Sprintf("/home/somebody/projects/program/%05d.go", i)
		blocks, items = append(blocks, `{"type":"text","text":"`+item+`"}`), append(items, `"`+item+`"`)
	}
	r, err := ReadResult([]byte(`{"content":[` + strings.Join(blocks, ",") + `],"structuredContent":{"result":[` + strings.Join(items, ",") + `]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Render(); got.Bytes != 6000*41-1 {
		t.Errorf("%d bytes", got.Bytes)
	}
}

// TestRenderStructuredWork: not all of a long text is searched for each of many
// strings that it does not hold.
func TestRenderStructuredWork(t *testing.T) {
	shown := shownText{text: []byte(strings.Repeat("abcdefgh", 1<<15))}
	for range 1000 {
		shown.has([]byte("abcdefgx"))
	}
	if shown.searched > searchBudget+2*len(shown.text) {
		t.Errorf("%d bytes were searched", shown.searched)
	}
}

// TestRenderIsTheLiteral: one text block that fits is not even copied.
func TestRenderIsTheLiteral(t *testing.T) {
	raw := []byte(`{"content":[{"type":"text","text":"a\u00e9\tb"}]}`)
	r, _ := ReadResult(raw)
	out := r.Render()
	if i := bytes.Index(raw, out.JSON); i < 0 || unsafe.SliceData(out.JSON) != &raw[i] {
		t.Errorf("%s is not the bytes that came", out.JSON)
	}
}

// TestMedia: only data that models read is given on, with the type of its first bytes.
func TestMedia(t *testing.T) {
	long := strings.Repeat("aGVs", 5000)
	result := `{"content":[{"type":"image","mimeType":"image/png","data":"\/9j\/4AAQSkZJRg=="},{"type":"image","mimeType":"image/png","data":"not base64"},
		{"type":"image","mimeType":"image/png","data":"aGVsbG8="},{"type":"image","data":"R0lG\r\nODlh\n"},
		{"type":"image","mimeType":"text/html;x=\"\n","data":"UklGRgAAAABXRUJQVlA4IA=="},{"type":"image","mimeType":"image/jpeg","data":"iVBORw0KGgpo` + long + `"},
		{"type":"resource","resource":{"uri":"file:///a/b.pdf","blob":"JVBERi0xLjQK"}},{"type":"resource","resource":{"uri":"x:1","mimeType":"text/plain","blob":"R0lGODlh"}},
		{"type":"audio","mimeType":"audio/wav","data":"UklGRgAAAABXQVZF"}]}`
	r, _ := ReadResult([]byte(result))
	out := r.Render()
	var got []string
	for _, m := range out.Media {
		got = append(got, m.MIME+" "+m.Name+" "+string(m.Data))
	}
	want := []string{"image/jpeg  /9j/4AAQSkZJRg==", "image/gif  R0lGODlh", "image/webp  UklGRgAAAABXRUJQVlA4IA==", "image/png  iVBORw0KGgpo" + long,
		"application/pdf b.pdf JVBERi0xLjQK", "image/gif  R0lGODlh"}
	if !slices.Equal(got, want) {
		t.Errorf("media: %.100q", got)
	}
	if n := strings.Count(string(out.JSON), " bytes]"); n != 9 {
		t.Errorf("%d placeholders: %s", n, out.JSON)
	}
}

// FuzzRenderCut: what remains of a long result is its head and its tail, whole
// runes, at most max bytes, and the count in between is right.
func FuzzRenderCut(f *testing.F) {
	f.Add([]byte(`"abcdefghijklmnopqrstuvwxyz"`), []byte(`""`), 10)
	f.Add([]byte(`"\u00e9é\ud83d\ude00😀\n\"\\"`), []byte(`"é"`), 7)
	f.Add([]byte(`"\ud83d\ude00\ud83d\ude00"`), []byte(`"\ud800"`), 3)
	f.Fuzz(func(t *testing.T, a, b []byte, max int) {
		if jsontext.Kind(a) != '"' || jsontext.Kind(b) != '"' || jsontext.Check(a, jsontext.Peer) != nil || jsontext.Check(b, jsontext.Peer) != nil || max < 1 || max > 1000 {
			t.Skip()
		}
		a, b = bytes.TrimSpace(a), bytes.TrimSpace(b)
		whole := jsontext.Unquote(a)
		if len(b) > 2 {
			whole += "\n" + jsontext.Unquote(b)
		}
		r := &Result{Content: []Block{{Type: "text", Text: a}, {Type: "text", Text: b}}}
		out := r.Render()
		if whole == "" {
			whole = noOutput
		}
		if got := jsontext.Unquote(out.JSON); got != whole || out.Bytes != len(whole) {
			t.Fatalf("got %q, want %q", got, whole)
		}
		if len(whole) <= max {
			return
		}
		var got string
		if literal := Cut(out.JSON, len(whole), max, ""); json.Unmarshal(literal, &got) != nil || !utf8.ValidString(got) {
			t.Fatalf("%q", literal)
		}
		checkCut(t, whole, got, max)
	})
}

// checkCut looks for the one way to read got as head, note and tail.
func checkCut(t *testing.T, whole, got string, max int) {
	for i := 0; ; i++ {
		at := strings.Index(got[i:], "\n[... ")
		if at < 0 {
			t.Fatalf("no note in %q", got)
		}
		i += at
		number, rest, _ := strings.Cut(got[i+len("\n[... "):], " bytes omitted ...]\n")
		head, tail := got[:i], rest
		if len(head)+len(tail) <= max && len(head)+len(tail) >= max-6 && strings.HasPrefix(whole, head) && strings.HasSuffix(whole, tail) {
			var n int
			if err := json.Unmarshal([]byte(number), &n); err != nil || n != len(whole)-len(head)-len(tail) {
				t.Fatalf("%s bytes are said to be omitted, %d are", number, len(whole)-len(head)-len(tail))
			}
			return
		}
	}
}
