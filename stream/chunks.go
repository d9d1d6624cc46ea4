package stream

import "strings"

// chunks keeps a text of any length in pieces. A full piece is never moved. Requests quote each
// piece separately, so no piece ends inside a delta.
type chunks struct {
	full    []Part
	cur     strings.Builder
	size    int // the length of the complete text
	dropped bool
}

const (
	firstChunk   = 4 << 10   // it grows
	largestChunk = 256 << 10 // except for a delta that is longer
)

func (c *chunks) add(b []byte) {
	c.size += len(b)
	if c.dropped {
		return
	}
	if c.cur.Len() > 0 && c.cur.Len()+len(b) > largestChunk {
		c.full = append(c.full, Part{Text: c.cur.String()})
		c.cur = strings.Builder{}
		c.cur.Grow(largestChunk)
	}
	if c.cur.Cap()-c.cur.Len() < len(b) {
		c.cur.Grow(max(len(b), firstChunk))
	}
	c.cur.Write(b)
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

// only returns the text in the given ranges, in their order.
func (c *chunks) only(ranges []span) (parts []Part) {
	all := c.parts()
	for _, r := range ranges {
		at := 0
		for _, p := range all {
			if from, to := max(r.from-at, 0), min(r.to-at, len(p.Text)); from < to {
				parts = append(parts, Part{Text: p.Text[from:to]})
			}
			at += len(p.Text)
		}
	}
	return parts
}

type span struct{ from, to int }

func addSpan(list []span, s span) []span {
	if n := len(list); n > 0 && list[n-1].to == s.from {
		list[n-1].to = s.to
		return list
	}
	return append(list, s)
}
