package stream

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// maxErrorBody caps the bytes that are read from the body of a refusal.
const maxErrorBody = 8 << 10

// where is the name of the endpoint in messages.
func (x *exchange) where() string { return x.client.endpoint.origin }

func (x *exchange) redact(s string) string { return x.client.cfg.Secrets.Message().HideString(s) }

// hideSecrets removes the secrets from the result of an exchange: an endpoint may send them
// back anywhere.
func (x *exchange) hideSecrets(reply *Reply, err error) {
	if e, ok := errors.AsType[*Error](err); ok {
		e.Message, e.Hint, e.Code = x.redact(e.Message), x.redact(e.Hint), x.redact(e.Code)
	}
	if reply != nil {
		reply.Finish, reply.Refusal = x.redact(reply.Finish), x.redact(reply.Refusal)
	}
}

// shown returns bytes of the endpoint as one safe line without secrets.
func (x *exchange) shown(b []byte) string {
	return clean(x.redact(string(b)), maxShown)
}

// shownError returns the text of an error's body: the message in its JSON, the title of a page,
// else all of it.
func (x *exchange) shownError(b []byte) string {
	text := strings.Trim(x.redact(string(b)), byteOrderMark+whiteSpace)
	if v := gjson.Parse(text); (v.IsObject() || v.IsArray()) && valid([]byte(text)) {
		_, v = errorObject(v)
		return errorText(v)
	}
	if from := strings.Index(strings.ToLower(text), "<title>"); from >= 0 {
		title, _, _ := strings.Cut(text[from+len("<title>"):], "<")
		if title = strings.TrimSpace(title); title != "" {
			text = title
		}
	}
	return clean(text, maxShown)
}

// broken turns a failure while the body is read into an error.
func (x *exchange) broken(err error) error {
	if x.draft.err != nil {
		return x.draft.err
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if errors.Is(err, errStalled) {
		return x.stalled()
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooMuch("the reply is larger than %d MiB", maxResponse>>20)
	}
	if x.bytes == 0 {
		return &Error{Kind: Unreachable, Message: x.where() + " broke the connection before the first byte of the reply", Again: true, Cause: err}
	}
	return &Error{Kind: Cut, Again: true, Message: "the reply was cut off: " + x.shown([]byte(plainError(err))), Cause: err}
}

func (x *exchange) stalled() error {
	came := "after the head of its answer"
	switch events := x.events + x.draft.followed; {
	case events > 0:
		came = fmt.Sprintf("after event %d of its reply", events)
	case x.bytes > 0:
		came = fmt.Sprintf("after %d bytes of its answer, which contain no complete event", x.bytes)
	}
	what, limit := "nothing", x.client.cfg.IdleTimeout
	if x.idle.spentAll() {
		what, limit = "nothing but comments and empty lines", silentWaits*limit
	}
	return &Error{Kind: Stalled, Again: true, Message: fmt.Sprintf("%s sent %s for %v %s", x.where(), what, limit, came), Hint: x.client.cfg.Hints.Idle}
}

// hint is the usual way out of a refusal.
func (x *exchange) hint(kind Kind, f *refusal) string {
	cfg := &x.client.cfg
	if api := x.otherAPI(kind, f); api != "" && cfg.Hints.OtherAPI != nil {
		return cfg.Hints.OtherAPI(api)
	}
	switch {
	case kind == RoleRefused && f.says("system", "developer"):
		return "the model may take no system message: --system '' sends none for tools, and instructions can be a part of the prompt"
	case kind == RoleRefused && !x.client.options.noToolRole:
		return `the chat template may not know tool messages: "tool_role": false in the model's profile writes them as text`
	case f.status == 400 && f.says("http request") && f.says("https"):
		return "is it an https:// endpoint?"
	case kind == ToolRefused && len(f.refusedTools(x.request)) > 0:
		return x.toolHint(f.refusedTools(x.request))
	case kind == KeyRefused && cfg.Key == "":
		return cfg.Hints.NoKey
	case f.status/100 == 3:
		return cfg.Hints.Redirect
	case kind == Passes && slices.Contains([]int{429, 503, 529}, f.status):
		return cfg.Hints.Later
	}
	return map[Kind]string{
		KeyRefused:     "is it the right key for this endpoint?",
		NoSuchModel:    "does the endpoint have this model under this name?",
		WrongPath:      "is the base URL right? It usually ends in /v1",
		Quota:          "the account has no credit left, or has reached its limit: the provider's page about billing says which",
		TooLong:        "the conversation does not fit the model's context",
		Moderation:     "the endpoint does not accept this content; a retry does not help",
		PictureRefused: "does the model take pictures?",
		ToolRefused:    "does the model take tools, and these definitions of them?",
		Passes:         "the endpoint itself failed: its log may say why, and the same command may succeed later",
		BadSample:      "the model wrote a call or an answer that the endpoint could not use; the same command may succeed",
	}[kind]
}

// otherAPI returns the API that the endpoint has instead of the one in use, if the refusal
// shows it; else "".
func (x *exchange) otherAPI(kind Kind, f *refusal) string {
	used, noPath := x.client.dialect, kind == WrongPath && f.status/100 != 3
	if f.status != 400 && f.status != 404 && f.status != 405 && f.status != 422 {
		return ""
	}
	for _, d := range slices.Backward(dialects) {
		if d != used && containsAny(f.words, d.inRefusals...) {
			return d.name
		}
	}
	switch {
	case !noPath:
	case used != &messagesDialect && strings.HasSuffix(x.client.endpoint.url.Hostname(), ".anthropic.com"):
		return messagesDialect.name
	case used != &chatDialect: // most endpoints have this one
		return chatDialect.name
	}
	return ""
}

// apiOfReply returns the API of a reply, if its beginning shows it; else "".
func apiOfReply(head []byte) string {
	for _, d := range slices.Backward(dialects) { // an item of responses may be like a message of messages
		if containsAny(string(head), d.inReplies...) {
			return d.name
		}
	}
	return ""
}

func containsAny(s string, words ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return strings.Contains(s, word) })
}
