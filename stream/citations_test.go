package stream

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// citationsOf are the citations of a stream of events, or of one body.
func citationsOf(t *testing.T, api string, events ...string) (all []Citation) {
	t.Helper()
	body := events[0]
	if len(events) > 1 {
		body = "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
	}
	s := newModelServer(t, stream(body))
	c := newClient(t, Config{BaseURL: s.URL, API: api})
	if _, err := c.Reply(t.Context(), ask("hi"), &Sink{Cite: func(c Citation) error { all = append(all, c); return nil }}); err != nil {
		t.Fatal(err)
	}
	return all
}

// Each source is reported once, in every form in which the dialects name it.
func TestCitations(t *testing.T) {
	a, b := Citation{"A", "https://a.example", 0, 4}, Citation{"", "https://b.example", -1, -1}
	chat := `{"type":"url_citation","url_citation":{"start_index":0,"end_index":4,"title":"A","url":"https://a.example"}}`
	flat := `{"type":"url_citation","start_index":0,"end_index":4,"title":"A","url":"https://a.example"}`
	item := `{"type":"message","id":"m","content":[{"type":"output_text","text":"some text","annotations":[` + flat + `,{"type":"file_citation","file_id":"f","filename":"f.pdf","index":3}]}]}`
	file := Citation{"f.pdf", "", -1, -1}
	found := `{"type":"web_search_result_location","url":"https://a.example","title":"A","cited_text":"x"}`
	unplaced := Citation{"A", "https://a.example", -1, -1}
	for name, test := range map[string]struct {
		api    string
		events []string
		want   []Citation
	}{
		"chat, a delta": {"chat", []string{`{"choices":[{"delta":{"content":"some text","annotations":[` + chat + `]}}]}`,
			`{"choices":[{"delta":{"annotations":[` + chat + `]},"finish_reason":"stop"}]}`}, []Citation{a}},
		"chat, a message": {"chat", []string{`{"choices":[{"message":{"content":"some text","annotations":[` + chat + `]},"finish_reason":"stop"}]}`}, []Citation{a}},
		"Perplexity": {"chat", []string{`{"citations":["https://a.example","https://b.example"],"search_results":[{"title":"A","url":"https://a.example"}],"choices":[{"delta":{"content":"some"}}]}`,
			`{"citations":["https://a.example","https://b.example"],"choices":[{"delta":{"content":" text"},"finish_reason":"stop"}]}`}, []Citation{unplaced, b}},
		"messages": {"messages", []string{`{"type":"message_start","message":{"id":"m"}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"some text"}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":` + found + `}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"char_location","document_title":"D","start_char_index":1,"end_char_index":2}}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`}, []Citation{unplaced, {"D", "", -1, -1}}},
		"messages, whole": {"messages", []string{`{"type":"message","id":"m","content":[{"type":"text","text":"x","citations":[` + found + `]}],"stop_reason":"end_turn"}`}, []Citation{unplaced}},
		"responses": {"responses", []string{`{"type":"response.output_text.delta","item_id":"m","delta":"some text"}`, `{"type":"response.output_text.annotation.added","item_id":"m","annotation":` + flat + `}`,
			`{"type":"response.output_item.done","item":` + item + `}`, `{"type":"response.completed","response":{"status":"completed","output":[` + item + `]}}`}, []Citation{a, file}},
		"responses, whole": {"responses", []string{`{"object":"response","status":"completed","output":[` + item + `]}`}, []Citation{a, file}},
	} {
		if got := citationsOf(t, test.api, test.events...); !slices.Equal(got, test.want) {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

// An endpoint cannot make the list grow without bound, and a cut URL is not reported.
func TestCitationCaps(t *testing.T) {
	var list strings.Builder
	for i := range 3 * maxCitations {
		fmt.Fprintf(&list, `{"title":%q,"url":"https://a.example/%d"},`, strings.Repeat("é", maxCited), i)
	}
	got := citationsOf(t, "chat", `{"search_results":[`+list.String()+`{}],"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
	if n := len(got); n == 0 || n > maxCitations || len(got[0].Title) > maxCited+len("...") {
		t.Errorf("%d citations, the first %.100v", n, got[:min(n, 1)])
	}
	got = citationsOf(t, "chat", `{"citations":["https://a.example/`+strings.Repeat("x", maxCited)+`"],"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
	if len(got) != 0 {
		t.Errorf("a long URL: %d citations", len(got))
	}
}
