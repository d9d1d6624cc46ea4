package stream

import (
	"slices"
	"strconv"
	"strings"
)

// refusesLength reports whether a refusal says that the request is longer than the
// model's context or than the endpoint's limit. The words differ from provider to provider.
// They name the thing that is too long, a prompt, an input, messages or tokens, and say so;
// OpenAI and llama-server add a code. A max_tokens that does not fit into the context after the
// conversation is refused in the same words.
func refusesLength(f *refusal) bool {
	has := func(words ...string) bool { return containsAny(f.words, words...) }
	switch f.status {
	case 413:
		return true
	case 0, 400, 422, 500: // 0: an error event; 500: llama-server until 2025
	case 429:
		return has("request too large") // OpenAI: more tokens than a minute allows
	default:
		return false
	}
	if f.param != "" && !namesConversation(f.param) {
		return false
	}
	if has("上下文") && has("超出", "超过", "过长") {
		return true
	}
	isOther := has("image", "pdf", "tools", "description", "per minute", "supports at most", "output tokens", "array too long")
	return has("context_length_exceeded", "exceed_context_size", "request_too_large", "model_max_prompt_tokens_exceeded") ||
		!isOther && has("token", "context", "prompt", "input", "messages", "conversation") &&
			has("too long", "too large", "too many", "exceed", "longer than", "larger than", "greater than the context", "overflow", "reduce the length",
				"maximum context length", "maximum prompt length", "context length is only", "context size is", "must have less than", "must be <=", "range of input length")
}

// namesConversation reports whether the field of a request holds the conversation or a text in it.
func namesConversation(field string) bool {
	base := strings.FieldsFunc(field, func(r rune) bool { return r == '[' || r == '.' })
	return len(base) > 0 && slices.Contains([]string{"messages", "input", "prompt", "contents", "system", "instructions"}, base[0]) &&
		(len(base) == 1 || slices.Contains([]string{"content", "text", "output", "parts", "input"}, base[len(base)-1]))
}

// fittingShare returns the share of the request that the endpoint would have accepted: the limit
// divided by the requested number of tokens, as its refusal for length names them. It is 0 if
// the text does not name both. The larger of two numbers is the requested one. Of three and
// more, such as an input and a max_tokens beside the limit, it is the number that is the sum of
// two others; if there is none, the largest is the limit, and the sum of the next two is
// requested. The share is never below leastShare: a number may be something else.
func fittingShare(refusal string) float64 {
	numbers := tokenCounts(refusal)
	if len(numbers) < 2 {
		return 0
	}
	slices.Sort(numbers)
	largest := numbers[len(numbers)-1]
	rest := numbers[:len(numbers)-1]
	limit, asked := rest[len(rest)-1], largest
	if len(numbers) > 2 {
		isSum := false
		for i, n := range rest {
			for k, m := range rest[:i] {
				if n+m == largest {
					isSum = true
					limit = slices.Max(append(slices.Concat(rest[:k], rest[k+1:i], rest[i+1:]), 0))
				}
			}
		}
		if !isSum {
			limit, asked = largest, rest[len(rest)-1]+rest[len(rest)-2]
		}
	}
	if limit <= 0 || asked <= limit {
		return 0
	}
	return max(float64(limit)/float64(asked), leastShare)
}

const leastShare = 0.1

// fewestTokens is less than any context has: smaller numbers in a refusal are something else.
const fewestTokens = 256

// tokenCounts returns the different numbers of a text in lower case that may count tokens. A part
// of a word, such as the 4 of gpt-4, is no number; 128,000 is one.
func tokenCounts(text string) (counts []int) {
	isDigit := func(c byte) bool { return '0' <= c && c <= '9' }
	goesOn := func(c byte) bool { return isWord(c) || c == '-' || c == '.' }
	for i := 0; i < len(text); i++ {
		if !isDigit(text[i]) {
			continue
		}
		from := i
		for i < len(text) && (isDigit(text[i]) || text[i] == ',' && i+1 < len(text) && isDigit(text[i+1])) {
			i++
		}
		before := from > 0 && goesOn(text[from-1])
		behind := i < len(text) && goesOn(text[i]) && !(text[i] == '.' && (i+1 == len(text) || !isDigit(text[i+1])))
		n, err := strconv.Atoi(strings.ReplaceAll(text[from:i], ",", ""))
		if err == nil && !before && !behind && n >= fewestTokens && !slices.Contains(counts, n) {
			counts = append(counts, n)
		}
	}
	return counts
}
