package stream

import (
	"strings"
	"testing"
)

// What a refusal of an endpoint is about.
func TestWhatARefusalIsAbout(t *testing.T) {
	for _, x := range []struct {
		status               int
		refusal              string
		images, descriptions bool
	}{
		{400, "image_url is not supported", true, false},
		{404, "no endpoints found that support image input", true, false},
		{415, "this model has no vision", true, false},
		{422, "image: content type not allowed", true, false},
		{400, "the container image is gone", false, false},
		{400, "messages.2.content.1.image.source.base64: the image was specified using the image/png media type, but the image appears to be a image/jpeg image", true, false},
		{400, "could not process image", true, false},
		{400, "image.source.base64: invalid base64 data", true, false},
		{400, "image exceeds 5 mb maximum: 6000000 bytes", true, false},
		{400, "messages.2.content.1: document blocks are not supported by this model", true, false},
		{400, "invalid pdf", true, false},
		{400, "this is not supported", false, false},
		{500, "image input is not supported - hint: use mmproj", true, false},
		{500, "the container image does not support this", false, false},
		{503, "image input is not supported", false, false},
		{400, "tools.0.description: string too long", false, true},
		{400, "a description has at most 1,024 characters", false, true},
		{400, "messages: string too long", false, false},
		{400, "a description is missing", false, false},
	} {
		r := &Request{Model: "m", Messages: []Message{{Role: ToolRole, Parts: []Part{image}}}}
		f := readRefusal(x.status, []byte(x.refusal))
		if got := f.kind(r); (got == PictureRefused) != x.images {
			t.Errorf("%d %s: %s", x.status, x.refusal, got)
		}
		if got := f.isDescription(); got != x.descriptions {
			t.Errorf("%s: descriptions %t", x.refusal, got)
		}
	}
}

// A refusal that goes on after the repair, or that a repair does not help against, ends the exchange.
func TestRepairsEnd(t *testing.T) {
	image := Part{Image: &Image{URL: "data:image/png;base64,AA=="}}
	long := strings.Repeat("x", maxDescription+1)
	for _, x := range []struct {
		status      int
		refusal     string
		description string
		requests    int
	}{
		{400, "image input is not supported", "", 2},
		{400, "tools.0.description: string too long", long, 2},
		{400, "tools.0.description: string too long", long[1:], 1},
		{413, "tools.0.description: string too long", long, 1},
		{403, "stream_options: extra inputs are not permitted", "", 1},
	} {
		s := newModelServer(t, status(x.status, x.refusal))
		r := ask("hi")
		r.Tools = []Tool{{Name: "f", Description: x.description}}
		r.Messages = append(r.Messages, Message{Role: Assistant, Calls: []Call{{ID: "a", Name: "f", Arguments: []byte("{}")}}},
			Message{Role: ToolRole, CallID: "a", Name: "f", Parts: []Part{image}})
		if _, err := newClient(t, Config{BaseURL: s.URL}).Reply(t.Context(), r, nil); err == nil || s.requests() != x.requests {
			t.Errorf("%d %s: %d requests, %v", x.status, x.refusal, s.requests(), err)
		}
	}
}

// Only what a repair would change is a reason to send the request again.
func TestWhatARepairChanges(t *testing.T) {
	text, image := Part{Text: "x"}, Part{Image: &Image{URL: "https://h/x.png"}}
	for _, x := range []struct {
		messages []Message
		want     bool
	}{
		{nil, false},
		{[]Message{{Role: User, Parts: []Part{image}}, {Role: ToolRole, Parts: []Part{text}}}, false},
		{[]Message{{Role: User, Parts: []Part{text}}, {Role: ToolRole, Parts: []Part{text, image}}}, true},
	} {
		if got := hasOptionalImage(x.messages); got != x.want {
			t.Errorf("%+v: %t", x.messages, got)
		}
	}
	most := strings.Repeat("é", maxDescription)
	for description, want := range map[string]string{"": "", most: most, most + "x": most[2:] + "…"} {
		if got := shortText(description); got != want {
			t.Errorf("%d bytes: %d bytes", len(description), len(got))
		}
		if got := hasLongDescription(&Request{Tools: []Tool{{Description: "short"}, {Description: description}}}); got != (description != want) {
			t.Errorf("%d bytes are long: %t", len(description), got)
		}
	}
}
