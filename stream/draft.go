package stream

import (
	"errors"
	"slices"
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

// draft is a reply that is being received. A decoder hands it what came; the
// draft passes deltas on to the sink and keeps what the Reply needs.
type draft struct {
	request *Request
	sink    *Sink
	began   bool // the sink took a delta or a call began: the exchange is not repeated

	text            chunks
	think           thinkSplitter
	textJoiner      joiner
	reasoningJoiner joiner
	scratch         []byte

	calls        []Call
	opaque       Opaque
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
	return &draft{request: r, sink: sink}
}

// addText takes a delta of the answer.
func (d *draft) addText(delta []byte) error {
	if len(delta) == 0 {
		return nil
	}
	d.began = true
	delta = d.textJoiner.next(delta)
	if d.request.ThinkTags {
		return d.think.add(d, delta)
	}
	return d.plainText(delta)
}

func (d *draft) plainText(delta []byte) error {
	if len(delta) == 0 {
		return nil
	}
	if d.text.add(delta); d.request.TextPassing && d.text.size > maxTextOfCalls {
		d.text.drop()
	}
	if d.sink.Text != nil {
		if err := d.sink.Text(delta); err != nil {
			return sinkError{err}
		}
	}
	return nil
}

// addReasoning takes a delta of the reasoning.
func (d *draft) addReasoning(delta []byte) error {
	if len(delta) == 0 {
		return nil
	}
	d.began = true
	if delta = d.reasoningJoiner.next(delta); len(delta) > 0 && d.sink.Reasoning != nil {
		if err := d.sink.Reasoning(delta); err != nil {
			return sinkError{err}
		}
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
func (d *draft) reply() (*Reply, error) {
	if err := d.addText(d.textJoiner.end()); err != nil {
		return nil, err
	}
	if d.request.ThinkTags {
		if err := d.think.end(d); err != nil {
			return nil, err
		}
	}
	if err := d.addReasoning(d.reasoningJoiner.end()); err != nil {
		return nil, err
	}
	switch {
	case len(d.calls) > maxCalls:
		return nil, tooManyCalls()
	case len(d.calls) > 0 && d.text.size > maxTextOfCalls:
		return nil, tooMuchText()
	}
	d.fillIDs()
	r := &Reply{Stop: d.stop, Finish: d.finishReason, Usage: d.usage, Model: d.model, Refusal: string(asUTF8(d.refusal))}
	r.Message = Message{Role: Assistant, Parts: d.text.parts(), Calls: d.calls, Opaque: d.opaque}
	switch {
	case r.Refusal != "" && r.Stop != StopLength:
		r.Stop = StopFilter
	case len(d.calls) > 0 && (r.Stop == StopEnd || r.Stop == StopUnknown):
		r.Stop = StopCalls
	case len(d.calls) == 0 && r.Stop == StopCalls:
		r.Stop = StopEnd
	}
	return r, nil
}

// fillIDs gives an id to each call that has none, or that has the id of a call
// before it in this reply. The ids have 9 characters, which Mistral demands, and
// are the same in a replay.
func (d *draft) fillIDs() {
	for i := range d.calls {
		if id := d.calls[i].ID; id != "" && !hasID(d.calls[:i], id) {
			continue
		}
		for n := len(d.request.Messages); ; n++ {
			digits := strconv.Itoa(n)
			id := "call00000"[:max(9-len(digits), 0)] + digits
			inUse := func(m Message) bool { return hasID(m.Calls, id) }
			if !hasID(d.calls, id) && !slices.ContainsFunc(d.request.Messages, inUse) {
				d.calls[i].ID = id
				break
			}
		}
	}
}

func hasID(calls []Call, id string) bool {
	return slices.ContainsFunc(calls, func(c Call) bool { return c.ID == id })
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

// appendInner appends a range of the text as a JSON literal without its quotes.
func (c *chunks) appendInner(dst []byte, from, to int) []byte {
	for _, p := range c.parts() {
		n := len(p.Text)
		if from < n && to > 0 {
			dst = jsontext.AppendInner(dst, p.Text[max(from, 0):min(to, n)])
		}
		from, to = from-n, to-n
	}
	return dst
}
