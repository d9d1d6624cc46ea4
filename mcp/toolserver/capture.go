package toolserver

import (
	"fmt"
)

// Capture keeps the head and the tail of an output and counts what is between
// them. One goroutine writes.
type Capture struct {
	head  []byte
	ring  []byte // the tail, a circle once it is full
	at    int    // where the next byte goes
	total int64
}

// captured is the most that is kept of each end: both outputs with their
// copies in an answer stay below what a model is shown.
const captured = 24 << 10

func (c *Capture) Write(p []byte) (int, error) {
	n := len(p)
	c.total += int64(n)
	if room := captured - len(c.head); room > 0 {
		room = min(room, len(p))
		c.head = append(c.head, p[:room]...)
		p = p[room:]
	}
	if len(p) > captured {
		p = p[len(p)-captured:]
	}
	if room := min(captured-len(c.ring), len(p)); room > 0 {
		c.ring = append(c.ring, p[:room]...)
		p = p[room:]
	}
	for len(p) > 0 {
		some := copy(c.ring[c.at:], p)
		p = p[some:]
		c.at = (c.at + some) % captured
	}
	return n, nil
}

func (c *Capture) Dropped() int64 { return c.total - int64(len(c.head)) - int64(len(c.ring)) }

// Bytes is what was kept, with a mark where something was left out.
func (c *Capture) Bytes() []byte {
	if n := c.Dropped(); n > 0 {
		b := WholeRunes(c.head)
		b = fmt.Appendf(append([]byte{}, b...), "\n[toolpipe] %d bytes are left out here\n", n)
		return append(append(b, c.ring[c.at:]...), c.ring[:c.at]...)
	}
	return append(append([]byte{}, c.head...), append(c.ring[c.at:len(c.ring):len(c.ring)], c.ring[:c.at]...)...)
}
