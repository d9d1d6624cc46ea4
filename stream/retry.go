package stream

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"time"
)

const (
	maxRetries    = 3
	maxRetryAfter = 60 * time.Second // what asks for more fails at once
	firstWait     = 500 * time.Millisecond
)

// wait says how long to wait before the exchange is repeated, and whether it
// is: only before the first delta, and only what may pass (DESIGN part 3).
func (x *exchange) wait(err error, attempts int) (time.Duration, bool) {
	e, ours := errors.AsType[*Error](err)
	switch {
	case !ours || !x.retry || x.draft.began || attempts == maxRetries:
		return 0, false
	case x.after > maxRetryAfter:
		e.Hint = "the endpoint asks to try again in " + min(x.after, 100*24*time.Hour).Round(time.Second).String()
		return 0, false
	case x.client.replayer != nil || x.atOnce:
		return 0, true
	case x.after > 0:
		return x.after, true
	}
	wait := firstWait << attempts
	return wait + rand.N(wait/4), true
}

// retryAfter tells the sink and waits.
func (c *Client) retryAfter(ctx context.Context, wait time.Duration, attempt int, cause error, sink *Sink) error {
	if e, ok := errors.AsType[*Error](cause); ok && sink.Retry != nil {
		sink.Retry(Retry{Attempt: attempt, Of: maxRetries, After: wait, Status: e.Status, Message: e.Message})
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// canRepair changes how requests are written when a refusal names what this
// endpoint does not take (model-wire section 4). Each change is made once and
// holds for the rest of the run.
func (x *exchange) canRepair() bool {
	o, c := &x.client.options, x.client
	told := strings.ToLower(x.told)
	if x.code >= 400 && !o.noResultImages && strings.Contains(told, "image") && hasResultImages(x.request) {
		o.noResultImages = true
		c.encoder = nil // the conversation is written anew
		return true
	}
	if x.code != 400 && x.code != 422 {
		return false
	}
	names := func(word string) bool { return strings.Contains(told, word) && !setByUser(x.request, word) }
	limit := names("max_tokens") || names("max_completion_tokens")
	switch api := c.dialect; {
	case api == &chatDialect && !o.noStreamOptions && names("stream_options"):
		o.noStreamOptions = true
	case api == &chatDialect && !o.swapTokenLimit && limit && x.request.MaxTokens > 0:
		o.swapTokenLimit = true
	case api == &messagesDialect && !o.swapTokenLimit && limit && x.request.MaxTokens == 0:
		o.swapTokenLimit = true
	case api == &responsesDialect && !o.noInclude && (names("include") || names("encrypted")) && len(x.request.Tools) > 0:
		o.noInclude = true
	case api == &chatDialect && !o.emptyContent && names("content") && sentNullContent(c, x.request):
		o.emptyContent = true
		c.encoder = nil
	default:
		return false
	}
	return true
}

// hasResultImages reports whether a tool's result has a picture. A model that
// takes none gets the text beside it, which says what was left out; pictures
// that the user attached are never dropped in silence. The refusals have many
// statuses: 400, 404, 415, 422, and 500 of llama.cpp.
func hasResultImages(r *Request) bool {
	for i := range r.Messages {
		if m := &r.Messages[i]; m.Role == ToolRole && hasImage(m.Parts) {
			return true
		}
	}
	return false
}

// withoutImages is m with its other parts.
func withoutImages(m *Message) *Message {
	rest := *m
	rest.Parts = nil
	for i := range m.Parts {
		if m.Parts[i].Image == nil {
			rest.Parts = append(rest.Parts, m.Parts[i])
		}
	}
	return &rest
}

func setByUser(r *Request, name string) bool { return paramLater(r.Params, name) }

// sentNullContent reports whether an assistant message went out without text.
func sentNullContent(c *Client, r *Request) bool {
	if c.options.noToolRole {
		return false
	}
	for i := range r.Messages {
		if m := &r.Messages[i]; m.Role == Assistant && len(m.Calls) > 0 && noText(m.Parts) {
			return true
		}
	}
	return false
}
