//go:build unix

package endtoend

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
	"toolpipe/testdata/load"
)

// A limitedModel asks for rounds of calls with large results, and takes so many tokens: a
// longer request is refused in the words of one provider, or cut in silence.
type limitedModel struct {
	api    string
	status int
	words  string // the body of a refusal; %[1]d is the tokens of the request, %[2]d the limit; "": the endpoint cuts in silence

	limit, rounds, bytes int

	mu      sync.Mutex
	sums    []string // of the requests that were answered
	longest int      // tokens of one of them
	refused int
}

func (m *limitedModel) answer(w io.Writer, r *http.Request, body []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	tokens := len(body) / 4
	if tokens > m.limit && m.words != "" {
		m.refused++
		text := m.words
		if strings.Contains(text, "%") {
			text = fmt.Sprintf(text, tokens, m.limit)
		}
		if m.status == 200 {
			head(w, 200, eventStream)
			fmt.Fprintf(w, "event: error\ndata: %s\n\n", text)
		} else {
			head(w, m.status, "Content-Type: application/json")
			io.WriteString(w, text)
		}
		return false
	}
	m.sums = append(m.sums, fmt.Sprintf("%x", sha256.Sum256(body)))
	m.longest = max(m.longest, tokens)
	results := map[string]string{"chat": `messages.#(role=="tool")#`, "messages": `messages.#(role=="assistant")#`, "responses": `input.#(type=="function_call")#`}
	n := len(gjson.GetBytes(body, results[m.api]).Array())
	c := newReplyWriter(m.api, n)
	head(w, 200, eventStream)
	reply := c.text("Done") + c.finish("stop")
	if n < m.rounds {
		reply = c.call(fmt.Sprintf("call_%d", n), "fs__big", fmt.Sprintf(`{"bytes":%d}`, m.bytes)) + c.finish("calls")
	}
	io.WriteString(w, reply+c.usage(min(tokens, m.limit), 5)+c.done())
	return false
}

// refusals are the words of providers. Where they hold numbers, the request is trimmed by them.
var refusals = []limitedModel{
	{api: "chat", status: 400, words: `{"error":{"message":"This model's maximum context length is %[2]d tokens. However, your messages resulted in %[1]d tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`},
	{api: "responses", status: 200, words: `{"type":"error","code":"context_length_exceeded","message":"Your input exceeds the context window of this model. Please adjust your input and try again."}`},
	{api: "messages", status: 400, words: `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: %[1]d tokens > %[2]d maximum"}}`},
	{api: "messages", status: 413, words: `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`},
	{api: "chat", status: 400, words: `{"error":{"code":400,"message":"request (%[1]d tokens) exceeds the available context size (%[2]d tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":%[1]d,"n_ctx":%[2]d}}`},
	{api: "chat", status: 500, words: `{"error":{"code":500,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"server_error"}}`},
	{api: "chat", status: 400, words: `{"object":"error","message":"'max_tokens' or 'max_completion_tokens' is too large: 1000. This model's maximum context length is %[2]d tokens and your request has %[1]d input tokens (1000 > %[2]d - %[1]d).","type":"BadRequestError","code":400}`},
	{api: "chat", status: 400, words: `[{"error":{"code":400,"message":"The input token count (%[1]d) exceeds the maximum number of tokens allowed (%[2]d).","status":"INVALID_ARGUMENT"}}]`},
	{api: "chat", status: 413, words: `<html><head><title>413 Request Entity Too Large</title></head></html>`},
}

// TestFaultTrim plays conversations that grow to many times what the model takes. Each ends
// without an error, and played again it makes the same requests.
func TestFaultTrim(t *testing.T) {
	t.Parallel()
	for i := range refusals {
		m := &refusals[i]
		t.Run(fmt.Sprint(m.api, " ", m.status, " ", i), func(t *testing.T) {
			t.Parallel()
			m.limit, m.rounds, m.bytes = 40_000, load.Of(t, map[bool]int{true: 200, false: 40}[i == 0], 30), 20_000
			model := serveRaw(t, m.answer)
			var first []string
			for again := range 2 {
				m.sums, m.refused = nil, 0
				s := newFault(t, "")
				s.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
				s.do(fmt.Sprintf(`toolpipe --api %s -o ndjson -y --max-rounds 1000 --max-tokens 1000 -t fs="$MCP -tools big" hi
events tool_result %d
event end.text Done
event warning.code trimmed`, m.api, m.rounds))
				if again == 0 {
					first = m.sums
				}
				if m.refused == 0 || m.refused > m.rounds/2 {
					t.Errorf("%d requests were refused", m.refused)
				}
				checkWarnings(t, s.stdout)
			}
			if !slices.Equal(first, m.sums) {
				t.Errorf("the second time other requests were sent: %d and %d", len(first), len(m.sums))
			}
		})
	}
}

// checkWarnings holds that a trim is told each time, and warned of once.
func checkWarnings(t *testing.T, events []byte) {
	t.Helper()
	trims, warnings := 0, 0
	for line := range strings.Lines(string(events)) {
		switch {
		case gjson.Get(line, "type").Str == "trim":
			trims++
		case gjson.Get(line, "code").Str == "trimmed":
			warnings++
		}
	}
	if trims < 2 || warnings != 1 {
		t.Errorf("%d trims, %d warnings", trims, warnings)
	}
}

// TestFaultTrimLimit holds that with a number no request is longer than that, and that an
// endpoint which cuts in silence is warned of without one.
func TestFaultTrimLimit(t *testing.T) {
	t.Parallel()
	for flag, warns := range map[string]bool{"--trim 30000": false, "--trim auto": true, "--trim off": true} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			m := &limitedModel{api: "chat", limit: 40_000, rounds: load.Of(t, 40, 30), bytes: 20_000}
			if !warns {
				m.limit = 1 << 30
			}
			model := serveRaw(t, func(w io.Writer, r *http.Request, body []byte) bool {
				if !warns {
					return m.answer(w, r, body)
				}
				tokens := len(body) / 4
				shown := min(tokens, m.limit) - max(0, tokens-m.limit)/10 // whole messages are left out
				c := newReplyWriter("chat", 1)
				n := len(gjson.GetBytes(body, `messages.#(role=="assistant")#`).Array())
				head(w, 200, eventStream)
				reply := c.text("Done") + c.finish("stop")
				if n < m.rounds {
					reply = c.call(fmt.Sprintf("call_%d", n), "fs__big", `{"bytes":20000}`) + c.finish("calls")
				}
				io.WriteString(w, reply+c.usage(shown, 5)+c.done())
				return false
			})
			s := newFault(t, "")
			s.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
			s.do(fmt.Sprintf(`toolpipe %s -o ndjson -y --max-rounds 1000 -t fs="$MCP -tools big" hi
events tool_result %d
event end.text Done`, flag, m.rounds))
			cut := strings.Contains(string(s.stdout), `"context_cut"`)
			trimmed := strings.Contains(string(s.stdout), `"type":"trim"`)
			if cut != warns || trimmed == warns || m.longest > 30_000 {
				t.Errorf("a warning of a cut: %t; trimmed: %t; the longest request had %d tokens", cut, trimmed, m.longest)
			}
		})
	}
}

// TestFaultTrimKilled kills runs whose requests are trimmed at random points. The session
// keeps every result whole, and what was left out stays so in later runs.
func TestFaultTrimKilled(t *testing.T) {
	t.Parallel()
	m := &refusals[0]
	own := limitedModel{api: "chat", status: 400, words: m.words, limit: 10_000, rounds: 12, bytes: 9000}
	model := serveRaw(t, own.answer)
	s := newFault(t, "")
	s.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
	kills := load.Of(t, 24, 12)
	for conversation, killed := 0, 0; killed < kills; conversation++ {
		file := fmt.Sprintf("s%d.jsonl", conversation)
		command := `toolpipe -y --max-rounds 100 --session ` + file + ` -t fs="$MCP -tools big"`
		prompt, before := " hi", ""
		for range 6 {
			s.begin(command + prompt + " &")
			time.Sleep(time.Duration(killed%17) * 15 * time.Millisecond)
			syscall.Kill(s.running.pid, syscall.SIGKILL)
			s.begin("wait => any")
			killed++
			data, _ := s.read(file)
			whole := string(data[:strings.LastIndexByte(string(data), '\n')+1])
			if !strings.HasPrefix(whole, before) {
				t.Fatalf("the session lost lines:\n%s", whole)
			}
			if before = whole; strings.Contains(whole, `"role":"user"`) {
				prompt = " </dev/null"
			}
			if strings.Contains(whole, `"content":"Done"`) {
				break
			}
		}
		if prompt == " </dev/null" {
			prompt = " --no-stdin"
		}
		s.begin(command + prompt)
		s.begin("toolpipe --session " + file + " -o messages --no-stdin")
		for _, result := range gjson.GetBytes(s.stdout, `#(role=="tool")#`).Array() {
			if text := result.Get("content").Str; len(text) < own.bytes && !strings.HasPrefix(text, "[toolpipe] outcome unknown") {
				t.Fatalf("a result is not whole: %.200s", text)
			}
		}
		os.Remove(file)
	}
	if own.longest > own.limit || own.refused == 0 {
		t.Errorf("the longest request had %d tokens, %d were refused", own.longest, own.refused)
	}
}

// TestFaultTrimRounds holds that the number of rounds has no limit: when results are not enough,
// whole rounds are left out, and the requests are the same the second time. The last result of the
// conversation is read by the name that a mark gives it.
func TestFaultTrimRounds(t *testing.T) {
	t.Parallel()
	for _, m := range []*limitedModel{
		{api: "chat", limit: 1 << 30, rounds: load.Of(t, 2000, 400), bytes: 300},
		{api: "responses", limit: 1 << 30, rounds: 200, bytes: 300},
		{api: "messages", limit: 8000, rounds: 200, bytes: 300, status: 400, words: refusals[2].words},
	} {
		t.Run(m.api, func(t *testing.T) {
			t.Parallel()
			model := serveRaw(t, func(w io.Writer, r *http.Request, body []byte) bool { return m.endless(w, body) })
			var first []string
			for again := range 2 {
				m.sums = nil
				s := newFault(t, "")
				s.env["TOOLPIPE_BASE_URL"] = model.url() + "/v1"
				trim := map[bool]string{true: "8000", false: "auto"}[m.words == ""]
				s.do(fmt.Sprintf(`toolpipe --api %s -o ndjson -y --trim %s --max-rounds 10000 -t fs="$MCP -tools big" hi
event end.text Done
event end.tool_calls %d`, m.api, trim, m.rounds))
				if again == 0 {
					first = m.sums
				}
			}
			if m.longest > 8000 || !slices.Equal(first, m.sums) {
				t.Errorf("the longest request had %d tokens; %d and %d requests", m.longest, len(first), len(m.sums))
			}
		})
	}
}

// endless answers with one call after the other, whatever the requests leave out. Each tenth one
// reads the result of the first call again.
func (m *limitedModel) endless(w io.Writer, body []byte) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if tokens := len(body) / 4; tokens > m.limit {
		head(w, m.status, "Content-Type: application/json")
		fmt.Fprintf(w, m.words, tokens, m.limit)
		return false
	}
	m.sums = append(m.sums, fmt.Sprintf("%x", sha256.Sum256(body)))
	m.longest = max(m.longest, len(body)/4)
	n := len(m.sums)
	c := newReplyWriter(m.api, n)
	head(w, 200, eventStream)
	reply := c.text("Done") + c.finish("stop")
	if n <= m.rounds {
		name, args := "fs__big", fmt.Sprintf(`{"bytes":%d}`, m.bytes)
		if n%10 == 0 && strings.Contains(string(body), "results__read") {
			name, args = "results__read", `{"id":"r1"}`
		}
		reply = c.call(fmt.Sprintf("call_%d", n), name, args) + c.finish("calls")
	}
	io.WriteString(w, reply+c.usage(len(body)/4, 5)+c.done())
	return false
}
