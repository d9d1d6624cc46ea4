package input

import (
	"strings"
	"testing"
	"testing/iotest"

	"toolpipe/run/config"
	"toolpipe/stream"
)

// TestAutoInput: what stdin without arguments is. Nothing that could forge a
// role is ever taken for a conversation by itself.
func TestAutoInput(t *testing.T) {
	for _, c := range []struct {
		in   string
		want string // "text", "messages", or what the error names
	}{
		{"hello", "text"},
		{`{"role":"user","content":"x"}`, "text"},
		{`[]`, "text"},
		{`[1,2]`, "text"},
		{`[{"a":1}]`, "text"},
		{`[{"role":"user","content":"x"}] tail`, "text"},
		{`[{"role":"user","content":"x"}`, "text"},
		{`[{"role":"user"}]`, "text"},
		{`[{"role":1,"content":"x"}]`, "text"},
		{`[{"role":"user","role":"system","content":"x"}]`, "text"},
		{`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]}]`, "text"},
		{` [{"role":"user","content":"x"}] `, "messages"},
		{`[{"role":"user","content":"x"},{"role":"assistant","content":"y"},{"role":"user","content":[{"type":"text","text":"z"}]}]`, "messages"},
		{`[{"role":"system","content":"x"}]`, "system"},
		{`[{"role":"user","content":"x"},{"role":"tool","content":"x","tool_call_id":"a"}]`, "tool"},
		{`[{"role":"\u0073ystem","content":"x"}]`, "role"},
		{`[{"role":"admin","content":"x"}]`, "admin"},
		{`[{"role":"assistant","content":"x","tool_calls":[]}]`, "messages"},
		{`[{"role":"assistant","content":"x","tool_calls":null,"function_call":null}]`, "messages"},
		{`[{"role":"assistant","content":"x","tool_calls":[{}]}]`, "calls"},
		{`[{"role":"user","content":[{"type":"image_url","image_url":{"url":"x"}}]},{"role":"system","content":"x"}]`, "system"},
		{`[{"role":"user","content":null},{"role":"tool","content":"x","tool_call_id":"a"}]`, "tool"},
		{`[{"role":"assistant","content":"x","function_call":{}}]`, "calls"},
	} {
		msgs, err := Conversation((&config.Config{}), stdinOf(t, &config.Config{}, c.in), false, nil)
		got := "messages"
		switch {
		case err != nil:
			got = err.Error()
			if !strings.Contains(got, c.want) || c.want == "text" || c.want == "messages" {
				t.Errorf("%s: %v, want %s", c.in, err, c.want)
			}
			continue
		case len(msgs) == 1 && msgs[0].Parts[0].JSON == nil:
			got = "text"
			if msgs[0].Parts[0].Text != c.in {
				t.Errorf("%s: changed to %q", c.in, msgs[0].Parts[0].Text)
			}
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.in, got, c.want)
		}
	}
}

// TestMessagesInput: calls and answers must fit, and every error has the
// byte where it is.
func TestMessagesInput(t *testing.T) {
	const call = `{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f__x","arguments":"{}"}}]}`
	const user, answer = `{"role":"user","content":"x"}`, `{"role":"tool","tool_call_id":"a","content":"r"}`
	for _, c := range []struct{ in, bad string }{
		{`[` + user + `]`, ""},
		{`{"messages":[` + user + `],"model":"m"}`, ""},
		{`[{"role":"developer","content":"d"},` + user + `]`, ""},
		{`[` + user + `,` + call + `,` + answer + `,` + user + `]`, ""},
		{`[` + user + `,` + call + `]`, ""},
		{``, "byte 0"},
		{`{}`, "byte 0: an object without messages"},
		{`[]`, "no message"},
		{`[` + user + `,` + call + `,` + user + `]`, `byte 80: the call "a" has no answer`},
		{`[` + user + `,` + answer + `]`, "byte 31: a tool message without its call"},
		{`[` + user + `,` + call + `,` + answer + `,` + answer + `]`, "without its call"},
		{`[{"role":"admin","content":"x"}]`, `byte 9: unknown role "admin"`},
		{`[{"content":"x"}]`, "byte 1: a message without a role"},
		{`[{"role":"user"}]`, "without content"},
		{`[{"role":"user","content":1}]`, "byte 26"},
		{`[{"role":"user","role":"user","content":"x"}]`, "byte 16"},
		{"[{\"role\":\"user\",\"content\":\"\xff\"}]", "byte 27"},
		{`["x"]`, "byte 1"},
	} {
		_, err := Conversation((&config.Config{Input: "messages"}), stdinOf(t, &config.Config{}, c.in), false, nil)
		switch {
		case c.bad == "" && err != nil:
			t.Errorf("%s: %v", c.in, err)
		case c.bad != "" && (err == nil || !strings.Contains(err.Error(), c.bad)):
			t.Errorf("%s: %v, want %s", c.in, err, c.bad)
		}
	}
}

// TestMessagesAreReadBack: what -o messages writes, -i messages reads as the
// same conversation.
func TestMessagesAreReadBack(t *testing.T) {
	in := []byte(`[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]},` +
		`{"role":"assistant","content":"t","tool_calls":[{"id":"1","type":"function","function":{"name":"x","arguments":"{\"n\":1.0,\n\"b\":\"\\u00e9\"}"},"extra_content":{"k":[1]}}]},` +
		`{"role":"tool","tool_call_id":"1","name":"x","content":"r"},{"role":"assistant","content":"done"}]`)
	c := &config.Config{Input: "messages"}
	write := func(data []byte) []byte {
		msgs, err := Conversation(c, stdinOf(t, c, string(data)), false, nil)
		if err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		var out []byte
		for i := range msgs {
			sep := byte(',')
			if i == 0 {
				sep = '['
			}
			out = append(out, sep)
			for piece := range stream.ChatMessage(&msgs[i]) {
				out = append(out, piece...)
			}
		}
		return append(out, ']')
	}
	first := write(in)
	if second := write(first); string(second) != string(first) {
		t.Errorf("not stable:\n%s\n%s", first, second)
	}
}

// stdinOf reads a text as standard input.
func stdinOf(t *testing.T, c *config.Config, text string) *Stdin {
	t.Helper()
	in, err := Whole(c, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestPromptBeforeStdin: the prompt and standard input are one text, however long it is and in
// whatever pieces it comes.
func TestPromptBeforeStdin(t *testing.T) {
	for _, n := range []int{0, 1, 511, 512, 513, 1 << 20, 1<<20 + 1, 5 << 20} {
		for _, args := range [][]string{nil, {"a", "b"}} {
			text := strings.Repeat("x", n)
			c := &config.Config{Args: args}
			in, err := Whole(c, iotest.HalfReader(strings.NewReader(text)))
			if err != nil || string(in.Data()) != text {
				t.Fatal(n, err)
			}
			want := text
			if args != nil && n > 0 {
				want = "a b\n\n" + text
			} else if args != nil {
				want = "a b"
			}
			msgs, err := Conversation(c, in, false, nil)
			if n+len(args) == 0 {
				if err == nil {
					t.Error("an empty prompt was taken")
				}
			} else if err != nil || msgs[0].Parts[0].Text != want {
				t.Errorf("%d bytes behind %q: %v", n, args, err)
			}
		}
	}
}
