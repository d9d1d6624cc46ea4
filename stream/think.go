package stream

import "bytes"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
	whiteSpace = " \t\r\n"
)

// thinkSplitter takes the text between <think> and </think> as reasoning (Request.ThinkTags).
// Tags may be split over deltas. An opening tag counts only at the beginning of the text, and a
// closing tag only after it, so that an answer may mention the tags.
type thinkSplitter struct {
	state   thinkState
	blank   bool   // only white space came after the last tag: it is left out
	pending []byte // may be the beginning of a tag
	raw     chunks // all text before the answer, except pending; nothing without a tag
}

type thinkState uint8

const (
	beforeThink thinkState = iota // only white space came
	inThink
	inAnswer
)

func (t *thinkSplitter) add(d *draft, delta []byte) {
	t.pending = append(t.pending, delta...)
	if t.state == beforeThink {
		rest := bytes.TrimLeft(t.pending, whiteSpace)
		switch {
		case bytes.HasPrefix(rest, []byte(thinkOpen)):
			t.state, t.blank = inThink, true
			t.consume(len(t.pending) - len(rest) + len(thinkOpen))
		case bytes.HasPrefix([]byte(thinkOpen), rest):
			return
		default:
			t.state = inAnswer
		}
	}
	if t.state == inThink && t.hasText() {
		before, _, closed := bytes.Cut(t.pending, []byte(thinkClose))
		if !closed {
			before = before[:len(before)-partialTail(before, thinkClose)]
		}
		d.reasoningText.add(before)
		t.consume(len(before))
		if closed {
			t.state, t.blank = inAnswer, true
			t.consume(len(thinkClose))
		}
	}
	if t.state == inAnswer && t.hasText() {
		d.passText(t.pending, false)
		t.pending = t.pending[:0]
	}
}

// hasText leaves out white space after a tag, and reports whether more is pending.
func (t *thinkSplitter) hasText() bool {
	if t.blank {
		t.consume(len(t.pending) - len(bytes.TrimLeft(t.pending, whiteSpace)))
		t.blank = len(t.pending) == 0
	}
	return len(t.pending) > 0
}

// consume moves the first n bytes, which do not belong to the answer, from pending to raw.
func (t *thinkSplitter) consume(n int) {
	t.raw.add(t.pending[:n])
	t.pending = t.pending[:copy(t.pending, t.pending[n:])]
}

// end passes on the pending text: no tag follows.
func (t *thinkSplitter) end(d *draft) {
	if t.state == inThink {
		d.reasoningText.add(t.pending)
	} else {
		d.passText(t.pending, false)
	}
}

// partialTail returns the length of the longest end of b that is a beginning of tag.
func partialTail(b []byte, tag string) int {
	for n := min(len(b), len(tag)-1); n > 0; n-- {
		if string(b[len(b)-n:]) == tag[:n] {
			return n
		}
	}
	return 0
}
