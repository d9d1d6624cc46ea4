package stream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"toolpipe/stream/goroutine"
)

const (
	maxRetries    = 3
	maxRetryAfter = 60 * time.Second // an endpoint that asks for a longer wait fails at once
	firstWait     = 500 * time.Millisecond
	maxWait       = 30 * time.Second // between two attempts, when the endpoint asks for no wait
)

// retries counts the repetitions of one exchange.
type retries struct {
	made  int
	until time.Time // the end of Config.RetryFor
}

// nextRetry decides whether the exchange is repeated, and how long to wait before. It is
// repeated only after a failure that may pass. After the first delta of the reply it is
// repeated only if the sink takes back the received part.
func (x *exchange) nextRetry(err error, made *retries) (_ Retry, again bool) {
	e, ours := errors.AsType[*Error](err)
	p := x.client.replayer
	if !ours || x.client.cfg.NoRetry || !x.retry && e.Kind != Cut || x.draft.err != nil || p != nil && p.next == len(p.exchanges) {
		return Retry{}, false // the recorded run ended here: it did not ask again
	}
	if x.draft.began && (x.sink.TakesBack == nil || !x.sink.TakesBack()) {
		return Retry{}, false
	}
	r := Retry{Attempt: made.made + 1, Of: maxRetries, Status: e.Status, Message: e.Message, Discards: x.draft.began}
	longest := maxRetryAfter
	if x.client.cfg.RetryFor > 0 && (e.Kind == Unreachable || e.Status == 429 || e.Status == 503) {
		r.Of = 0
		if longest = made.until.Sub(x.client.now()); longest <= 0 {
			return Retry{}, false
		}
	} else if r.Attempt > maxRetries {
		return Retry{}, false
	}
	switch {
	case x.retryAfter > longest:
		e.Hint = "the endpoint asks to try again in " + min(x.retryAfter, 100*24*time.Hour).Round(time.Second).String()
		if later := x.client.cfg.Hints.Later; later != "" {
			e.Hint += "; " + later
		}
		return Retry{}, false
	case x.client.replayer != nil || x.connectionDied:
	case x.retryAfter > 0:
		r.After = x.retryAfter
	default:
		r.After = min(firstWait<<min(made.made, 16), maxWait)
		r.After = min(r.After+rand.N(r.After/4), longest)
	}
	made.made++
	return r, true
}

// mayPass reports whether a refusal may pass by itself. A model that accepts no images will not
// accept them later, and a quota does not come back within a run.
func mayPass(status int, refusal string) bool {
	never := refusesImages(status, refusal) || strings.Contains(refusal, "insufficient_quota")
	return !never && (status == 408 || status == 409 || status == 429 || status >= 500)
}

// sleep waits, or returns the cause that ended ctx.
func sleep(ctx context.Context, wait time.Duration) error {
	goroutine.Await(ctx.Done(), wait)
	return context.Cause(ctx)
}

// repair changes how requests are written if the refusal names something that the endpoint does
// not accept, and reports whether to send the request again. Each change is made once and stays
// for the rest of the run.
func (x *exchange) repair() bool {
	c := x.client
	refusal := strings.ToLower(x.refusal)
	change := firstNeeded(
		repair{&c.options.noResultImages, refusesImages(x.status, refusal) && hasResultImages(x.request), "without the images of tool results"},
		repair{&c.options.shortTexts, x.status == 400 && refusesDescriptions(refusal) && hasLongDescription(x.request),
			fmt.Sprintf("with descriptions of tools of at most %d characters", maxDescription)},
		repair{&c.options.bareRounds, x.status == 400 && containsAny(refusal, "signature", "thinking", "reasoning") && leavesOut(x.request.Messages),
			"without the reasoning of the rounds with results that are left out"},
	)
	if change == "" && (x.status == 400 || x.status == 422) {
		change = c.dialect.repair(&c.options, x.request, refusal)
	}
	if change == "" {
		return false
	}
	if x.sink.Warn != nil {
		x.sink.Warn("request_repaired", fmt.Sprintf("the endpoint answered %d; the request is sent again %s, and so are later ones", x.status, change))
	}
	c.encoder = nil // the conversation is written anew
	return true
}

// maxDescription is the longest description of a tool that the strictest endpoints accept, in
// characters.
const maxDescription = 1024

// refusesDescriptions reports whether a refusal says that a description is too long.
func refusesDescriptions(refusal string) bool {
	return strings.Contains(refusal, "description") && containsAny(refusal, "1024", "1,024", "too long", "length", "at most", "above_max")
}

func hasLongDescription(r *Request) bool {
	return slices.ContainsFunc(r.Tools, func(t Tool) bool { return utf8.RuneCountInString(t.Description) > maxDescription })
}

// shortText cuts a text after maxDescription characters.
func shortText(text string) string {
	if runes := []rune(text); len(runes) > maxDescription {
		return string(runes[:maxDescription-1]) + "…"
	}
	return text
}

// refusesImages reports whether a refusal says that the model accepts no images. Servers refuse
// images with many statuses: 400, 404, 415, 422. llama.cpp answers 500 with "image input is not
// supported"; any other 500 that mentions an image may be about something else, such as the
// server's container image.
func refusesImages(status int, refusal string) bool {
	switch status {
	case 400, 404, 415, 422:
		return containsAny(refusal, "image_url", "image input", "input image", "input_image", "images", "image content", "vision", "multimodal") ||
			strings.Contains(refusal, "image") && containsAny(refusal, "support", "accept", "allow", "modalit", "content type")
	case 500:
		return containsAny(refusal, "image input is not supported", "does not support image")
	}
	return false
}

// hasResultImages reports whether a tool result contains an image. A model that accepts no
// images gets only the text next to it, which describes the image; an image that the user
// attached is never left out.
func hasResultImages(r *Request) bool {
	return slices.ContainsFunc(r.Messages, func(m Message) bool { return m.Role == ToolRole && hasImage(m.Parts) })
}

// withoutResultImages returns messages without the images of results.
func withoutResultImages(messages []Message) []Message {
	messages = slices.Clone(messages)
	for i := range messages {
		if m := &messages[i]; m.Role == ToolRole {
			m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p Part) bool { return p.Image != nil })
		}
	}
	return messages
}
