package approve

import (
	"bytes"
	"toolpipe/stream/jsontext"
)

// document is a JSON text that was checked before, as a flat list of its
// values in the order of the text: the whole is nodes[0], and what is inside
// a value follows it up to its next.
type document struct {
	text  []byte
	nodes []node
}

// maxGuess is for how many values memory is taken before they are seen: the
// commas of a text may all stand in one string.
const maxGuess = 1 << 14

// node is one value.
type node struct {
	kind       byte // '{', '[', '"', '0' for a number, 't', 'f', 'n'
	start, end int  // of the value's text
	keyStart   int  // of its key's literal without quotes, when in an object
	keyEnd     int
	next       int // index of the first node that is not inside this one
}

// parse reads text, which must be valid; blank is an empty object. Memory of
// an earlier parse is used again.
func (d *document) parse(text []byte) {
	d.text, d.nodes = text, d.nodes[:0]
	if most := min(1+bytes.Count(text, []byte{','})+bytes.Count(text, []byte{'['})+bytes.Count(text, []byte{'{'}), maxGuess); most > cap(d.nodes) {
		d.nodes = make([]node, 0, most)
	}
	if i := d.space(0); i < len(text) {
		d.value(i, node{})
	} else {
		d.nodes = append(d.nodes, node{kind: '{', next: 1})
	}
}

func (d *document) space(i int) int {
	return jsontext.Space(d.text, i)
}

// value reads the value at i, whose key is in n, and returns where it ends.
func (d *document) value(i int, n node) int {
	at := len(d.nodes)
	n.kind, n.start = d.text[i], i
	d.nodes = append(d.nodes, n)
	switch c := d.text[i]; {
	case c == '{':
		i = d.members(i + 1)
	case c == '[':
		i = d.elements(i + 1)
	case c == '"':
		i = d.literalEnd(i)
	default:
		if c == '-' || c >= '0' && c <= '9' {
			d.nodes[at].kind = '0'
		}
		for i < len(d.text) && bytes.IndexByte([]byte(",]} \t\r\n"), d.text[i]) < 0 {
			i++
		}
	}
	d.nodes[at].end, d.nodes[at].next = i, len(d.nodes)
	return i
}

func (d *document) members(i int) int {
	for i = d.space(i); d.text[i] != '}'; {
		if d.text[i] == ',' {
			i = d.space(i + 1)
			continue
		}
		end := d.literalEnd(i)
		n := node{keyStart: i + 1, keyEnd: end - 1}
		i = d.space(d.value(d.space(d.space(end)+1), n))
	}
	return i + 1
}

func (d *document) elements(i int) int {
	for i = d.space(i); d.text[i] != ']'; {
		if d.text[i] == ',' {
			i = d.space(i + 1)
			continue
		}
		i = d.space(d.value(i, node{}))
	}
	return i + 1
}

// literalEnd returns the end of the string literal at i.
func (d *document) literalEnd(i int) int {
	for i++; d.text[i] != '"'; i++ {
		if d.text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// children calls f with each value directly inside nodes[at] until f says false.
func (d *document) children(at int) func(f func(int) bool) {
	return func(f func(int) bool) {
		for i := at + 1; i < d.nodes[at].next; i = d.nodes[i].next {
			if !f(i) {
				return
			}
		}
	}
}

// key returns the name of nodes[at] in its object, unescaped.
func (d *document) key(at int) []byte {
	return jsontext.Unescape(d.text[d.nodes[at].keyStart:d.nodes[at].keyEnd])
}

// str returns the text of the string nodes[at], unescaped.
func (d *document) str(at int) []byte {
	return jsontext.Unescape(d.text[d.nodes[at].start+1 : d.nodes[at].end-1])
}

// raw returns the text of nodes[at] as it came.
func (d *document) raw(at int) []byte {
	return d.text[d.nodes[at].start:d.nodes[at].end]
}
