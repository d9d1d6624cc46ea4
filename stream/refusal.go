package stream

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// refusal is the statement of an endpoint that it does not answer. An answer with an HTTP status,
// an event of a stream and a response that failed are all read into it. Texts are in lower case.
type refusal struct {
	status int           // HTTP status, or the one that the error means; 0: unknown
	codes  []string      // all codes, types and reasons of the error
	param  string        // the field that the error names, "" for none
	words  string        // all texts of the error
	wait   time.Duration // until another attempt, 0: not named
	shown  string        // the message as a line
}

func (f *refusal) Error() string { return f.shown }

// readRefusal reads the body of an answer, or an event that is no JSON.
func readRefusal(status int, body []byte) *refusal {
	f := &refusal{status: status}
	if text := []byte(strings.TrimLeft(string(body), byteOrderMark+whiteSpace)); valid(text) {
		f.collect("", gjson.ParseBytes(text))
	} else {
		f.say(string(body))
	}
	f.complete()
	return f
}

// reportedRefusal returns the error that an event or a body reports, nil for none: a member error
// with content, or the flat form of Mistral, vLLM and Anthropic.
func reportedRefusal(root gjson.Result, event string) *refusal {
	root, inner := errorObject(root)
	if inner.Raw == root.Raw && event != "error" && root.Get("object").Str != "error" && root.Get("type").Str != "error" {
		return nil
	}
	f := &refusal{shown: "the endpoint reports: " + errorText(inner)}
	f.collect("", inner)
	for _, member := range []string{"status", "status_code", "code"} {
		f.collect(member, root.Get(member))
	}
	f.complete()
	return f
}

// errorObject returns the error in a body or an event, which may be all of it.
func errorObject(root gjson.Result) (outer, inner gjson.Result) {
	if root.IsArray() { // Gemini sends a list of one error
		root = root.Get("0")
	}
	inner = root.Get("error")
	if inner.Type == gjson.Null || inner.Type == gjson.False || inner.Raw == `""` || isEmptyObject(inner) {
		inner = root
	}
	return root, inner
}

// complete fills in the parts that codes and texts only imply.
func (f *refusal) complete() {
	for _, code := range f.codes {
		f.status = cmp.Or(f.status, typeStatus()[code])
	}
	f.wait = cmp.Or(f.wait, waitIn(f.words))
	if _, quoted, ok := strings.Cut(f.words, "invalid '"); ok && f.param == "" { // OpenAI's form
		f.param, _, _ = strings.Cut(quoted, "'")
	}
	switch {
	case f.status != 0:
	case f.says("rate limit", "ratelimit", "too many requests"):
		f.status = http.StatusTooManyRequests
	case f.says("overloaded", "over capacity", "temporarily unavailable", "try again later"):
		f.status = http.StatusServiceUnavailable
	}
}

// maxWords caps the text of an error that is searched, in bytes.
const maxWords = 16 << 10

func (f *refusal) say(text string) {
	text = text[:min(len(text), max(maxWords-len(f.words), 0))]
	f.words += strings.ReplaceAll(strings.ToLower(text), "’", "'") + "\n"
}

// collect reads a value of an error, and all values in it. Members that repeat a part of the
// request, or a text of the model, say nothing about the refusal.
func (f *refusal) collect(name string, v gjson.Result) {
	switch name {
	case "input", "failed_generation", "ctx", "request_id", "user_id":
		return
	}
	isCode := slices.Contains([]string{"code", "type", "status", "status_code", "statusCode", "http_status", "reason", "error_code", "error_type", "errorCode"}, name)
	switch {
	case v.IsArray() && name == "loc":
		var path []string
		for _, key := range v.Array() {
			path = append(path, key.String())
		}
		f.say(strings.Join(path, "."))
	case v.IsObject(), v.IsArray():
		v.ForEach(func(key, value gjson.Result) bool {
			f.collect(cmp.Or(key.Str, name), value)
			return len(f.words) < maxWords
		})
	case v.Type == gjson.Number && slices.Contains([]string{"retry_after", "retry_after_seconds", "resets_in_seconds"}, name):
		f.wait = time.Duration(max(min(v.Num, 1e9), 0) * float64(time.Second))
	case name == "retryDelay": // google.rpc.RetryInfo
		f.wait, _ = time.ParseDuration(v.Str)
		f.wait = max(f.wait, 0)
	case isCode && 400 <= v.Int() && v.Int() < 600: // a number, also as text
		f.status = cmp.Or(f.status, int(v.Int()))
	case isCode && v.Type != gjson.Null:
		f.codes = append(f.codes, strings.ToLower(v.String()))
		f.say(v.String())
	case name == "param" && v.Type == gjson.String:
		f.param = strings.ToLower(v.Str)
	case v.Type == gjson.String && innerObject([]byte(v.Str)) != nil && valid([]byte(v.Str)): // of OpenRouter: the error of the proxied provider
		f.collect(name, gjson.Parse(v.Str))
	case v.Type == gjson.String:
		f.say(v.Str)
	}
}

// code is the endpoint's own word for the error, "" if it has none.
func (f *refusal) code() string {
	for _, code := range f.codes {
		if code != "error" && code != strconv.Itoa(f.status) {
			return code
		}
	}
	return ""
}

func (f *refusal) is(codes ...string) bool {
	return slices.ContainsFunc(f.codes, func(code string) bool { return slices.Contains(codes, code) })
}

// says reports whether the texts contain one of the phrases, as whole words, also in the plural.
func (f *refusal) says(phrases ...string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool { return indexPhrase(f.words, phrase) >= 0 })
}

// indexPhrase returns the position of the first occurrence of a phrase as whole words in a text,
// -1 for none.
func indexPhrase(text, phrase string) int {
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return -1
		}
		i += from
		rest := strings.TrimPrefix(text[i+len(phrase):], "s")
		if (i == 0 || !isWord(text[i-1]) || !isWord(phrase[0])) && (rest == "" || !isWord(rest[0]) || !isWord(phrase[len(phrase)-1])) {
			return i
		}
		from = i + 1
	}
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_'
}

// names reports whether the refusal names one of the fields of a request. A name that may also be
// a word of a sentence counts only in quotes or in a path.
func (f *refusal) names(fields ...string) bool {
	return slices.ContainsFunc(fields, func(field string) bool {
		if indexPhrase(f.param, field) >= 0 {
			return true
		}
		if strings.ContainsAny(field, "_.") {
			return f.says(field)
		}
		for text := f.words; ; {
			i := indexPhrase(text, field)
			if i < 0 {
				return false
			}
			if i > 0 && strings.IndexByte("'\"`./", text[i-1]) >= 0 {
				return true
			}
			text = text[i+len(field):]
		}
	})
}

// typeStatus maps error types of Anthropic, OpenAI and Google to HTTP statuses.
func typeStatus() map[string]int {
	return map[string]int{
		"invalid_request_error": 400, "invalid_prompt": 400, "invalid_image": 400, "context_length_exceeded": 400, "invalid_argument": 400, "failed_precondition": 400,
		"authentication_error": 401, "invalid_api_key": 401, "unauthenticated": 401, "billing_error": 402, "permission_error": 403, "permission_denied": 403,
		"not_found_error": 404, "model_not_found": 404, "not_found": 404, "request_too_large": 413,
		"rate_limit_error": 429, "rate_limit_exceeded": 429, "insufficient_quota": 429, "resource_exhausted": 429, "too_many_requests": 429,
		"api_error": 500, "server_error": 500, "internal": 500, "unavailable": 503, "timeout_error": 504, "overloaded_error": 529,
	}
}

// waitIn returns the wait that a text in lower case asks for, such as "try again in 1m3.5s" or
// "please wait 20 seconds", 0 for none.
func waitIn(text string) time.Duration {
	for _, before := range []string{"again in", "retry in", "retry after", "again after", "please wait", "wait for", "available in", "resets in", "reset in", "reset after"} {
		if i := indexPhrase(text, before); i >= 0 {
			if wait := leadingDuration(text[i+len(before):]); wait > 0 {
				return wait
			}
		}
	}
	return 0
}

// leadingDuration reads "1m3.5s", "820ms", "2 minutes and 5 seconds" at the beginning of a text.
func leadingDuration(text string) (sum time.Duration) {
	for {
		text = strings.TrimLeft(text, " ,:~`'\"*")
		text = strings.TrimPrefix(strings.TrimPrefix(text, "and "), "about ")
		n := len(text) - len(strings.TrimLeft(text, "0123456789."))
		number, err := strconv.ParseFloat(strings.TrimRight(text[:n], "."), 64)
		if err != nil || number > 1e9 {
			return sum
		}
		text = strings.TrimLeft(text[n:], " ")
		word := text[:len(text)-len(strings.TrimLeft(text, "abcdefghijklmnopqrstuvwxyz"))]
		unit := durationUnit(word)
		if unit == 0 || word == "" && text != "" && strings.IndexByte("-/:", text[0]) >= 0 { // a date
			return sum
		}
		sum += time.Duration(number * float64(unit))
		text = text[len(word):]
	}
}

func durationUnit(word string) time.Duration {
	switch strings.TrimSuffix(word, "s") {
	case "m", "min", "minute":
		if word == "ms" {
			return time.Millisecond
		}
		return time.Minute
	case "msec", "milli", "millisecond":
		return time.Millisecond
	case "", "sec", "second":
		return time.Second // "" is the unit s
	case "h", "hr", "hour":
		return time.Hour
	case "d", "day":
		return 24 * time.Hour
	}
	return 0
}
