package stream

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// secondTurn is what must come of a stream in second-turn: the request that
// follows it, or how the reply ended. "assistant" stands for the message of the
// assistant in that request.
type secondTurn struct {
	stop    Stop
	failure string            // words of the error
	holds   map[string]string // gjson paths and what they hold, as JSON
	lacks   []string          // paths
	refuse  string            // answers the second request with 400
}

var secondTurns = map[string]secondTurn{
	"avian-kimi-both-reasoning-fields": {stop: StopCalls, holds: map[string]string{
		"assistant.reasoning_content": "~The user is asking", "assistant.reasoning_details.#": "1", "assistant.content": "null"}},
	"compaction-then-tool": {stop: StopCalls, holds: map[string]string{
		"assistant.content.0": `{"type":"compaction","content":"Earlier conversation summarized.","encrypted_content":"EpwB"}`}},
	"deepseek-empty-reasoning-content":     {stop: StopCalls, holds: map[string]string{"assistant.reasoning_content": `""`}},
	"finish-abort":                         {failure: "abort"},
	"finish-function-call-filter":          {failure: "MALFORMED_FUNCTION_CALL"},
	"finish-insufficient-system-resource":  {failure: "insufficient_system_resource"},
	"finish-model-context-window-exceeded": {stop: StopContext},
	"finish-network-error-with-call":       {stop: StopFailed},
	"finish-network-error":                 {failure: "network_error"},
	"finish-sensitive":                     {stop: StopFilter},
	"gemini-thought-in-content":            {stop: StopEnd},
	"incomplete-without-reason":            {stop: StopFailed},
	"litellm-thinking-blocks": {stop: StopCalls, holds: map[string]string{
		"assistant.thinking_blocks": `[{"type":"thinking","signature":"SIG","thinking":"Let me"}]`, "assistant.reasoning_content": `"Let me"`}},
	"minimax-split-reasoning": {stop: StopCalls, holds: map[string]string{
		"assistant.reasoning_details": `[{"type":"reasoning.text","id":"reasoning-text-1","format":"MiniMax-response-v1","index":0,"text":"The user wants a proof."}]`}},
	"mistral-thinking-then-call": {stop: StopCalls, holds: map[string]string{
		"assistant.content": `[{"type":"thinking","closed":true,"thinking":[{"type":"text","text":"Okay"}]}]`}},
	"odd-tool-ids": {stop: StopCalls, holds: map[string]string{
		"assistant.content.#.id": `["functions.get:0","functions_get_0"]`, "messages.2.content.#.tool_use_id": `["functions.get:0","functions_get_0"]`}},
	"openrouter-claude-haiku-fantasy":    oneSignedEntry,
	"openrouter-claude-haiku-ruby":       oneSignedEntry,
	"openrouter-claude-signed-roundtrip": oneSignedEntry,
	"vercelgw-claude-sonnet-4-sig":       oneSignedEntry,
	"openrouter-error-raw":               {failure: "Google: messages.3.content.0: Invalid `signature` in `thinking` block"},
	"pause-turn-web-search": {stop: StopPause, holds: map[string]string{
		"assistant.content.#": "25", "assistant.content.24.type": `"server_tool_use"`, "messages.#": "2", "assistant.content.0.signature": "~EuwJ"}},
	"phase-without-reasoning": {stop: StopCalls, holds: map[string]string{
		"input.1.phase": `"commentary"`, "input.1.content.0.text": "~Paris", "input.2.call_id": `"call_bdu9qeUgWjXRk2HxYJy0RBFe"`}},
	"tool-message-name-refused": {stop: StopCalls, refuse: "{\"error\":{\"message\":\"messages[3]: \\\"name\\\" is not supported by this endpoint\"}}",
		holds: map[string]string{"messages.2.role": `"tool"`}, lacks: []string{"messages.2.name"}},
	"whitespace-text-then-tool": {stop: StopCalls, holds: map[string]string{"assistant.content.#.type": `["tool_use"]`}},
}

var oneSignedEntry = secondTurn{stop: StopCalls, holds: map[string]string{
	"assistant.reasoning_details.#": "1", "assistant.reasoning_details.0.text": "~The user ", "assistant.reasoning_details.0.signature": "~E"}}

func testSecondTurn(t *testing.T, file string) {
	name := strings.TrimSuffix(filepath.Base(file), ".expect.json")
	want, ok := secondTurns[name]
	if !ok {
		t.Fatalf("there is no test of %s", name)
	}
	body, err := os.ReadFile(strings.TrimSuffix(file, ".expect.json") + ".sse")
	if err != nil {
		t.Fatal(err)
	}
	handlers := []http.HandlerFunc{stream(string(body)), status(500, "the second request")}
	if want.refuse != "" {
		handlers = []http.HandlerFunc{handlers[0], status(400, want.refuse), handlers[1]}
	}
	s := newModelServer(t, handlers...)
	c := newClient(t, Config{API: apiOf(file, body), BaseURL: s.URL})
	waits(c)
	r := withTools()
	reply, err := c.Reply(t.Context(), r, nil)
	if want.failure != "" {
		if err == nil || !strings.Contains(err.Error(), want.failure) {
			t.Fatalf("error %v, want %q", err, want.failure)
		}
		return
	}
	if err != nil || reply.Stop != want.stop {
		t.Fatalf("stop %d, want %d; %v", reply.Stop, want.stop, err)
	}
	r.Messages = append(r.Messages, reply.Message)
	written := writtenMessage(&reply.Message)
	for _, call := range reply.Message.Calls {
		r.Messages = append(r.Messages, Message{Role: ToolRole, CallID: call.ID, Name: call.Name, Parts: []Part{{Text: "ok"}}})
	}
	c.Reply(t.Context(), r, nil)
	second := s.last()
	want.check(t, second)

	// A conversation that was written and read again sends the same.
	if want.holds == nil || want.refuse != "" {
		return
	}
	again := Message{Role: Assistant, Parts: reply.Message.Parts, Calls: reply.Message.Calls}
	if state := gjson.GetBytes(written, StateMember); state.Exists() {
		if err := again.RestoreState([]byte(state.Raw)); err != nil {
			t.Fatal(err)
		}
	}
	messages := append([]Message{r.Messages[0], again}, r.Messages[2:]...)
	resumed := newClient(t, Config{API: apiOf(file, body), BaseURL: s.URL})
	waits(resumed)
	r.Messages = messages
	if from := resumed.Adopt(r, messages); from != "" {
		t.Errorf("dropped what is from %s", from)
	}
	resumed.Reply(t.Context(), r, nil)
	if name != "odd-tool-ids" && s.last() != second { // there is no state, so the ids may be another endpoint's
		t.Errorf("resumed\n got %s\nwant %s", s.last(), second)
	}
	r.Model = "other"
	if again.Opaque.api != "" && (resumed.Adopt(r, messages) == "" || messages[1].Opaque.api != "") {
		t.Error("another model gets the state")
	}
}

func (want *secondTurn) check(t *testing.T, request string) {
	t.Helper()
	at := func(path string) gjson.Result {
		return gjson.Get(request, strings.Replace(path, "assistant", `messages.#(role=="assistant")`, 1))
	}
	for path, value := range want.holds {
		got := at(path)
		begin, prefix := strings.CutPrefix(value, "~")
		if prefix && !strings.HasPrefix(got.Str, begin) && !strings.Contains(got.Str, begin) || !prefix && got.Raw != value && !sameJSON(got.Raw, value) {
			t.Errorf("%s: %.300s\nwant %s\nin %.2000s", path, got.Raw, value, request)
		}
	}
	for _, path := range want.lacks {
		if at(path).Exists() {
			t.Errorf("%s: %s", path, at(path).Raw)
		}
	}
}
