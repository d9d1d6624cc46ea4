package history

import (
	"strconv"
	"strings"

	"toolpipe/stream/text/readable"
)

// A Text is a text. A long text keeps only its head and tail.
type Text struct {
	Head string
	Tail string // "" if the text is complete
	Left int64  // number of bytes omitted between Head and Tail
}

func (t *Text) IsEmpty() bool { return t.Head == "" && t.Left == 0 }

func (t *Text) Size() int64 { return int64(len(t.Head)) + t.Left + int64(len(t.Tail)) }

// Grouped is a number with commas; "?" for Unknown.
func Grouped(n int64) string {
	if n == Unknown {
		return "?"
	}
	return readable.Grouped(n)
}

func (t *Text) Gap() string { return strconv.FormatInt(t.Left, 10) + " bytes are not shown here" }

func (t *Text) String() string {
	if t.Left == 0 {
		return t.Head
	}
	return t.Head + "\n[" + t.Gap() + "]\n" + t.Tail
}

// shrink cuts the middle so that at most limit bytes are kept, three quarters of them in the head.
// The memory of the rest is freed.
func (t *Text) shrink(limit int) {
	if len(t.Head)+len(t.Tail) <= limit {
		return
	}
	size, end := t.Size(), t.Tail
	if t.Left == 0 {
		end = t.Head
	}
	t.Head = strings.Clone(readable.Cut(t.Head, limit-limit/4, ""))
	t.Tail = strings.Clone(readable.FromRune(end[max(0, len(end)-limit/4):]))
	t.Left = size - int64(len(t.Head)) - int64(len(t.Tail))
}

// A collector collects pieces of a text and keeps its head and tail, of limit bytes together.
type collector struct {
	limit int
	cut   Text
	last  []byte // not yet in cut
}

func (c *collector) add(piece string) {
	if c.last = append(c.last, piece...); len(c.last) > 4*c.limit {
		c.cut, c.last = c.text(), c.last[:0]
	}
}

func (c *collector) text() Text {
	t := c.cut
	if t.Left == 0 {
		t.Head += string(c.last)
	} else {
		t.Tail += string(c.last)
	}
	return t.Within(c.limit)
}

func (t Text) Within(limit int) Text {
	t.shrink(limit)
	return t
}
