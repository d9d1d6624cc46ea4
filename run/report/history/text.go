package history

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Text is a text of which only the head and the tail may be kept.
type Text struct {
	Head string
	Tail string // "" if nothing is left out
	Left int64  // the bytes between Head and Tail that are left out
}

// textOf is a whole text.
func textOf(s string) Text { return Text{Head: s} }

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

// kept is how many bytes of the text are in memory.
func (t *Text) kept() int { return len(t.Head) + len(t.Tail) }

// shrink leaves out so much of the middle that at most limit bytes are kept: three quarters
// of them from the head. What is kept does not hold the rest in memory.
func (t *Text) shrink(limit int) {
	if t.kept() <= limit {
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

// A collector takes a text in pieces and keeps its head and its tail. Its zero value keeps
// nothing; limit is set before the first piece.
type collector struct {
	limit int
	size  int64
	head  []byte
	tail  []byte // at most twice what is kept of the tail
}

func (c *collector) add(p []byte) {
	c.size += int64(len(p))
	if n := min(len(p), c.limit-c.limit/4-len(c.head)); n > 0 {
		c.head, p = append(c.head, p[:n]...), p[n:]
	}
	tail := c.limit / 4
	if len(p) > 2*tail {
		c.tail, p = c.tail[:0], p[len(p)-tail-utf8.UTFMax:]
	}
	if c.tail = append(c.tail, p...); len(c.tail) > 2*tail+2*utf8.UTFMax {
		c.tail = c.tail[:copy(c.tail, c.tail[len(c.tail)-tail-utf8.UTFMax:])]
	}
}

// text is what was collected.
func (c *collector) text() Text {
	if c.size == int64(len(c.head)+len(c.tail)) {
		t := textOf(string(c.head) + string(c.tail))
		t.shrink(c.limit)
		return t
	}
	head, tail := string(c.head), string(c.tail)
	for i := len(head); i > max(0, len(head)-utf8.UTFMax); i-- { // it may end inside a character
		if utf8.RuneStart(head[i-1]) {
			if !utf8.FullRuneInString(head[i-1:]) {
				head = head[:i-1]
			}
			break
		}
	}
	t := Text{Head: head, Tail: endOf(tail, c.limit/4)}
	t.Left = c.size - int64(len(t.Head)) - int64(len(t.Tail))
	return t
}

// Within is the text with at most limit bytes kept.
func (t Text) Within(limit int) Text {
	t.shrink(limit)
	return t
}
