package history

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Text is a text. Of a long text only the head and the tail are kept.
type Text struct {
	Head string
	Tail string // "" if nothing is left out
	Left int64  // the bytes between Head and Tail that are left out
}

// IsEmpty reports whether the text has no bytes.
func (t *Text) IsEmpty() bool { return t.Head == "" && t.Left == 0 }

// Size is the bytes of the whole text.
func (t *Text) Size() int64 { return int64(len(t.Head)) + t.Left + int64(len(t.Tail)) }

// Gap says what is left out between Head and Tail, in words.
func (t *Text) Gap() string { return strconv.FormatInt(t.Left, 10) + " bytes are not shown here" }

// String is the text, with words in place of what is left out.
func (t *Text) String() string {
	if t.Left == 0 {
		return t.Head
	}
	return t.Head + "\n[" + t.Gap() + "]\n" + t.Tail
}

// shrink leaves out so much of the middle that at most limit bytes are kept: three quarters
// of them from the head. Nothing of the rest stays in memory.
func (t *Text) shrink(limit int) {
	if len(t.Head)+len(t.Tail) <= limit {
		return
	}
	whole := t.Head + t.Tail
	size := t.Size()
	head, tail := limit-limit/4, limit/4
	t.Head = strings.Clone(wholeRunes(t.Head, whole, head))
	if t.Left == 0 {
		t.Tail = whole[len(t.Head):]
	}
	t.Tail = strings.Clone(endOf(t.Tail, tail))
	t.Left = size - int64(len(t.Head)) - int64(len(t.Tail))
}

// wholeRunes is the beginning of a text, of at most n bytes, that does not end inside a
// character. whole begins with head, which is used up to its end alone.
func wholeRunes(head, whole string, n int) string {
	n = min(n, len(head))
	for i := n; i > max(0, n-utf8.UTFMax) && i < len(whole); i-- {
		if utf8.RuneStart(whole[i]) {
			return whole[:i]
		}
	}
	return whole[:n]
}

// endOf is the end of a text, of at most n bytes, that does not begin inside a character.
func endOf(s string, n int) string {
	from := max(0, len(s)-n)
	for i := from; i < from+utf8.UTFMax; i++ {
		if i == len(s) || utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s[from:] // it is not UTF-8
}

// A collector takes a text in pieces and keeps its head and its tail, of limit bytes together.
type collector struct {
	limit int
	cut   Text
	last  []byte // that are not in cut yet
}

func (c *collector) add(piece string) {
	if c.last = append(c.last, piece...); len(c.last) > 4*c.limit {
		c.cut, c.last = c.text(), c.last[:0]
	}
}

// text is what was collected.
func (c *collector) text() Text {
	t := c.cut
	if t.Left == 0 {
		t.Head += string(c.last)
	} else {
		t.Tail += string(c.last)
	}
	return t.Within(c.limit)
}

// Within is the text with at most limit bytes kept.
func (t Text) Within(limit int) Text {
	t.shrink(limit)
	return t
}
