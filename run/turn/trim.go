package turn

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/session"
	"toolpipe/stream"
	"toolpipe/stream/text/readable"
)

// To leave out is to send a line in place of a content: first of the oldest results of tools,
// then of the longest attachments. The conversation that outputs and sessions have stays
// complete. A round is the results between two replies. The results of the last three rounds,
// the messages of the user, the calls and the texts of the model always stay. The weight of a
// message is about the bytes that it adds to a request.
//
// Only the conversation and the token counts of the endpoint decide what is left out, and it
// stays left out. So many requests begin with the same bytes, and an endpoint finds them in
// its cache.

// A trimmer sends the requests of one conversation.
type trimmer struct {
	trimOptions
	off   bool
	limit int // tokens of a request; 0: only a refusal tells

	client  *stream.Client // that was used last
	load    requestLoad    // of the request
	counted tokenCount     // what the endpoint said of its last request
	cut     event.Trim     // all that is left out
	warned  bool           // of a cut that the endpoint makes in silence
}

// trimOptions are what a trimmer is told before the first request.
type trimOptions struct {
	Frame     int                        // messages at the front of requests that are no part of the conversation
	Drops     bool                       // nobody needs again what is left out: it is taken out of memory
	CanRepeat func(tool string) bool     // reports whether a call of the tool does no harm when it is made again
	Emit      func(event.Event) error    // tells what happens
	Keep      func([]session.Left) error // is told what is left out, before a request that does so
}

// A tokenCount is how many tokens an endpoint counted in a request of that weight.
type tokenCount struct{ tokens, weight int }

// What --trim can be beside a number of tokens.
const (
	trimAuto = "auto" // trim when the endpoint refuses a request for its length
	trimOff  = "off"
)

const (
	untrimmedRounds = 3    // the last rounds, whose results stay
	maxTrimRefusals = 3    // how often a request is sent again
	trimmedPart     = 0.6  // of what the model takes, to which a trim goes down
	halfOfRequest   = 0.5  // of the request, where the endpoint does not say what it takes
	perToken        = 4    // bytes of text for a token, before the endpoint has counted any
	smallestTrimmed = 256  // bytes of a content that are worth a line in its place
	imageWeight     = 6000 // of a picture, whatever its size: it is paid for by its pixels
)

// newTrimmer makes a trimmer as --trim says; "" is auto.
func newTrimmer(how string) *trimmer {
	t := &trimmer{off: how == trimOff}
	t.limit, _ = strconv.Atoi(how)
	return t
}

// Reply has the endpoint answer r, and trims the request where that is needed.
func (t *trimmer) Reply(ctx context.Context, c *stream.Client, r *stream.Request, turn int, sink *stream.Sink) (*stream.Reply, error) {
	if t.client != c { // another model counts otherwise
		t.client, t.counted = c, tokenCount{}
	}
	t.load.weigh(r)
	if err := t.keepLimit(r, turn); err != nil {
		return nil, err
	}
	for refusals := 0; ; refusals++ {
		reply, err := c.Reply(ctx, r, sink)
		if err == nil {
			t.learn(reply.Usage.Input)
			return reply, nil
		}
		e, ok := errors.AsType[*stream.Error](err)
		if !ok || e.Kind != stream.TooLong || e.Began || ctx.Err() != nil {
			return nil, err
		}
		if t.off {
			return nil, explained(e, "--trim auto leaves the oldest results of tools out of the request")
		}
		fits := halfOfRequest * float64(t.load.weight)
		target := fits
		if e.Fits > 0 {
			fits = e.Fits * float64(t.load.weight)
			target = trimmedPart * fits
		}
		more := false
		if refusals < maxTrimRefusals {
			if more, err = t.leaveOut(r, turn, int(target), int(fits)); err != nil {
				return nil, err
			}
		}
		if !more {
			return nil, explained(e, t.remains(r)...)
		}
	}
}

// keepLimit trims a request that is longer than the limit, as far as is known.
func (t *trimmer) keepLimit(r *stream.Request, turn int) error {
	if t.limit == 0 || t.tokens(t.load.weight) <= t.limit {
		return nil
	}
	if _, err := t.leaveOut(r, turn, t.weightOf(trimmedPart*float64(t.limit)), t.weightOf(float64(t.limit))); err != nil {
		return err
	}
	tokens := t.tokens(t.load.weight)
	if t.counted.tokens == 0 {
		tokens /= 2 // it is no more than a guess
	}
	if tokens <= t.limit {
		return nil
	}
	e := failure.Limit("", "--trim %d: the request has about %d tokens when everything is left out that may be", t.limit, t.tokens(t.load.weight))
	e.Hints = append(t.remains(r), "--trim takes a larger number, if the model does")
	return e
}

// perByte is how many tokens there are for a byte of weight.
func (t *trimmer) perByte() float64 {
	if t.counted.tokens == 0 {
		return 1.0 / perToken
	}
	return float64(t.counted.tokens) / float64(max(t.counted.weight, 1))
}

// tokens is how many tokens a request of that weight has: those of the last one that was
// counted, and for the rest as many as it had for a byte.
func (t *trimmer) tokens(weight int) int {
	return t.counted.tokens + int(float64(weight-t.counted.weight)*t.perByte())
}

// weightOf is the weight of a request that has that many tokens.
func (t *trimmer) weightOf(tokens float64) int {
	return t.counted.weight + int((tokens-float64(t.counted.tokens))/t.perByte())
}

// learn takes how many tokens the endpoint counted in the request that was sent last. An
// endpoint that cuts what is too long for it, such as Ollama, says nothing of that: but the
// number falls although the request has grown.
func (t *trimmer) learn(tokens int) {
	if tokens == 0 {
		return
	}
	if before := t.counted; !t.warned && tokens < before.tokens && t.load.weight > before.weight {
		t.warned = true
		t.Emit(&event.Warning{Code: "context_cut", Message: fmt.Sprintf("the endpoint counted %d tokens in a request that was longer than the one before, with %d tokens: "+
			"it may have cut the conversation; a longer context there (num_ctx of Ollama), or --trim N with what its context takes, keeps it whole", tokens, before.tokens)})
	}
	t.counted = tokenCount{tokens, t.load.weight}
}

// leaveOut leaves results out, the oldest first, until the request has the target's weight.
// If it is still too heavy to fit, so are attachments, the heaviest first. more is false if
// there was nothing to leave out.
func (t *trimmer) leaveOut(r *stream.Request, turn, target, fits int) (more bool, err error) {
	now := event.Trim{Turn: turn}
	var left []session.Left
	leave := func(i, at int, says string, bytes int) {
		m := &r.Messages[i]
		t.load.weight -= weightOf(m)
		l := session.Left{Call: m.CallID, Message: i - t.Frame, Part: at, Says: says}
		l.ApplyTo(m)
		t.load.weight += weightOf(m)
		left = append(left, l)
		now.Bytes += bytes
	}
	for _, i := range oldResults(r.Messages) {
		if t.load.weight <= target {
			break
		}
		m := &r.Messages[i]
		bytes := bytesOf(m.Parts)
		says := "[toolpipe] left out: " + readable.Grouped(bytes) + " bytes of this result"
		if t.CanRepeat != nil && t.CanRepeat(m.Name) {
			says += "; call it again if you need it"
		}
		leave(i, session.WholeMessage, says, bytes)
		now.Results++
	}
	for t.load.weight > fits {
		i, at := heaviestAttachment(r.Messages)
		if i < 0 {
			break
		}
		p := &r.Messages[i].Sent()[at]
		bytes := bytesOf([]stream.Part{*p})
		leave(i, at, heading(p)+"[toolpipe] left out: "+readable.Grouped(bytes)+" bytes of this attachment", bytes)
		now.Attachments++
	}
	if len(left) == 0 {
		return false, nil
	}
	t.client.Rewrite()
	return true, t.tell(now, left, r)
}

// tell tells what is left out from now on, and takes it out of memory if nobody needs it.
func (t *trimmer) tell(now event.Trim, left []session.Left, r *stream.Request) error {
	if t.Keep != nil {
		if err := t.Keep(left); err != nil {
			return err
		}
	}
	if t.Drops {
		for _, l := range left {
			r.Messages[l.Message+t.Frame].Parts = nil
		}
	}
	first := t.cut.Bytes == 0
	t.cut.Results, t.cut.Attachments, t.cut.Bytes = t.cut.Results+now.Results, t.cut.Attachments+now.Attachments, t.cut.Bytes+now.Bytes
	if err := t.Emit(&now); err != nil || !first {
		return err
	}
	what := "the oldest results of tools"
	if now.Attachments > 0 {
		what = "old results of tools and the longest attachments"
	}
	return t.Emit(&event.Warning{Code: "trimmed", Message: "the conversation is longer than the model takes, so requests leave out " + what + " from here on, now " +
		readable.Grouped(now.Bytes) + " bytes; --trim off ends such a run instead"})
}

// explained is a refusal for length with hints.
func explained(e *stream.Error, hints ...string) error {
	explained := *e
	explained.Hint = strings.Join(hints, "\n")
	return &explained
}

// remains says what a request is made of that nothing can be left out of, and what makes
// it shorter.
func (t *trimmer) remains(r *stream.Request) []string {
	var results, users, own int
	for i := range r.Messages {
		switch m := &r.Messages[i]; {
		case isResult(m):
			results += weightOf(m)
		case m.Role == stream.User:
			users += weightOf(m)
		case m.Role == stream.Assistant:
			own += weightOf(m)
		}
	}
	head := t.load.weight - results - users - own
	hint := "--max-result-bytes N cuts each result that the model gets"
	switch max(results, users, own, head) {
	case users:
		hint = "give the model less at once: --files DIR lets it read a large file in parts"
	case own:
		hint = "begin another session, or another conversation, with what matters of this one"
	case head:
		hint = "--tools GLOBS offers fewer tools, and --find-tools auto offers them when they are looked for"
	}
	if r.MaxTokens > 0 {
		hint += "; --max-tokens, which is " + strconv.Itoa(r.MaxTokens) + ", takes its room too"
	}
	if t.cut.Bytes > 0 {
		hint += "; left out already: " + readable.Grouped(t.cut.Bytes) + " bytes"
	}
	return []string{
		fmt.Sprintf("what is left, in bytes: results of the last rounds %s, prompts and attachments %s, the model's own texts and calls %s, tools and system message %s",
			readable.Grouped(results), readable.Grouped(users), readable.Grouped(own), readable.Grouped(head)),
		hint,
	}
}
