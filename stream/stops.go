package stream

import (
	"strings"

	"github.com/tidwall/gjson"
)

// stops are the finish reasons of all dialects, in lower case. A word that is not
// here may mean anything, so calls of such a reply do not run.
var stops = [...]struct {
	stop  Stop
	words string
}{
	{StopEnd, "stop end_turn eos eos_token eos_found stop_sequence stop_token stopped stop_string complete completed end finish finished done normal success"},
	{StopCalls, "tool_calls tool_call tool_use function_call function_calls"},
	{StopLength, "length max_tokens max_token model_length max_output_tokens max_completion_tokens token_limit limit"},
	{StopContext, "model_context_window_exceeded context_window_exceeded context_length_exceeded context_length"},
	{StopFilter, "content_filter content-filter content_filtered sensitive safety refusal recitation blocklist prohibited_content spii image_safety guardrail_intervened"},
	{StopPause, "pause_turn compaction"},
	{StopFailed, "error insufficient_system_resource network_error abort aborted cancelled canceled failed incomplete malformed_function_call function_call_filter unexpected_tool_call too_many_tool_calls"},
}

// stopOf returns the meaning of a finish reason. Some endpoints add details after a colon, as
// in "content_filter: SAFETY".
func stopOf(reason string) Stop {
	word, _, _ := strings.Cut(strings.ToLower(reason), ":")
	word = strings.TrimSpace(word)
	for _, s := range stops {
		for known := range strings.FieldsSeq(s.words) {
			if known == word {
				return s.stop
			}
		}
	}
	return StopUnknown
}

// tokenLimit returns the user's limit for the length of the answer, 0 for none.
func (r *Request) tokenLimit() int {
	limit := r.MaxTokens
	for _, p := range r.Params {
		switch p.Name {
		case "max_tokens", "max_completion_tokens", "max_output_tokens":
			limit = int(gjson.ParseBytes(p.Value).Int())
		}
	}
	return limit
}
