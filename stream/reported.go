package stream

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/readable"
)

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
		f := readRefusal(0, ev.Data)
		f.shown = "the endpoint reports: " + text
		return f
	case ev.Unfinished:
		return cutReply()
	}
	e := notAReply("an event contains no JSON: " + quoteShort(text))
	e.Again = true // events that were glued together, or a message of a proxy
	return e
}

func cutReply() *Error {
	return &Error{Kind: Cut, Again: true, Message: "the reply was cut off: it ended without a finish reason or an end marker"}
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
