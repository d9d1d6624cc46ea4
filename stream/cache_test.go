package stream

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// Of two following requests of a run, the earlier is the beginning of the later
// but for what closes it, so that an endpoint finds all of it in its cache.
func TestRequestsGrow(t *testing.T) {
	picture := Part{Image: &Image{MIME: "image/png", Data: "QUJD"}}
	user := Message{Role: User, Parts: []Part{{Text: "look"}, picture}}
	plain := Message{Role: User, Parts: []Part{{Text: "hi"}}}
	calls := func(ids ...string) (m Message) {
		m.Role = Assistant
		for _, id := range ids {
			m.Calls = append(m.Calls, Call{ID: id, Name: "look", Arguments: []byte(`{"a":1}`)})
		}
		return m
	}
	result := func(id string, parts ...Part) Message {
		return Message{Role: ToolRole, CallID: id, Name: "look", Parts: parts}
	}
	text := Part{Text: "seen"}
	answer := Message{Role: Assistant, Parts: []Part{{Text: "done"}}}
	rounds := [][]Message{
		{calls("call00001", "call00002"), result("call00001", text), result("call00002", text, picture)},
		{calls("call00003"), result("call00003", picture)},
		{calls("call00004"), result("call00004", text)},
		{answer, plain},
		{calls("call00005"), result("call00005", text)},
	}
	system := Message{Role: System, Parts: []Part{{Text: "frame"}}}
	for name, begin := range map[string][]Message{
		"fresh":   {system, plain},
		"picture": {user},
		"resumed": {system, plain, calls("old"), result("old", picture), answer, user},
		"open":    {plain, calls("old"), result("old", text)},
	} {
		for _, api := range APIs() {
			for _, noToolRole := range []bool{false, true} {
				t.Run(fmt.Sprint(name, " ", api, " ", noToolRole), func(t *testing.T) {
					c := newClient(t, Config{API: api, BaseURL: "https://api.openai.com/v1", NoToolRole: noToolRole})
					r := &Request{Model: "m", Messages: begin, Tools: []Tool{{Name: "look", Schema: []byte(`{"type":"object"}`)}}, MaxTokens: 9}
					before := c.body(r).bytes()
					for i, round := range rounds {
						r.Messages = append(r.Messages[:len(r.Messages):len(r.Messages)], round...)
						c.options.answered = true
						now := c.body(r).bytes()
						closing := len("]}")
						if api == "messages" {
							closing = len("]}]}")
						}
						if kept := before[:len(before)-closing]; !bytes.HasPrefix(now, kept) {
							t.Fatalf("after round %d:\n%s\nis not the beginning of\n%s", i+1, kept, now)
						}
						before = now
					}
				})
			}
		}
	}
}

// OpenAI, and who says so, gets prompt_cache_key: the same for the same head and
// first message, whatever follows, and another one for others.
func TestPromptCacheKey(t *testing.T) {
	for _, api := range []string{"chat", "responses"} {
		key := func(cfg Config, r *Request) string {
			cfg.API = api
			body := string(newClient(t, cfg).body(r).bytes())
			_, rest, _ := strings.Cut(body, `"prompt_cache_key":"`)
			key, _, _ := strings.Cut(rest, `"`)
			return key
		}
		openai := Config{BaseURL: "https://api.openai.com/v1"}
		longer := ask("hi")
		longer.Messages = append(longer.Messages, Message{Role: Assistant, Parts: []Part{{Text: "hello"}}}, ask("more").Messages[0])
		first := key(openai, ask("hi"))
		if first == "" || first != key(openai, longer) || first == key(openai, ask("ho")) {
			t.Errorf("%s: %q, longer %q, other %q", api, first, key(openai, longer), key(openai, ask("ho")))
		}
		if other := key(Config{BaseURL: "https://gateway.example/v1", CacheKey: true}, ask("hi")); other != first {
			t.Errorf("%s: asked for: %q", api, other)
		}
		for _, url := range []string{"https://gateway.example/v1", "https://x.openai.azure.com/v1", "https://api.openai.com.evil.example/v1"} {
			if other := key(Config{BaseURL: url}, ask("hi")); other != "" {
				t.Errorf("%s: %s got %q", api, url, other)
			}
		}
	}
	if body := newClient(t, Config{API: "messages", BaseURL: "https://api.openai.com/v1", CacheKey: true}).body(ask("hi")).bytes(); bytes.Contains(body, []byte("prompt_cache_key")) {
		t.Errorf("%s", body)
	}
}

// What a gateway does not know of the cache is left out, step by step.
func TestCacheRepairs(t *testing.T) {
	const done = `{"type":"message","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn"}`
	for _, test := range []struct {
		api, refused, reply string
		requests            int
	}{
		{"messages", `"cache_control":{"type":"ephemeral"},"tools"`, done, 2},
		{"messages", `"cache_control"`, done, 3},
		{"chat", `"prompt_cache_key"`, hello, 2},
	} {
		var s *modelServer
		s = newModelServer(t, func(w http.ResponseWriter, r *http.Request) {
			if strings.Contains(s.last(), test.refused) {
				status(400, `{"error":{"message":"`+strings.Trim(strings.Split(test.refused, ":")[0], `"`)+`: Extra inputs are not permitted"}}`)(w, r)
				return
			}
			status(200, test.reply)(w, r)
		})
		c := newClient(t, Config{API: test.api, BaseURL: s.URL, CacheKey: true})
		r := ask("hi")
		r.Tools = []Tool{{Name: "look", Schema: []byte(`{"type":"object"}`)}}
		if _, err := c.Reply(t.Context(), r, nil); err != nil || s.requests() != test.requests {
			t.Errorf("%s: %d requests, %v", test.refused, s.requests(), err)
		}
	}
}

// What else a tool_choice says that forces a call stays behind the first request.
func TestForcedCallKeeps(t *testing.T) {
	for choice, want := range map[string]string{
		`{"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"f"}]}`:                                `{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"f"}]}`,
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","function":{"name":"f"}}]}}`: `{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"f"}}]}}`,
		`{"type":"any","disable_parallel_tool_use":true}`:                                                                    `{"type":"auto","disable_parallel_tool_use":true}`,
	} {
		s := newModelServer(t, stream(hello))
		c := newClient(t, Config{BaseURL: s.URL})
		r := ask("hi")
		r.Params = []Param{{Name: "tool_choice", Value: []byte(choice)}}
		for i, sent := range []string{choice, want, want} {
			if _, err := c.Reply(t.Context(), r, nil); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(s.last(), `"tool_choice":`+sent) {
				t.Errorf("%s: request %d: %s", choice, i+1, s.last())
			}
		}
	}
}

// A tool_choice that forces a call goes with the first request only: with each
// of them, no answer would ever come.
func TestForcedCall(t *testing.T) {
	for choice, stays := range map[string]bool{
		`"auto"`: true, `"none"`: true, `{"type":"auto"}`: true, `{"type":"none"}`: true, `{"type":"allowed_tools","mode":"auto","tools":[]}`: true, `null`: true,
		`{"type":"allowed_tools","allowed_tools":{"mode":"auto"}}`: true,
		`"required"`: false, `"any"`: false, `{"type":"any"}`: false, `{"type":"function","function":{"name":"f"}}`: false, `{"type":"tool","name":"f"}`: false,
		`{"type":"allowed_tools","mode":"required"}`: false,
	} {
		s := newModelServer(t, stream(hello))
		c := newClient(t, Config{BaseURL: s.URL})
		r := ask("hi")
		r.Params = []Param{{Name: "tool_choice", Value: []byte(choice)}}
		for i := range 3 {
			if _, err := c.Reply(t.Context(), r, nil); err != nil {
				t.Fatal(err)
			}
			if sent := strings.Contains(s.last(), `"tool_choice":`+choice); sent != (i == 0 || stays) {
				t.Errorf("%s in request %d: %v", choice, i+1, sent)
			}
		}
	}
}
