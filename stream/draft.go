package stream

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"toolpipe/stream/jsontext"
)

// errEnd is the error of a decoder at the dialect's end marker.
var errEnd = errors.New("end of reply")

// sinkError is an error of the sink, which Client.Reply returns unwrapped.
type sinkError struct{ error }

// maxCalls caps the calls of one reply.
const maxCalls = 256

// maxTextOfCalls caps the text of a reply with calls, which goes back with the
// next request.
const maxTextOfCalls = 16 << 20

// maxTextPassing is the same where the caller needs the text only in its Sink and
// calls are not expected: the memory for it is what long answers take.
const maxTextPassing = 1 << 20

// draft is a reply that is being received. A decoder hands it what came; the
// draft passes deltas on to the sink and keeps what the Reply needs.
type draft struct {
	request  *Request
	sink     *Sink
	followed int  // events that chunkShape took
	began    bool // the sink took a delta or a call began: the exchange is not repeated

	answer, thought, denial voice // the texts of a reply: the answer, the reasoning and a refusal
	text                    chunks
	think                   thinkSplitter
	scratch                 []byte

	calls        []Call
	asides       []span // of the text: commentary, which is not the answer
	stop         Stop
	finishReason string // the stop in the endpoint's own word
	usage        Usage
	model        string
	refusal      []byte
}

func newDraft(r *Request, sink *Sink) *draft {
	if sink == nil {
		sink = &Sink{}
	}
	d := &draft{request: r, sink: sink}
	d.answer.emit, d.thought.emit = d.answerText, d.reasoningText
	d.denial.emit = func(_ *said, delta []byte) error {
		d.began, d.refusal = true, append(d.refusal, delta...)
		return nil
	}
	return d
}

// addText takes a delta of the answer.
func (d *draft) addText(delta []byte) error { return d.answer.add(&d.answer.whole, delta) }

// addReasoning takes a delta of the reasoning.
func (d *draft) addReasoning(delta []byte) error { return d.thought.add(&d.thought.whole, delta) }

// addRefusal takes a delta of a refusal that comes apart from the answer.
func (d *draft) addRefusal(delta []byte) error { return d.denial.add(&d.denial.whole, delta) }

func (d *draft) answerText(of *said, delta []byte) error {
	d.began = true
	switch {
	case of.aside:
		return d.plainText(d.sink.Commentary, delta)
	case d.request.ThinkTags:
		return d.think.add(d, delta)
	}
	return d.plainText(d.sink.Text, delta)
}

func (d *draft) plainText(sink func([]byte) error, delta []byte) error {
	if len(delta) == 0 {
		return nil
	}
	if d.text.add(delta); d.request.TextPassing && d.text.size > maxTextPassing {
		d.text.drop()
	}
	return pass(sink, delta)
}

func (d *draft) reasoningText(_ *said, delta []byte) error {
	d.began = true
	return pass(d.sink.Reasoning, delta)
}

func pass(sink func([]byte) error, delta []byte) error {
	if sink == nil || len(delta) == 0 {
		return nil
	}
	if err := sink(delta); err != nil {
		return sinkError{err}
	}
	return nil
}

// addLiteral calls add with what a JSON literal without its quotes means.
func (d *draft) addLiteral(raw []byte, add func([]byte) error) error {
	if jsontext.PlainLen(raw) == len(raw) {
		return add(raw)
	}
	d.scratch = jsontext.AppendWTF8(d.scratch[:0], raw)
	return add(d.scratch)
}

// reply makes the Reply after the decoder has found it whole.
func (d *draft) reply(dec decoder) (*Reply, error) {
	for _, v := range []*voice{&d.answer, &d.thought, &d.denial} {
		if err := v.end(); err != nil {
			return nil, err
		}
	}
	if d.request.ThinkTags {
		if err := d.think.end(d); err != nil {
			return nil, err
		}
	}
	switch {
	case len(d.calls) > maxCalls:
		return nil, tooManyCalls()
	case len(d.calls) > 0 && (d.text.dropped || d.text.size > maxTextOfCalls):
		return nil, tooMuch("the reply calls a tool after more text than can go back to the model")
	}
	if err := d.decideStop(); err != nil {
		return nil, err
	}
	d.fillIDs()
	r := &Reply{Stop: d.stop, Finish: d.finishReason, Usage: d.usage, Model: d.model, Refusal: string(d.refusal)}
	parts := d.text.parts()
	if len(d.asides) > 0 && d.text.size > 0 {
		r.HasAside = true
		if answer := d.text.only(outside(d.asides, d.text.size)); len(answer) > 0 || len(d.calls) == 0 {
			parts = answer
		}
	}
	r.Message = Message{Role: Assistant, Parts: parts, Calls: d.calls, Opaque: dec.echo()}
	return r, nil
}

// decideStop reads the finish reason in the light of what came.
func (d *draft) decideStop() error {
	limit := d.request.tokenLimit()
	switch {
	case len(d.refusal) > 0 && d.stop != StopLength:
		d.stop = StopFilter
	case limit > 0 && d.usage.Output >= limit && d.stop != StopFilter: // llama-server reports a reply that was cut as completed
		d.stop = StopLength
	case d.stop == StopFailed && len(d.calls) == 0:
		return failedReply("finish_reason", d.finishReason)
	case d.stop == StopCalls && len(d.calls) == 0:
		return notAReply("it ended with finish_reason " + quoteShort(d.finishReason) + " but holds no call")
	case len(d.calls) > 0 && (d.stop == StopEnd || d.stop == StopPause || d.stop == StopUnknown && d.finishReason == ""):
		d.stop = StopCalls
	}
	return nil
}

func failedReply(field, word string) *Error {
	return &Error{Kind: Refused, Message: "the reply ended with " + field + " " + clean(word, 80)}
}

// fillIDs gives an id to each call that has none, or that has the id of a call
// before it in the conversation. The ids have 9 characters, which Mistral demands,
// and are the same in a replay.
func (d *draft) fillIDs() {
	used := map[string]bool{}
	for i := range d.request.Messages {
		for _, c := range d.request.Messages[i].Calls {
			used[c.ID] = true
		}
	}
	var again []int
	for i, c := range d.calls {
		if c.ID == "" || used[c.ID] {
			again = append(again, i)
		}
		used[c.ID] = true
	}
	for _, i := range again {
		d.calls[i].ID = newID(len(d.request.Messages), used)
	}
}

// newID returns an id that is not in use, numbered from n, and marks it as used.
func newID(n int, used map[string]bool) string {
	for ; ; n++ {
		digits := strconv.Itoa(n)
		id := "call00000"[:max(9-len(digits), 0)] + digits
		if !used[id] {
			used[id] = true
			return id
		}
	}
}

// chunks keeps a text of any length in pieces that are never moved. Requests
// quote each piece on its own, so none ends inside a character that came whole.
type chunks struct {
	full    []Part
	cur     strings.Builder
	size    int // of the whole text
	dropped bool
}

const (
	firstChunk   = 4 << 10
	largestChunk = 1 << 20
)

func (c *chunks) add(b []byte) {
	c.size += len(b)
	for len(b) > 0 && !c.dropped {
		if c.cur.Cap()-c.cur.Len() < utf8.UTFMax {
			size := firstChunk
			if c.cur.Cap() > 0 {
				c.full = append(c.full, Part{Text: c.cur.String()})
				size = min(2*c.cur.Cap(), largestChunk)
			}
			c.cur = strings.Builder{}
			c.cur.Grow(size)
		}
		n := min(len(b), c.cur.Cap()-c.cur.Len())
		for i := n; n < len(b) && i > max(n-utf8.UTFMax, 0); i-- {
			if utf8.RuneStart(b[i]) {
				n = i
				break
			}
		}
		c.cur.Write(b[:n])
		b = b[n:]
	}
}

// drop frees the text and what is added to it; only the size stays.
func (c *chunks) drop() { c.full, c.cur, c.dropped = nil, strings.Builder{}, true }

// parts returns the text as parts with nothing between them.
func (c *chunks) parts() []Part {
	if c.size == 0 || c.dropped {
		return nil
	}
	return append(c.full, Part{Text: c.cur.String()})
}

// only returns the text in the given ranges, which are in order.
func (c *chunks) only(ranges []span) (parts []Part) {
	at := 0
	for _, p := range c.parts() {
		for _, r := range ranges {
			if from, to := max(r.from-at, 0), min(r.to-at, len(p.Text)); from < to {
				parts = append(parts, Part{Text: p.Text[from:to]})
			}
		}
		at += len(p.Text)
	}
	return parts
}
