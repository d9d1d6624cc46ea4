package stream

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/readable"
)

// reportedError returns the error that an event or a body reports, nil for none: a member error
// with content, or the flat form of Mistral, vLLM and Anthropic.
func reportedError(root gjson.Result, event string) *Error {
	if root.IsArray() { // Gemini sends a list of one error
		root = root.Get("0")
	}
	inner := root.Get("error")
	switch {
	case inner.Type == gjson.Null, inner.Type == gjson.False, inner.Raw == `""`, isEmptyObject(inner):
		inner = root
		if event != "error" && root.Get("object").Str != "error" && root.Get("type").Str != "error" {
			return nil
		}
	}
	return &Error{Kind: Refused, Status: errorStatus(inner, root), Message: "the endpoint reports: " + errorText(inner)}
}

// errorText returns the message of an error object, or all of the object.
func errorText(v gjson.Result) string {
	message := plainErrorText(v)
	raw := v.Get("metadata.raw") // of OpenRouter: the error of the proxied provider
	if raw.Str == "" && !raw.IsObject() {
		return message
	}
	if inner := gjson.Parse(raw.Str); inner.IsObject() {
		raw = inner
	}
	if e := raw.Get("error"); e.IsObject() {
		raw = e
	}
	upstream := plainErrorText(raw)
	if provider := v.Get("metadata.provider_name").Str; provider != "" {
		upstream = clean(provider, 60) + ": " + upstream
	}
	return message + " (" + upstream + ")"
}

func plainErrorText(v gjson.Result) string {
	for _, path := range []string{"message", "error.message", "error", "detail", "msg"} {
		if m := v.Get(path); m.Str != "" {
			return clean(m.Str, maxShown)
		}
	}
	var all []string // of FastAPI: the problems and their positions
	for _, d := range append(v.Get("detail").Array(), v.Get("message.detail").Array()...) {
		if msg := d.Get("msg").Str; msg != "" {
			var path []string
			for _, key := range d.Get("loc").Array() {
				path = append(path, key.String())
			}
			all = append(all, strings.TrimPrefix(strings.Join(path, ".")+": "+msg, ": "))
		}
	}
	switch {
	case len(all) > 0:
		return clean(strings.Join(all, "; "), maxShown)
	case v.Type != gjson.String:
		return clean(v.Raw, maxShown)
	}
	return clean(v.Str, maxShown)
}

// errorStatus returns the HTTP status that the first of the error objects names, 0 for none.
func errorStatus(list ...gjson.Result) int {
	for _, v := range list {
		for _, path := range []string{"code", "status_code", "status", "http_status", "statusCode"} {
			if n := v.Get(path).Int(); 400 <= n && n < 600 {
				return int(n)
			}
		}
		for _, path := range []string{"type", "code"} {
			if status := typeStatus()[v.Get(path).Str]; status != 0 {
				return status
			}
		}
	}
	return 0
}

// typeStatus maps error types of Anthropic and OpenAI to HTTP statuses.
func typeStatus() map[string]int {
	return map[string]int{
		"invalid_request_error": 400, "invalid_prompt": 400, "invalid_image": 400, "context_length_exceeded": 400,
		"authentication_error": 401, "invalid_api_key": 401, "billing_error": 402, "permission_error": 403,
		"not_found_error": 404, "model_not_found": 404, "request_too_large": 413,
		"rate_limit_error": 429, "rate_limit_exceeded": 429, "insufficient_quota": 429,
		"api_error": 500, "server_error": 500, "timeout_error": 504, "overloaded_error": 529,
	}
}

// maxShown caps the part of an endpoint's text that a message shows, in bytes.
const maxShown = 400

// clean makes one safe line of a text from outside: a run of characters that are white space or
// cannot be printed becomes one space. The line is cut after limit bytes. Only the beginning of
// the text is read, because it may be as long as an event.
func clean(s string, limit int) string {
	isSpace := func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' || r == utf8.RuneError }
	start := s[:min(len(s), 16*limit)]
	line := strings.Join(strings.FieldsFunc(start, isSpace), " ")
	if len(line) > limit || len(start) < len(s) {
		line = strings.TrimRight(readable.Cut(line, limit, ""), " ") + " …"
	}
	return line
}

func quoteShort(s string) string { return `"` + clean(s, 60) + `"` }

func badEvent(ev Event) error {
	text := clean(string(ev.Data[:min(len(ev.Data), 4*maxShown)]), maxShown)
	switch {
	case ev.Name == "error":
		return &Error{Kind: Refused, Message: "the endpoint reports: " + text}
	case ev.Unfinished:
		return cutReply()
	}
	return notAReply("an event contains no JSON: " + quoteShort(text))
}

func cutReply() *Error {
	return &Error{Kind: Cut, Message: "the reply was cut off: it ended without a finish reason or an end marker"}
}

func notAReply(why string) *Error {
	return &Error{Kind: Malformed, Message: "the answer is not a model's reply: " + why}
}

func halfCall() *Error {
	return notAReply("the name or the arguments of a call are missing")
}

// tooMuch is the error of a cap that the endpoint exceeded.
func tooMuch(format string, args ...any) *Error {
	return &Error{Kind: TooLarge, Message: fmt.Sprintf(format, args...)}
}

func tooManyItems() *Error { return tooMuch("the reply has more than %d items", maxItems) }

func tooManyCalls() *Error {
	return tooMuch("the reply asks for more than %d tool calls at once", maxCalls)
}
