package turn

import (
	"slices"
	"testing"

	"toolpipe/stream"
)

// TestOpenCalls: open are the calls of the last assistant message without an answer,
// and only tool messages and one user message may come behind it.
func TestOpenCalls(t *testing.T) {
	user, system := stream.Message{Role: stream.User}, stream.Message{Role: stream.System}
	calls := stream.Message{Role: stream.Assistant, Parts: []stream.Part{{Text: "so "}, {JSON: []byte(`"far"`)}}, Calls: []stream.Call{{ID: "a"}, {ID: "b"}}}
	answer := func(id string) stream.Message { return stream.Message{Role: stream.ToolRole, CallID: id} }
	for name, x := range map[string]struct {
		messages []stream.Message
		open     []string
		text     string
	}{
		"a user message":             {[]stream.Message{user}, nil, ""},
		"a system message":           {[]stream.Message{system}, nil, ""},
		"an answer alone":            {[]stream.Message{answer("a")}, nil, ""},
		"answers behind a user":      {[]stream.Message{user, answer("a")}, nil, ""},
		"no answer":                  {[]stream.Message{user, calls}, []string{"a", "b"}, "so far"},
		"calls alone":                {[]stream.Message{calls}, []string{"a", "b"}, "so far"},
		"one answer":                 {[]stream.Message{user, calls, answer("a")}, []string{"b"}, "so far"},
		"both answers":               {[]stream.Message{user, calls, answer("b"), answer("a")}, nil, "so far"},
		"a user behind":              {[]stream.Message{user, calls, answer("b"), user}, []string{"a"}, ""},
		"a user at once":             {[]stream.Message{calls, user}, []string{"a", "b"}, ""},
		"two users behind":           {[]stream.Message{calls, user, user}, nil, ""},
		"a system message behind":    {[]stream.Message{calls, system}, nil, ""},
		"answers to earlier calls":   {[]stream.Message{calls, answer("a"), answer("b"), user, calls}, []string{"a", "b"}, "so far"},
		"a user between the answers": {[]stream.Message{calls, answer("a"), user, answer("b")}, nil, ""},
	} {
		open, text := openCalls(x.messages)
		var ids []string
		for _, c := range open {
			ids = append(ids, c.ID)
		}
		if !slices.Equal(ids, x.open) || text != x.text {
			t.Errorf("%s: %q %q", name, ids, text)
		}
	}
}
