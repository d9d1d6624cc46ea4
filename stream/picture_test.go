package stream

import (
	"bytes"
	"encoding/base64"
	bitmap "image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"net/http"
	"strings"
	"testing"
)

func encoded(mime, data string) *Image {
	return &Image{MIME: mime, Data: base64.StdEncoding.EncodeToString([]byte(data))}
}

func pngOf(side int) *Image {
	return encoded("image/png", "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00"+string([]byte{byte(side >> 8), byte(side)})+"\x08\x00")
}

func TestLongerSide(t *testing.T) {
	picture := bitmap.NewPaletted(bitmap.Rect(0, 0, 300, 5001), color.Palette{color.Black})
	write := func(encode func(io.Writer) error) string {
		var b bytes.Buffer
		if err := encode(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	jpg := write(func(w io.Writer) error { return jpeg.Encode(w, picture, nil) })
	profile := "\xff\xff\xe2\xff\xf0" + strings.Repeat("\xff\xc0", 0xfff0/2-1)
	for name, x := range map[string]struct {
		img  *Image
		want int
	}{
		"png":                {encoded("image/png", write(func(w io.Writer) error { return png.Encode(w, picture) })), 5001},
		"gif":                {encoded("image/gif", write(func(w io.Writer) error { return gif.Encode(w, picture, nil) })), 5001},
		"jpeg":               {encoded("image/jpeg", jpg), 5001},
		"jpeg with segments": {encoded("image/jpeg", jpg[:2]+profile+profile+jpg[2:]), 5001},
		"webp, lossy":        {encoded("image/webp", "RIFF\x00\x00\x00\x00WEBPVP8 \x00\x00\x00\x00\x00\x00\x00\x9d\x01\x2a\x89\x53\x2c\x01....."), 5001},
		"webp, lossless":     {encoded("image/webp", "RIFF\x00\x00\x00\x00WEBPVP8L\x00\x00\x00\x00\x2f\x2b\x01\xe2\x04............"), 5001},
		"webp, extended":     {encoded("image/webp", "RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x2b\x01\x00\x88\x13\x00..."), 5001},
		"cut png":            {encoded("image/png", "\x89PNG\r\n\x1a\n0123"), 0},
		"cut jpeg":           {encoded("image/jpeg", "\xff\xd8\xff\xe0\x00\x10JFIF"), 0},
		"jpeg of nothing":    {encoded("image/jpeg", "\xff\xd8"+strings.Repeat("\xff", 5000)), 0},
		"not base64":         {&Image{MIME: "image/png", Data: strings.Repeat("!", 100)}, 0},
		"address":            {&Image{URL: "https://example.com/a.png"}, 0},
	} {
		if got := x.img.longerSide(); got != x.want {
			t.Errorf("%s: %d pixels", name, got)
		}
	}
}

// TestLargePictures: pictures of tool servers that exceed the limits of the API are left out, and
// other pictures stay.
func TestLargePictures(t *testing.T) {
	large := encoded("image/png", "\x89PNG\r\n\x1a\n"+strings.Repeat("x", 4<<20))
	many := []*Image{pngOf(2000), pngOf(2001)}
	for range 19 {
		many = append(many, pngOf(1))
	}
	optional := *pngOf(8001)
	optional.Optional = true
	for name, x := range map[string]struct {
		api      string
		of       Role
		pictures []*Image
		left     int
	}{
		"within":              {"messages", ToolRole, []*Image{pngOf(8000)}, 0},
		"pixels":              {"messages", ToolRole, []*Image{pngOf(8001), pngOf(1)}, 1},
		"bytes":               {"messages", ToolRole, []*Image{large}, 1},
		"pixels, another API": {"responses", ToolRole, []*Image{pngOf(8001), large}, 0},
		"of the user":         {"messages", User, []*Image{pngOf(8001)}, 0},
		"of a prompt":         {"messages", User, []*Image{&optional}, 1},
		"many":                {"messages", ToolRole, many, 1},
		"not many":            {"messages", ToolRole, many[:20], 0},
		"many, another API":   {"chat", ToolRole, many, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newModelServer(t, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				io.WriteString(w, map[string]string{
					"chat":      `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`,
					"messages":  `{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`,
					"responses": `{"object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}]}`,
				}[x.api])
			})
			c := newClient(t, Config{API: x.api, BaseURL: s.URL + "/v1"})
			warnings := 0
			sink := &Sink{Warn: func(string, string) { warnings++ }}
			r := ask("hi")
			// In two requests, so that the second one may have to leave out what the first one had.
			for _, part := range [][]*Image{x.pictures[:len(x.pictures)/2], x.pictures[len(x.pictures)/2:]} {
				m := Message{Role: x.of, CallID: "call00001", Name: "f", Parts: []Part{{Text: "text"}}}
				for _, p := range part {
					m.Parts = append(m.Parts, Part{Image: p})
				}
				if x.of == ToolRole {
					r.Messages = append(r.Messages, Message{Role: Assistant, Calls: []Call{{ID: "call00001", Name: "f", Arguments: []byte("{}")}}})
				}
				r.Messages = append(r.Messages, m)
				if _, err := c.Reply(t.Context(), r, sink); err != nil {
					t.Fatal(err)
				}
			}
			body := s.last()
			for _, p := range x.pictures {
				sent := strings.Contains(body, p.Data)
				if why := limitsOfPictures(x.api).excess(p, len(x.pictures) > manyPictures); sent != (why == "" || x.left == 0) {
					t.Errorf("picture of %d pixels, %d bytes: sent %t, %s", p.longerSide(), len(p.Data), sent, why)
				}
			}
			if n := strings.Count(body, "[toolpipe] the picture is left out: "); n != x.left || warnings != x.left {
				t.Errorf("%d pictures are left out, %d warnings", n, warnings)
			}
		})
	}
}
