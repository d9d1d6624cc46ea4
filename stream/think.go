package stream

import (
	"bytes"
	"slices"
)

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
	whiteSpace = " \t\r\n"
)

// thinkSplitter takes the text between <think> and </think> as reasoning
// (Request.ThinkTags). Tags may be split over deltas. An opening tag counts only
// at the beginning of the text, and a closing tag only behind it, so that an
// answer may speak of the tags.
type thinkSplitter struct {
	state   thinkState
	pending []byte // may be the beginning of a tag
	raw     chunks // all that came before the answer, except pending
	tagged  bool   // there was an opening tag
}

type thinkState uint8

const (
	beforeThink thinkState = iota // only white space came
	thinkStart                    // only white space came after the opening tag
	inThink
	afterThink // only white space came after the closing tag
	inAnswer
)

func (t *thinkSplitter) add(d *draft, delta []byte) {
	if t.state == inAnswer {
		d.passText(d.sink.Text, delta)
		return
	}
	t.pending = append(t.pending, delta...)
	if t.state == beforeThink {
		trimmed := bytes.TrimLeft(t.pending, whiteSpace)
		if bytes.HasPrefix([]byte(thinkOpen), trimmed) && len(trimmed) < len(thinkOpen) {
			return
		}
		if !bytes.HasPrefix(trimmed, []byte(thinkOpen)) {
			t.answer(d)
			return
		}
		t.state, t.tagged = thinkStart, true
		t.consume(len(t.pending) - len(trimmed) + len(thinkOpen))
	}
	if t.state == thinkStart {
		if t.skipSpace(); len(t.pending) == 0 {
			return
		}
		t.state = inThink
	}
	if t.state == inThink && t.reasoning(d) {
		t.state = afterThink
	}
	if t.state == afterThink {
		if t.skipSpace(); len(t.pending) > 0 {
			t.answer(d)
		}
	}
}

// reasoning passes on what is pending up to the closing tag.
func (t *thinkSplitter) reasoning(d *draft) (closed bool) {
	before, _, closed := bytes.Cut(t.pending, []byte(thinkClose))
	if !closed {
		before = before[:len(before)-partialTail(before, thinkClose)]
	}
	d.reasoningText.add(before)
	t.consume(len(before))
	if closed {
		t.consume(len(thinkClose))
	}
	return closed
}

func (t *thinkSplitter) skipSpace() {
	t.consume(len(t.pending) - len(bytes.TrimLeft(t.pending, whiteSpace)))
}

// consume moves the first n bytes, which are not of the answer, from pending to
// raw.
func (t *thinkSplitter) consume(n int) {
	t.raw.add(t.pending[:n])
	t.pending = t.pending[:copy(t.pending, t.pending[n:])]
}

// asItCame returns all that came, with its tags, to be sent back.
func (t *thinkSplitter) asItCame(answer []Part) []Part {
	return slices.Concat(t.raw.parts(), []Part{{Text: string(t.pending)}}, answer)
}

func (t *thinkSplitter) answer(d *draft) {
	t.state = inAnswer
	d.passText(d.sink.Text, t.pending)
	t.pending = nil
}

// end passes on what is pending: no tag follows.
func (t *thinkSplitter) end(d *draft) {
	if t.state == inThink {
		d.reasoningText.add(t.pending)
	} else {
		d.passText(d.sink.Text, t.pending)
	}
}

// partialTail returns the length of the longest end of b that is a beginning of
// tag.
func partialTail(b []byte, tag string) int {
	for n := min(len(b), len(tag)-1); n > 0; n-- {
		if string(b[len(b)-n:]) == tag[:n] {
			return n
		}
	}
	return 0
}
