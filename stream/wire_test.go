package stream

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// expectation is NAME.expect.json of the recorded streams.
type expectation struct {
	Text      string
	Reasoning string
	ToolCalls []struct{ ID, Name, Arguments string } `json:"tool_calls"`
	Finish    *string                                `json:"finish_reason"`
	Usage     json.RawMessage
	Model     *string
	Done      bool
	Error     *struct {
		Message string
		Data    string
	}
	Truncated bool
	Refusal   string
	Protocol  string
	Reads     json.RawMessage
	HTTP      struct {
		Status   int
		Encoding string `json:"content_encoding"`
	}
	Quirks       []string
	WithoutThink *string `json:"text_without_think"`
	InThink      *string `json:"reasoning_in_think"`
}

// The recorded streams come out as their expectations say, in the reads that
// they name, byte by byte and whole. They are not part of this repository. Of the
// streams in second-turn the next request is looked at too.
func TestWire(t *testing.T) {
	root := os.Getenv("TOOLPIPE_WIRE")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "wire")
	}
	var files []string
	for _, folder := range []string{"chat", "messages", "responses", "quirks", "second-turn"} {
		found, _ := filepath.Glob(filepath.Join(root, folder, "*.expect.json"))
		files = append(files, found...)
	}
	if len(files) == 0 {
		t.Skipf("no recorded streams in %s; TOOLPIPE_WIRE names the folder that holds them", root)
	}
	for _, file := range files {
		name, _ := filepath.Rel(root, strings.TrimSuffix(file, ".expect.json"))
		t.Run(filepath.ToSlash(name), func(t *testing.T) {
			t.Parallel()
			testRecording(t, file)
			if filepath.Dir(name) == "second-turn" {
				testSecondTurn(t, file)
			}
		})
	}
}

func testRecording(t *testing.T, file string) {
	var want expectation
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &want)
	}
	if err != nil {
		t.Fatal(err)
	}
	in := bodyIn{api: want.Protocol}
	if in.data, err = os.ReadFile(strings.TrimSuffix(file, ".expect.json") + ".sse"); err != nil {
		t.Fatal(err)
	}
	if in.api == "" {
		in.api = apiOf(file, in.data)
	}
	if slices.Contains(want.Quirks, "text-done-differs") { // deltas were taken out of the recording; the whole text has what they held
		want.Text = wholeText(in.data)
	}
	want.takeMessage(in.data)
	if want.HTTP.Encoding != "" {
		in.header = http.Header{"Content-Encoding": {want.HTTP.Encoding}}
	}
	var reads []int
	json.Unmarshal(want.Reads, &reads)
	for name, sizes := range map[string][]int{"whole": nil, "bytes": {1}, "reads": reads} {
		in.reads = sizes
		got := decode(t, in)
		if want.HTTP.Status >= 400 {
			got.err = refusalOf(in.data, want.HTTP.Status)
		}
		checkRecording(t, name, got, &want)
	}
	if want.WithoutThink != nil {
		in.request.ThinkTags = true
		in.reads = []int{1}
		if got := decode(t, in); got.text != *want.WithoutThink || got.reasoning != *want.InThink {
			t.Errorf("think tags: text %q, reasoning %q", got.text, got.reasoning)
		}
	}
}

// takeMessage takes what the expectations leave out, which were made of deltas alone: the calls
// that a message of Anthropic's API begins with, and why it was refused.
func (want *expectation) takeMessage(data []byte) {
	for line := range bytes.Lines(data) {
		event := gjson.ParseBytes(bytes.TrimPrefix(line, []byte("data: ")))
		for _, block := range event.Get("message.content").Array() {
			if block.Get("type").Str == "tool_use" && event.Get("type").Str == "message_start" {
				want.ToolCalls = append(want.ToolCalls, struct{ ID, Name, Arguments string }{block.Get("id").Str, block.Get("name").Str, block.Get("input").Raw})
			}
		}
		if why := event.Get("delta.stop_details.explanation").Str; why != "" {
			want.Refusal = why
		}
	}
}

// apiOf returns the API of a stream: the name of its folder, or what its events are.
func apiOf(file string, stream []byte) string {
	switch folder := filepath.Base(filepath.Dir(file)); {
	case folder != "second-turn":
		return folder
	case bytes.Contains(stream, []byte("message_start")):
		return "messages"
	case bytes.Contains(stream, []byte("response.created")):
		return "responses"
	}
	return "chat"
}

// wholeText returns the text in the last event of a response.
func wholeText(stream []byte) (text string) {
	var last struct {
		Response struct {
			Output []struct{ Content []struct{ Text string } }
		}
	}
	json.Unmarshal(stream[bytes.LastIndex(stream, []byte("\ndata: "))+len("\ndata: "):], &last)
	for _, item := range last.Response.Output {
		for _, part := range item.Content {
			text += part.Text
		}
	}
	return text
}

// refusalOf is the error of an HTTP status with this body.
func refusalOf(body []byte, status int) error {
	x := newExchange(&chatDialect, &Request{}, &Sink{})
	return x.refused(&http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))})
}

func checkRecording(t *testing.T, name string, got decoded, want *expectation) {
	t.Helper()
	if got.text != want.Text {
		t.Errorf("%s: text %q\nwant %q", name, got.text, want.Text)
	}
	if got.reasoning != want.Reasoning {
		t.Errorf("%s: reasoning %q\nwant %q", name, got.reasoning, want.Reasoning)
	}
	if failedWithCalls := got.err == nil && got.reply.Stop == StopFailed; want.Error != nil && !failedWithCalls || want.Truncated {
		checkFailure(t, name, got, want)
		return
	}
	if got.err != nil {
		t.Errorf("%s: %v", name, got.err)
		return
	}
	r := got.reply
	if s := textOfParts(r.Message.Parts); s != want.Text && !(r.HasAside && strings.HasSuffix(want.Text, s)) {
		t.Errorf("%s: text of the message %q\nwant %q", name, s, want.Text)
	}
	if want.Finish != nil && r.Finish != *want.Finish && stopOf(r.Finish) != stopOf(*want.Finish) {
		t.Errorf("%s: finish %q, want %q", name, r.Finish, *want.Finish)
	}
	if want.Model != nil && r.Model != *want.Model {
		t.Errorf("%s: model %q, want %q", name, r.Model, *want.Model)
	}
	if r.Refusal != want.Refusal {
		t.Errorf("%s: refusal %q, want %q", name, r.Refusal, want.Refusal)
	}
	if got.done != want.Done {
		t.Errorf("%s: done %v, want %v", name, got.done, want.Done)
	}
	if u := usageOf(want.Usage); r.Usage != u {
		t.Errorf("%s: usage %+v, want %+v of %s", name, r.Usage, u, want.Usage)
	}
	checkCalls(t, name, r.Message.Calls, want)
}

func checkFailure(t *testing.T, name string, got decoded, want *expectation) {
	t.Helper()
	if got.err == nil {
		t.Errorf("%s: no error", name)
		return
	}
	if want.Error == nil || want.Error.Data != "" || want.Error.Message == "not an event stream" || want.Error.Message == "empty body" {
		return // the words are ours
	}
	if !strings.Contains(strings.ReplaceAll(got.err.Error(), `"`, ""), strings.ReplaceAll(strings.TrimSuffix(clean(want.Error.Message, 100), " …"), `"`, "")) {
		t.Errorf("%s: error %q does not hold %q", name, got.err, want.Error.Message)
	}
}

func checkCalls(t *testing.T, name string, got []Call, want *expectation) {
	t.Helper()
	if len(got) != len(want.ToolCalls) {
		t.Errorf("%s: %d calls, want %d: %v", name, len(got), len(want.ToolCalls), got)
		return
	}
	for i, w := range want.ToolCalls {
		g := got[i]
		if g.Name != w.Name || (w.ID != "" && g.ID != w.ID) || g.ID == "" {
			t.Errorf("%s: call %s %q, want %s %q", name, g.ID, g.Name, w.ID, w.Name)
		}
		if a := string(g.Arguments); a != w.Arguments && !sameJSON(a, w.Arguments) {
			t.Errorf("%s: arguments %q, want %q", name, a, w.Arguments)
		}
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	s, _ := json.Marshal(x)
	r, _ := json.Marshal(y)
	return bytes.Equal(s, r)
}

// usageOf reads the usage object of any dialect, in another way than the
// decoders do.
func usageOf(raw json.RawMessage) Usage {
	var u struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
		Input      int `json:"input_tokens"`
		Output     int `json:"output_tokens"`
		Hit        int `json:"prompt_cache_hit_tokens"`
		CacheRead  int `json:"cache_read_input_tokens"`
		CacheWrite int `json:"cache_creation_input_tokens"`
		Flat       int `json:"cached_tokens"`
		Total      int `json:"total_tokens"`

		PromptDetails struct {
			Cached  int `json:"cached_tokens"`
			Written int `json:"cache_write_tokens"`
		} `json:"prompt_tokens_details"`
		InputDetails struct {
			Cached  int `json:"cached_tokens"`
			Written int `json:"cache_write_tokens"`
		} `json:"input_tokens_details"`
		CompletionDetails struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
		OutputDetails struct {
			Reasoning int `json:"reasoning_tokens"`
			Thinking  int `json:"thinking_tokens"`
		} `json:"output_tokens_details"`
	}
	json.Unmarshal(raw, &u)
	cached := u.PromptDetails.Cached + u.InputDetails.Cached + u.CacheRead
	for _, n := range []int{u.Hit, u.Flat} {
		if cached == 0 {
			cached = n
		}
	}
	input, output := u.Prompt+u.Input+u.CacheRead+u.CacheWrite, u.Completion+u.Output
	return Usage{
		Input: input, Output: max(output, u.Total-input),
		Reasoning: u.CompletionDetails.Reasoning + u.OutputDetails.Reasoning + u.OutputDetails.Thinking,
		Cached:    cached, CacheWrite: max(u.PromptDetails.Written+u.InputDetails.Written, u.CacheWrite),
	}
}
