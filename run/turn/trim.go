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
// then of the oldest rounds, then of the longest attachments. The conversation that outputs and
// sessions have stays complete. A round is a reply and everything up to the next one. The last three
// rounds, and the first and the last message of the user, always stay. The weight of a message is
// about the bytes that it adds to a request.
//
// Only the conversation and the token counts of the endpoint decide what is left out, and it
// stays left out. So many requests begin with the same bytes, and an endpoint finds them in
// its cache.

// A trimmer sends the requests of one conversation.
type trimmer struct {
	trimOptions
	off   bool
	limit int // tokens per request; 0: known only from a refusal

	client  *stream.Client // used for the last request
	load    requestLoad    // of the current request
	counted tokenCount     // the endpoint's count for its last request
	cut     event.Trim     // everything left out so far
	warned  bool           // about silent truncation by the endpoint
}

type trimOptions struct {
	Frame     int                        // messages at the front of requests that do not belong to the conversation
	Drops     bool                       // content that is left out is not needed again: its memory is freed
	CanRepeat func(tool string) bool     // reports whether repeating a call of the tool is harmless
	Results   *results                   // names of what is left out; nil: none
	Emit      func(event.Event) error    // reports events
	Keep      func([]session.Left) error // stores what is left out, before the request is sent
}

// A tokenCount is the number of tokens that an endpoint counted for a request of this weight.
type tokenCount struct{ tokens, weight int }

// Values of --trim other than a number of tokens.
const (
	trimAuto = "auto" // trim when the endpoint refuses a request for its length
	trimOff  = "off"
)

const (
	untrimmedRounds = 3    // the last rounds; their results stay
	maxTrimRefusals = 3    // how often a request is repeated
	trimmedPart     = 0.6  // of the limit; a trim reduces a request to this part
	halfOfRequest   = 0.5  // of the request, if the endpoint reports no limit
	perToken        = 4    // bytes of text per token, before the endpoint has counted any
	smallestTrimmed = 256  // bytes; smaller contents are not replaced
	imageWeight     = 6000 // of a picture of any size: its price depends on its pixels
)

// newTrimmer returns a trimmer for a value of --trim; "" is auto.
func newTrimmer(how string) *trimmer {
	t := &trimmer{off: how == trimOff}
	t.limit, _ = strconv.Atoi(how)
	return t
}

// Reply sends r to the endpoint, and trims the request if necessary.
func (t *trimmer) Reply(ctx context.Context, c *stream.Client, r *stream.Request, turn int, sink *stream.Sink) (*stream.Reply, error) {
	if t.client != c { // another model counts differently
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

// keepLimit trims a request that is probably longer than the limit.
func (t *trimmer) keepLimit(r *stream.Request, turn int) error {
	if t.limit == 0 {
		return nil
	}
	for more := true; more && t.tokens(t.load.weight) > t.limit; {
		var err error
		if more, err = t.leaveOut(r, turn, t.weightOf(trimmedPart*float64(t.limit)), t.weightOf(float64(t.limit))); err != nil {
			return err
		}
	}
	tokens := t.tokens(t.load.weight)
	if t.counted.tokens == 0 {
		tokens /= 2 // only a guess
	}
	if tokens <= t.limit {
		return nil
	}
	e := failure.Limit("", "--trim %d: the request still has about %d tokens after leaving out everything that may be left out", t.limit, t.tokens(t.load.weight))
	e.Hints = append(t.remains(r), "give --trim a larger number, if the model accepts it")
	return e
}

// perByte is the number of tokens per byte of weight.
func (t *trimmer) perByte() float64 {
	if t.counted.tokens == 0 {
		return 1.0 / perToken
	}
	return float64(t.counted.tokens) / float64(max(t.counted.weight, 1))
}

// tokens estimates the tokens of a request of this weight: the last count, plus the difference in
// weight at the same ratio.
func (t *trimmer) tokens(weight int) int {
	return t.counted.tokens + int(float64(weight-t.counted.weight)*t.perByte())
}

func (t *trimmer) weightOf(tokens float64) int {
	return t.counted.weight + int((tokens-float64(t.counted.tokens))/t.perByte())
}

// learn records the endpoint's token count of the last request. An endpoint that silently truncates
// long requests, such as Ollama, is detected: the count falls although the request has grown.
func (t *trimmer) learn(tokens int) {
	if tokens == 0 {
		return
	}
	if before := t.counted; !t.warned && tokens < before.tokens && t.load.weight > before.weight {
		t.warned = true
		t.Emit(&event.Warning{Code: "context_cut", Message: fmt.Sprintf("the endpoint counted %d tokens in a request that was longer than the one before, with %d tokens: "+
			"it may have cut the conversation; a longer context there (num_ctx of Ollama), or --trim N with the size of its context, keeps it complete", tokens, before.tokens)})
	}
	t.counted = tokenCount{tokens, t.load.weight}
}

// leaveOut leaves out results, oldest first, until the request has the target's weight. If they are
// not nearly enough, whole rounds follow, oldest first. If the request cannot fit with all attachments,
// these go too, heaviest first. Rounds that are not enough go only if nothing else is left: the weight
// that fits may be a guess. more is false if nothing could be left out.
func (t *trimmer) leaveOut(r *stream.Request, turn, target, fits int) (more bool, err error) {
	x := trim{trimmer: t, messages: r.Messages, now: event.Trim{Turn: turn}}
	old, rounds := oldResults(r.Messages), oldRounds(r.Messages)
	if x.placed = t.Results.placed(); len(x.placed) > 0 && (len(old) > 0 || rounds.from < rounds.to) {
		r.Tools = t.Results.offer(r.Tools, true)
		t.load.weigh(r)
	}
	for _, i := range old {
		if t.load.weight <= target {
			break
		}
		x.result(i)
	}
	inRounds := max(rounds.weight(r.Messages), 0)
	for t.load.weight-inRounds > fits {
		i, at := heaviestAttachment(r.Messages)
		if i < 0 {
			break
		}
		x.attachment(i, at)
	}
	if enough := t.load.weight > (target+fits)/2 && t.load.weight-inRounds <= fits; enough || len(x.left) == 0 {
		x.rounds(rounds, target)
	}
	if len(x.left) == 0 {
		return false, nil
	}
	t.client.Rewrite()
	return true, t.tell(x.now, x.left, r)
}

// tell reports what is left out from now on, and frees its memory if Drops is set.
func (t *trimmer) tell(now event.Trim, left []session.Left, r *stream.Request) error {
	if t.Keep != nil {
		if err := t.Keep(left); err != nil {
			return err
		}
	}
	if t.Drops {
		for _, l := range left {
			if l.Until == 0 {
				r.Messages[l.Message+t.Frame].Parts = nil
			}
		}
	}
	first := t.cut == (event.Trim{})
	t.cut.Results, t.cut.Rounds, t.cut.Attachments, t.cut.Bytes = t.cut.Results+now.Results, t.cut.Rounds+now.Rounds, t.cut.Attachments+now.Attachments, t.cut.Bytes+now.Bytes
	if err := t.Emit(&now); err != nil || !first {
		return err
	}
	what := "the oldest results of tools"
	switch {
	case now.Attachments > 0:
		what = "old results of tools and the longest attachments"
	case now.Rounds > 0:
		what = "the oldest rounds"
	}
	return t.Emit(&event.Warning{Code: "trimmed", Message: "the conversation is longer than the model takes, so requests leave out " + what + " from here on, now " +
		readable.Grouped(now.Bytes) + " bytes; --trim off ends such a run instead"})
}

func explained(e *stream.Error, hints ...string) error {
	explained := *e
	explained.Hint = strings.Join(hints, "\n")
	return &explained
}
