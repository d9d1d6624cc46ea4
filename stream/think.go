package stream

import (
	"bytes"
	"slices"
)

// thinkSplitter takes the text between <think> and </think> as reasoning
// (Request.ThinkTags). Tags may be split over deltas. A closing tag without
// an opening one is text, and an opening one counts only where the answer has
// not begun, so that an answer may speak of the tags.
type thinkSplitter struct {
	state   thinkState
	pending []byte // what may be the beginning of a tag
	raw     chunks // what came before the answer, pending excepted
	tagged  bool   // there was an opening tag
}

type thinkState uint8

const (
	beforeThink thinkState = iota // nothing but white space yet
	thinkStart                    // white space after the opening tag
	inThink
	afterThink // white space after the closing tag
	inAnswer
)

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

func (t *thinkSplitter) add(d *draft, delta []byte) error {
	if t.state == inAnswer {
		return d.plainText(delta)
	}
	t.pending = append(t.pending, delta...)
	for {
		before, rest := t.state, len(t.pending)
		if err := t.step(d); err != nil {
			return err
		}
		if t.state == inAnswer || (t.state == before && rest == len(t.pending)) {
			return nil
		}
	}
}

// step handles what is pending as far as the state allows.
func (t *thinkSplitter) step(d *draft) error {
	switch t.state {
	case beforeThink:
		trimmed := bytes.TrimLeft(t.pending, " \t\r\n")
		switch {
		case bytes.HasPrefix(trimmed, []byte(thinkOpen)):
			t.state, t.tagged = thinkStart, true
			t.consume(len(t.pending) - len(trimmed) + len(thinkOpen))
		case !bytes.HasPrefix([]byte(thinkOpen), trimmed):
			return t.answer(d)
		}
	case thinkStart:
		t.consume(len(t.pending) - len(bytes.TrimLeft(t.pending, " \t\r\n")))
		if len(t.pending) > 0 {
			t.state = inThink
		}
	case inThink:
		if i := bytes.Index(t.pending, []byte(thinkClose)); i >= 0 {
			err := d.addReasoning(t.pending[:i])
			t.state = afterThink
			t.consume(i + len(thinkClose))
			return err
		}
		n := len(t.pending) - partialTail(t.pending, thinkClose)
		err := d.addReasoning(t.pending[:n])
		t.consume(n)
		return err
	case afterThink:
		t.consume(len(t.pending) - len(bytes.TrimLeft(t.pending, " \t\r\n")))
		if len(t.pending) > 0 {
			return t.answer(d)
		}
	}
	return nil
}

// consume takes what is no answer off what is pending.
func (t *thinkSplitter) consume(n int) {
	t.raw.add(t.pending[:n])
	t.pending = t.pending[:copy(t.pending, t.pending[n:])]
}

// asItCame returns all that came, tags included, to be sent back.
func (t *thinkSplitter) asItCame(answer []Part) []Part {
	return slices.Concat(t.raw.parts(), []Part{{Text: string(t.pending)}}, answer)
}

func (t *thinkSplitter) answer(d *draft) error {
	t.state = inAnswer
	err := d.plainText(t.pending)
	t.pending = nil
	return err
}

// end takes what is pending for what it is: no tag.
func (t *thinkSplitter) end(d *draft) error {
	if t.state == inThink {
		return d.addReasoning(t.pending)
	}
	return d.plainText(t.pending)
}

// partialTail returns the length of the longest end of b that tag begins with.
func partialTail(b []byte, tag string) int {
	for n := min(len(b), len(tag)-1); n > 0; n-- {
		if string(b[len(b)-n:]) == tag[:n] {
			return n
		}
	}
	return 0
}
