package stream

import (
	"errors"
	"slices"
)

// errEnd is the error of a decoder at the dialect's end marker.
var errEnd = errors.New("end of reply")

// maxCalls caps the calls of one reply.
const maxCalls = 1024

// maxArguments caps the arguments of a call, in bytes. No tool accepts more, so a longer stream
// is ended.
const maxArguments = 1 << 20

// maxTextOfCalls caps the text of a reply that calls or pauses, because it goes back with the
// next request.
const maxTextOfCalls = 16 << 20

// maxTextPassing is the same cap if the caller needs the text only in its Sink and calls are
// not expected: this text takes most of the memory of a long answer.
const maxTextPassing = 128 << 10

// draft is a reply that is being received. A decoder fills it; the draft passes deltas on to
// the sink and keeps the data of the Reply.
type draft struct {
	request  *Request
	sink     *Sink
	err      error // the first error of the sink, or an exceeded cap: nothing more is passed on
	followed int   // events that chunkShape took
	began    bool  // the sink took a delta or a call began: the exchange is not repeated

	answer, reasoningText, refusalText replyText // the texts of a reply: the answer, the reasoning and a refusal
	text                               draftText
	think                              thinkSplitter

	seen     bool // a part of a reply came
	done     bool // the dialect's end marker came
	calls    []Call
	hasAside bool   // a part of the text is commentary
	answers  []span // the other parts, which are the answer, in the endpoint's order
	ending
	usage   Usage
	model   string
	refusal []byte
}

type ending struct {
	stop         Stop
	finishReason string   // the stop in the endpoint's word
	completion   int      // tokens of the completion as the endpoint counts them
	waits        string   // see Reply
	unknown      []string // likewise
}

// draftText is the text of a draft, including commentary.
type draftText struct {
	chunks
	said  []span            // the ranges that Sink.Text got
	cited map[Citation]bool // see draft.cite
}

func newDraft(r *Request, sink *Sink) *draft {
	d := &draft{request: r, sink: sink}
	d.answer.emit, d.reasoningText.emit = d.passAnswer, d.passReasoning
	d.refusalText.emit = func(_ *passedText, delta []byte) { d.began, d.refusal = true, append(d.refusal, delta...) }
	return d
}

// fail ends the exchange with err, unless it is nil or the exchange has failed already.
func (d *draft) fail(err error) {
	if d.err == nil {
		d.err = err
	}
}

// bound ends the exchange if the arguments of a call have grown too large.
func (d *draft) bound(arguments []byte) {
	if len(arguments) > maxArguments {
		d.fail(tooMuch("the arguments of a call are larger than %d MiB", maxArguments>>20))
	}
}

func (d *draft) passAnswer(of *passedText, delta []byte) {
	d.began = true
	switch {
	case of.aside:
		d.passText(delta, true)
	case d.request.ThinkTags:
		d.think.add(d, delta)
	default:
		d.passText(delta, false)
	}
}

func (d *draft) passText(delta []byte, aside bool) {
	from, sink := d.text.size, d.sink.Commentary
	if d.text.add(delta); d.request.TextPassing && d.text.size > maxTextPassing {
		d.text.drop()
	}
	if !aside {
		sink = d.sink.Text
		d.text.said = addSpan(d.text.said, span{from, d.text.size})
	}
	d.pass(sink, delta)
}

func (d *draft) passReasoning(_ *passedText, delta []byte) {
	d.began = true
	d.pass(d.sink.Reasoning, delta)
}

func (d *draft) pass(sink func([]byte) error, delta []byte) {
	if sink != nil && len(delta) > 0 && d.err == nil {
		d.fail(sink(delta))
	}
}

// reply makes the Reply after the decoder found it complete. used holds the ids of earlier
// calls, and gets the ids of its calls.
func (d *draft) reply(dec decoder, used map[string]bool) (*Reply, error) {
	known := d.text.size
	d.answer.end()
	d.reasoningText.end()
	d.refusalText.end()
	if d.request.ThinkTags {
		d.think.end(d)
	}
	d.answers = addSpan(d.answers, span{known, d.text.size}) // the text that was held back until now
	switch {
	case d.err != nil:
		return nil, d.err
	case len(d.calls) > maxCalls:
		return nil, tooManyCalls()
	case (len(d.calls) > 0 || d.stop == StopPause) && (d.text.dropped || d.text.size > maxTextOfCalls):
		return nil, tooMuch("the reply calls a tool after more text than can go back to the model")
	case len(d.calls) > 0 && d.reasoningText.whole.size > maxTextOfCalls:
		return nil, tooMuch("the reply calls a tool after more reasoning than can go back to the model")
	}
	if err := d.decideStop(); err != nil {
		return nil, err
	}
	newIDs(d.calls, len(d.request.Messages), used)
	r := &Reply{Stop: d.stop, Finish: d.finishReason, Usage: d.usage, Model: d.model, Refusal: string(d.refusal), Waits: d.waits, Unknown: d.unknown}
	parts := d.text.parts()
	inOrder := slices.IsSortedFunc(d.answers, func(a, b span) int { return a.from - b.from })
	if r.HasAside = d.hasAside; d.hasAside || !inOrder {
		if answer := d.text.only(d.answers); len(answer) > 0 || len(d.calls) == 0 {
			parts = answer
		}
	}
	r.Message = Message{Role: Assistant, Parts: parts, Calls: d.calls, Opaque: dec.echo()}
	return r, nil
}

// decideStop corrects the stop by the content of the reply.
func (d *draft) decideStop() error {
	limit := d.request.tokenLimit()
	switch {
	case len(d.refusal) > 0 && d.stop != StopLength:
		d.stop = StopFilter
	case limit > 0 && d.completion >= limit && d.stop != StopFilter: // llama-server reports a reply that was cut as completed
		d.stop = StopLength
	case d.stop == StopFailed && len(d.calls) == 0:
		return failedReply("finish_reason", d.finishReason)
	case d.stop == StopCalls && len(d.calls) == 0:
		return notAReply("it ended with finish_reason " + quoteShort(d.finishReason) + " but contains no call")
	case len(d.calls) > 0 && (d.stop == StopEnd || d.stop == StopPause || d.stop == StopUnknown && d.finishReason == ""):
		d.stop = StopCalls
	}
	return nil
}

func failedReply(field, word string) error {
	f := readRefusal(0, []byte(word))
	f.shown = "the reply ended with " + field + " " + clean(word, 80)
	return f
}
