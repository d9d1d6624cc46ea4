package stream

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// TestResultImagesAreLeftOut: a model that takes no pictures refuses a tool's,
// once; it gets the text beside them from then on. A picture of the user's is
// never dropped in silence.
func TestResultImagesAreLeftOut(t *testing.T) {
	picture := Part{Image: &Image{MIME: "image/png", Data: "QUJD"}}
	beside := Part{Text: "[image image/png 3 bytes]"}
	conversation := func(user, tool []Part) *Request {
		return &Request{Model: "m", Messages: []Message{
			{Role: User, Parts: user},
			{Role: Assistant, Calls: []Call{{ID: "call00001", Name: "look", Arguments: []byte("{}")}}},
			{Role: ToolRole, CallID: "call00001", Name: "look", Parts: tool},
		}}
	}
	for api, answer := range map[string]string{
		"chat":      `{"choices":[{"message":{"content":"ok"},"finish_reason":"stop"}]}`,
		"messages":  `{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`,
		"responses": `{"object":"response","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ok"}]}]}`,
	} {
		for _, code := range []int{400, 404, 500} {
			t.Run(fmt.Sprint(api, " ", code), func(t *testing.T) {
				var s *modelServer
				s = newModelServer(t, func(w http.ResponseWriter, req *http.Request) {
					body := s.last()
					if strings.Contains(body, "QUJD") {
						w.Header().Set("Retry-After-Ms", "1")
						w.WriteHeader(code)
						io.WriteString(w, `{"error":{"message":"image input is not supported"}}`)
						return
					}
					if !strings.Contains(body, beside.Text) {
						t.Errorf("the text beside the picture is gone: %s", body)
					}
					w.Header().Set("Content-Type", "application/json")
					io.WriteString(w, answer)
				})
				c := newClient(t, Config{API: api, BaseURL: s.URL + "/v1"})
				r := conversation([]Part{{Text: "hi"}}, []Part{beside, picture})
				for range 2 {
					if _, err := c.Reply(t.Context(), r, nil); err != nil {
						t.Fatal(err)
					}
				}
				if n := s.requests(); n != 3 {
					t.Errorf("%d requests, not one that was refused and two", n)
				}
				c = newClient(t, Config{API: api, BaseURL: s.URL + "/v1"})
				if _, err := c.Reply(t.Context(), conversation([]Part{{Text: "hi"}, picture}, []Part{{Text: "r"}}), nil); err == nil {
					t.Error("the user's picture was dropped")
				}
			})
		}
	}
}

// A refusal that only has the word in it is not about the pictures: they stay.
func TestResultImagesStay(t *testing.T) {
	for _, test := range []struct {
		code int
		text string
	}{
		{400, `{"error":{"message":"the container image of this model is gone"}}`},
		{500, `{"error":{"message":"no support for this machine image"}}`},
		{429, `{"error":{"message":"too many images are not supported"}}`},
	} {
		s := newModelServer(t, status(test.code, test.text))
		c := newClient(t, Config{BaseURL: s.URL})
		waits(c)
		r := ask("hi")
		r.Messages = append(r.Messages,
			Message{Role: Assistant, Calls: []Call{{ID: "call00001", Name: "look", Arguments: []byte("{}")}}},
			Message{Role: ToolRole, CallID: "call00001", Name: "look", Parts: []Part{{Text: "x"}, {Image: &Image{MIME: "image/png", Data: "QUJD"}}}})
		if _, err := c.Reply(t.Context(), r, nil); err == nil || !strings.Contains(s.last(), "QUJD") {
			t.Errorf("%d: %v, sent %s", test.code, err, s.last())
		}
	}
}
