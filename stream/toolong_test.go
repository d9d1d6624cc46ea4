package stream

import (
	"math"
	"testing"
)

// TestRefuses holds the words in which endpoints refuse a request for its length, as
// their sources and reports of their users have them, and the share that they say would fit.
func TestRefusesLength(t *testing.T) {
	t.Parallel()
	tests := []struct {
		of      string
		status  int
		refusal string
		fits    float64
	}{
		{"OpenAI, chat", 400, "this model's maximum context length is 128000 tokens. however, your messages resulted in 160000 tokens. please reduce the length of the messages.", .8},
		{"OpenAI, with max_tokens", 400, "this model's maximum context length is 8192 tokens. however, you requested 10240 tokens (6144 in the messages, 4096 in the completion).", .8},
		{"OpenAI, responses", 400, "your input exceeds the context window of this model. please adjust your input and try again.", 0},
		{"OpenAI, code", 0, `context_length_exceeded`, 0},
		{"OpenAI, a minute's tokens", 429, "request too large for gpt-4o in organization org-12345 on tokens per min (tpm): limit 30000, requested 60000. the input or output tokens must be reduced", .5},
		{"Groq", 413, "request too large for model llama-3.3-70b on tokens per minute (tpm): limit 6000, requested 8000, please reduce your message size", .75},
		{"Anthropic", 400, "prompt is too long: 250000 tokens > 200000 maximum", .8},
		{"Anthropic, with max_tokens", 400, "input length and `max_tokens` exceed context limit: 190000 + 60000 > 200000, decrease input length or `max_tokens` and try again", .8},
		{"Anthropic, bytes", 413, "request exceeds the maximum size", 0},
		{"Bedrock", 400, "input is too long for requested model.", 0},
		{"Gemini", 400, "the input token count (1250000) exceeds the maximum number of tokens allowed (1000000).", .8},
		{"Mistral", 400, "prompt contains 40000 tokens and 0 draft tokens, too large for model with 32000 maximum context length", .8},
		{"OpenRouter", 400, "this endpoint's maximum context length is 128000 tokens. however, you requested about 160000 tokens (159000 of text input, 1000 in the output).", .8},
		{"xAI", 400, "this model's maximum prompt length is 131072 but the request contains 262144 tokens.", .5},
		{"llama-server", 400, "request (5000 tokens) exceeds the available context size (4000 tokens), try increasing it", .8},
		{"llama-server before", 500, "the request exceeds the available context size. try increasing the context size or enable context shift", 0},
		{"vLLM", 400, "'max_tokens' or 'max_completion_tokens' is too large: 4096. this model's maximum context length is 8192 tokens and your request has 6144 input tokens (4096 > 8192 - 6144).", .8},
		{"SGLang", 400, "the input (5000 tokens) is longer than the model's context length (4000 tokens).", .8},
		{"TGI", 422, "input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. given: 4600 `inputs` tokens and 1000 `max_new_tokens`", .903},
		{"LM Studio", 400, "the number of tokens to keep from the initial prompt is greater than the context length (n_keep: 5000 >= n_ctx: 4000).", .8},
		{"Ollama", 400, "the input length exceeds the context length", 0},
		{"Copilot", 400, "prompt token count of 80000 exceeds the limit of 64000", .8},
		{"Kimi", 400, "invalid request: your request exceeded model token limit: 262144 (requested: 327680)", .8},
		{"MiniMax", 400, "invalid params, context window exceeds limit (2013)", 0},
		{"Z.ai", 400, "prompt exceeds max length", 0},
		{"DashScope", 400, "range of input length should be [1, 98304]", 0},
		{"Cohere", 400, "too many tokens: total number of tokens in the prompt cannot exceed 4000 - received 5000.", .8},
		{"Together", 422, "`inputs` must have less than 8,000 tokens. given: 10,000", .8},
		{"a proxy", 413, "<html><head><title>413 request entity too large</title></head></html>", 0},
	}
	for _, test := range tests {
		if !refusesLength(readRefusal(test.status, []byte(test.refusal))) {
			t.Errorf("%s: not taken for a refusal for length", test.of)
		}
		if fits := fittingShare(test.refusal); math.Abs(fits-test.fits) > .001 {
			t.Errorf("%s: a share of %.3f would fit, want %.3f", test.of, fits, test.fits)
		}
	}
}

// TestRefusesOther holds refusals that a shorter conversation would not mend.
func TestRefusesLengthOther(t *testing.T) {
	t.Parallel()
	for refusal, status := range map[string]int{
		"max_tokens is too large: 100000. this model supports at most 16384 completion tokens, whereas you provided 100000.": 400,
		"max_tokens: 128000 > 64000, which is the maximum allowed number of output tokens for claude":                        400,
		"rate limit reached for gpt-4o on tokens per min (tpm): limit 30000, used 29000, requested 2000":                     429,
		"too many requests": 429,
		"messages.0.content.1.image: image exceeds 5 mb maximum: 6000000 bytes > 5242880 bytes":                                 400,
		"invalid 'tools': array too long. expected an array with maximum length 128, but got an array with length 129 instead.": 400,
		"tools.0.function.description: string too long":                                                                         400,
		"max_tokens: input should be greater than 0":                                                                            400,
		"temperature: input should be less than or equal to 1":                                                                  400,
		"unsupported parameter: 'max_tokens' is not supported with this model. use 'max_completion_tokens' instead.":            400,
		"incorrect api key provided":                            401,
		"the model `long-context` does not exist":               404,
		"this model does not support assistant message prefill": 400,
	} {
		if refusesLength(readRefusal(status, []byte(refusal))) {
			t.Errorf("taken for a refusal for length: %s", refusal)
		}
	}
}
