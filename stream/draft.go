package stream

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf8"

	"toolpipe/stream/jsontext"
)

// errEnd is what a decoder returns at the dialect's end marker.
var errEnd = errors.New("end of reply")

// sinkError is an error of the sink, which Client.Reply returns unwrapped.
type sinkError struct{ error }

// maxCalls caps the calls of one reply.
const maxCalls = 256

// maxTextOfCalls caps the text of a reply that has calls. A text that went
// over it is an answer, and need not be kept for the next request.
const maxTextOfCalls = 16 << 20

// draft is a reply in the making. Decoders tell it what came; it passes
// deltas on and keeps what the Reply needs.
type draft struct {
	request *Request
	sink    *Sink
	began   bool // the sink has had a delta, or a call began: no more repetition

	text    chunks
	think   thinkSplitter
	shown   joiner // of the answer
	thought joiner // of the reasoning
	scratch []byte

	calls   []Call
	opaque  Opaque
	stop    Stop
	word    string // the endpoint's own for the stop
	usage   Usage
	model   string
	refusal []byte
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
	delta = d.shown.next(delta)
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
		d.text.forget()
	}
	if d.sink.Text != nil {
		if err := d.sink.Text(delta); err != nil {
			return sinkError{err}
		}
	}
	return nil
}

// addReasoning takes a delta of what the model thinks before it answers.
func (d *draft) addReasoning(delta []byte) error {
	if len(delta) == 0 {
		return nil
	}
	d.began = true
	if delta = d.thought.next(delta); len(delta) > 0 && d.sink.Reasoning != nil {
		if err := d.sink.Reasoning(delta); err != nil {
			return sinkError{err}
		}
	}
	return nil
}

// addLiteral is add with the inner text of a JSON string literal.
func (d *draft) addLiteral(raw []byte, add func([]byte) error) error {
	if jsontext.PlainLen(raw) == len(raw) {
		return add(raw)
	}
	d.scratch = jsontext.AppendHalves(d.scratch[:0], raw)
	return add(d.scratch)
}

// reply makes the Reply, once the decoder has found it whole.
func (d *draft) reply() (*Reply, error) {
	if err := d.addText(d.shown.end()); err != nil {
		return nil, err
	}
	if d.request.ThinkTags {
		if err := d.think.end(d); err != nil {
			return nil, err
		}
	}
	if err := d.addReasoning(d.thought.end()); err != nil {
		return nil, err
	}
	if len(d.calls) > 0 && d.text.size > maxTextOfCalls {
		return nil, tooMuchText()
	}
	d.fillIDs()
	r := &Reply{Stop: d.stop, Finish: d.word, Usage: d.usage, Model: d.model, Refusal: string(asUTF8(d.refusal))}
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

// fillIDs gives an id to each call that has none or has that of a call before
// it in this reply: 9 characters, which Mistral demands, and the same ones in
// a replay.
func (d *draft) fillIDs() {
	for i := range d.calls {
		if id := d.calls[i].ID; id != "" && !hasID(d.calls[:i], id) {
			continue
		}
		d.calls[i].ID = ""
		for n := len(d.request.Messages); d.calls[i].ID == ""; n++ {
			digits := strconv.Itoa(n)
			id := "call00000"[:max(9-len(digits), 0)] + digits
			if !d.knowsID(id) {
				d.calls[i].ID = id
			}
		}
	}
}

func (d *draft) knowsID(id string) bool {
	if hasID(d.calls, id) {
		return true
	}
	for i := range d.request.Messages {
		if hasID(d.request.Messages[i].Calls, id) {
			return true
		}
	}
	return false
}

func hasID(calls []Call, id string) bool {
	for i := range calls {
		if calls[i].ID == id {
			return true
		}
	}
	return false
}

// chunks keeps a text of any length in pieces that are never moved. Each piece
// is written into requests for itself, so none ends inside a character that
// came whole.
type chunks struct {
	whole  []Part
	cur    strings.Builder
	size   int
	forgot bool
}

const (
	firstChunk   = 4 << 10
	largestChunk = 1 << 20
)

func (c *chunks) add(b []byte) {
	c.size += len(b)
	for len(b) > 0 && !c.forgot {
		if c.cur.Cap()-c.cur.Len() < utf8.UTFMax {
			size := firstChunk
			if c.cur.Cap() > 0 {
				c.whole = append(c.whole, Part{Text: c.cur.String()})
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

// forget lets go of the text; its size goes on being counted.
func (c *chunks) forget() { c.whole, c.cur, c.forgot = nil, strings.Builder{}, true }

// parts returns the text as one part, or as several that follow each other
// without anything between them.
func (c *chunks) parts() []Part {
	if c.size == 0 || c.forgot {
		return nil
	}
	return append(c.whole, Part{Text: c.cur.String()})
}

// appendInner appends a range of the text as a JSON literal without quotes.
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
