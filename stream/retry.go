package stream

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
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
	if !ours || x.client.cfg.NoRetry || !e.Again || e.Kind == Stalled || x.draft.err != nil || p != nil && p.next == len(p.exchanges) {
		return Retry{}, false // the recorded run ended here: it did not ask again
	}
	if x.draft.began && (x.sink.TakesBack == nil || !x.sink.TakesBack()) {
		return Retry{}, false
	}
	r := Retry{Attempt: made.made + 1, Of: maxRetries, Status: e.Status, Message: e.Message, Discards: x.draft.began}
	longest := maxRetryAfter
	if x.client.cfg.RetryFor > 0 && (e.Kind == Unreachable || e.Kind == Passes && slices.Contains([]int{429, 503, 529}, e.Status)) {
		r.Of = 0
		if longest = made.until.Sub(x.client.now()); longest <= 0 {
			return Retry{}, false
		}
	} else if r.Attempt > maxRetries {
		return Retry{}, false
	}
	switch {
	case e.After > longest:
		e.Hint = "the endpoint asks to try again in " + min(e.After, 100*24*time.Hour).Round(time.Second).String()
		if later := x.client.cfg.Hints.Later; later != "" {
			e.Hint += "; " + later
		}
		return Retry{}, false
	case x.client.replayer != nil || x.connectionDied:
	case e.After > 0:
		r.After = e.After
	default:
		r.After = min(firstWait<<min(made.made, 16), maxWait)
		r.After = min(r.After+rand.N(r.After/4), longest)
	}
	made.made++
	return r, true
}

// sleep waits, or returns the cause that ended ctx.
func sleep(ctx context.Context, wait time.Duration) error {
	goroutine.Await(ctx.Done(), wait)
	return context.Cause(ctx)
}

// repair changes how requests are written if the refusal is about something that can be written in
// another way, and reports whether to send the request again. Each change is made once and stays
// for the rest of the run.
func (x *exchange) repair(err error) bool {
	c, r, f := x.client, x.request, x.refusal
	e, ours := errors.AsType[*Error](err)
	if !ours || f == nil || x.draft.began {
		return false
	}
	o := &c.options
	var list []repair
	switch e.Kind {
	case PictureRefused:
		list = []repair{{&o.noOptionalImages, hasOptionalImage(r.Messages), "without the images of tool servers"}}
	case StateInvalid:
		list = []repair{
			{&o.bareRounds, leavesOut(r.Messages), "without the reasoning of the rounds with results that are left out"},
			{&o.noState, hasState(r.Messages), "without the reasoning of earlier replies"},
		}
	case FormRefused, PairRefused:
		list = c.dialect.formRepairs(o, r, f, e.Kind)
	case ForeignCall:
		list = foreignRepairs(o, r, f)
	case ToolRefused, RoleRefused, RequestDefect:
	default:
		return false
	}
	list = append(list, c.dialect.repairs(o, r, f)...)
	change := firstNeeded(append(list, repair{&o.shortTexts, f.isDescription() && hasLongDescription(r),
		fmt.Sprintf("with descriptions of tools of at most %d characters", maxDescription)})...)
	if change == "" {
		return false
	}
	if x.sink.Warn != nil {
		x.sink.Warn("request_repaired", strings.TrimSuffix("the endpoint answered "+strconv.Itoa(f.status), " 0")+"; the request is sent again "+change+", and so are later ones")
	}
	c.encoder = nil // the conversation is written anew
	return true
}

// foreignRepairs are the changes after a refusal of calls that another endpoint or model made.
func foreignRepairs(o *options, r *Request, f *refusal) []repair {
	return []repair{
		{&o.nineIDs, f.isAboutIDs() && f.says("length of 9"), "with ids of calls of 9 letters and digits"},
		{&o.mapsIDs, f.isAboutIDs(), "with other ids of calls"},
		{&o.fill.signature, f.lacksSignature(), "with a placeholder in calls without a signature"},
		{&o.noThinking, f.lacksThinking() && hasParam(r.Params, "thinking"), "without thinking"},
		{&o.fill.reasoning, f.lacksReasoning() || f.lacksThinking(), "with empty reasoning in messages without reasoning"},
	}
}

// maxDescription is the longest description of a tool that the strictest endpoints accept, in
// characters.
const maxDescription = 1024

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
