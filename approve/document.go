package approve

import (
	"iter"

	"toolpipe/stream/jsontext"
)

// A document is a JSON text that jsontext.Check accepted, as a flat list of
// its values in the order of the text. nodes[0] is the whole value. The values
// inside of a value follow it, up to the index in its field next.
type document struct {
	text  []byte
	nodes []node
	open  []int // while parse runs: the arrays and objects around the next value
}

// A node is one value of a document.
type node struct {
	kind       byte // '{', '[', '"', '0' for a number, 't', 'f', 'n'
	start, end int  // the value's text
	keyStart   int  // its key's literal without the quotes, if it is in an object
	keyEnd     int
	next       int // the index of the first node after it and the values inside of it
}

// parse reads text. Blank text is read as an empty object. The memory of an
// earlier parse is used again.
func (d *document) parse(text []byte) {
	d.text, d.nodes, d.open = text, d.nodes[:0], d.open[:0]
	var n node // the next value; its key, if that was read
	for i := jsontext.Space(text, 0); i < len(text); i = jsontext.Space(text, i) {
		switch c := text[i]; c {
		case ',', ':':
			i++
		case ']', '}':
			i++
			last := len(d.open) - 1
			d.close(d.open[last], i)
			d.open = d.open[:last]
		default:
			if c == '"' && n.keyEnd == 0 && d.inObject() {
				end := jsontext.LiteralEnd(text, i)
				n.keyStart, n.keyEnd = i+1, end-1
				i = end
				continue
			}
			n.kind, n.start = c, i
			if jsontext.IsNumber(text[i:]) {
				n.kind = '0'
			}
			at := len(d.nodes)
			d.nodes = append(d.nodes, n)
			n = node{}
			if c == '{' || c == '[' {
				d.open = append(d.open, at)
				i++
			} else {
				i = jsontext.ValueEnd(text, i)
				d.close(at, i)
			}
		}
	}
	if len(d.nodes) == 0 {
		d.nodes = append(d.nodes, node{kind: '{', next: 1})
	}
}

// inObject reports whether the next value is a member of an object.
func (d *document) inObject() bool {
	return len(d.open) > 0 && d.nodes[d.open[len(d.open)-1]].kind == '{'
}

// close completes a node whose value ends at end.
func (d *document) close(at, end int) {
	d.nodes[at].end, d.nodes[at].next = end, len(d.nodes)
}

// children yields the index of each value directly inside of nodes[at].
func (d *document) children(at int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := at + 1; i < d.nodes[at].next; i = d.nodes[i].next {
			if !yield(i) {
				return
			}
		}
	}
}

// key returns the name of nodes[at] in its object, unescaped.
func (d *document) key(at int) []byte {
	return jsontext.Unescape(d.text[d.nodes[at].keyStart:d.nodes[at].keyEnd])
}

// str returns the text that the string nodes[at] means.
func (d *document) str(at int) []byte {
	return jsontext.Unescape(d.text[d.nodes[at].start+1 : d.nodes[at].end-1])
}

// raw returns the text of nodes[at] as it stands in the document.
func (d *document) raw(at int) []byte {
	return d.text[d.nodes[at].start:d.nodes[at].end]
}
