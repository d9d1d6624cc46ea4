package approve

import (
	"iter"
	"strconv"
	"strings"

	"toolpipe/stream/text/jsontext"
)

// A document is a JSON text that jsontext.Check accepted, as a flat list of its values in the
// order of the text. nodes[0] is the outermost value. The values inside a value follow it, up
// to the index in its field next.
type document struct {
	text  []byte
	nodes []node
}

type node struct {
	kind       byte // '{', '[', '"', '0' for a number, 't', 'f', 'n'
	start, end int  // the value's text
	keyStart   int  // its key's literal without the quotes, if it is in an object
	keyEnd     int
	next       int // the index of the first node after it and the values inside of it
}

// parse reads text. Blank text is read as an empty object. The memory of an earlier parse is
// reused.
func (d *document) parse(text []byte) {
	d.text, d.nodes = text, d.nodes[:0]
	if i := jsontext.Space(text, 0); i < len(text) {
		d.add(node{start: i})
	} else {
		d.nodes = append(d.nodes, node{kind: '{', next: 1})
	}
}

// add adds the value that begins at n.start, and the values inside it. n already holds its key.
// It returns the end of the value.
func (d *document) add(n node) (end int) {
	text, i := d.text, n.start
	if n.kind = text[i]; jsontext.IsNumber(text[i:]) {
		n.kind = '0'
	}
	at := len(d.nodes)
	d.nodes = append(d.nodes, n)
	if isScalar(n.kind) {
		end = jsontext.ValueEnd(text, i)
	} else {
		for i = jsontext.Space(text, i+1); text[i] != '}' && text[i] != ']'; {
			var inner node
			if n.kind == '{' {
				inner.keyStart, inner.keyEnd = i+1, jsontext.LiteralEnd(text, i)-1
				i = jsontext.Space(text, jsontext.Space(text, inner.keyEnd+1)+1) // after the colon
			}
			inner.start = i
			if i = jsontext.Space(text, d.add(inner)); text[i] == ',' {
				i = jsontext.Space(text, i+1)
			}
		}
		end = i + 1
	}
	d.nodes[at].end, d.nodes[at].next = end, len(d.nodes)
	return end
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

func isScalar(kind byte) bool { return kind != '{' && kind != '[' }

// typeOf returns the JSON type of nodes[at]: its kind, but 't' for both truth values.
func (d *document) typeOf(at int) byte {
	if kind := d.nodes[at].kind; kind != 'f' {
		return kind
	}
	return 't'
}

func (d *document) pathOf(at int) string {
	var keys []string
	for parent := 0; parent != at; {
		n := 0
		for child := range d.children(parent) {
			if at >= child && at < d.nodes[child].next {
				if d.nodes[parent].kind == '[' {
					keys = append(keys, strconv.Itoa(n))
				} else {
					keys = append(keys, string(d.key(child)))
				}
				parent = child
				break
			}
			n++
		}
	}
	return strings.Join(keys, ".")
}

// key returns the name of nodes[at] in its object, unescaped.
func (d *document) key(at int) []byte {
	return jsontext.Unescape(d.text[d.nodes[at].keyStart:d.nodes[at].keyEnd])
}

// str returns the text of the string nodes[at], unescaped.
func (d *document) str(at int) []byte {
	return jsontext.Unescape(d.text[d.nodes[at].start+1 : d.nodes[at].end-1])
}

func (d *document) raw(at int) []byte {
	return d.text[d.nodes[at].start:d.nodes[at].end]
}

// maxArguments limits the arguments of a call, in bytes.
const maxArguments = 1 << 20

// Canonical returns the canonical form of a call's arguments: the original text without
// insignificant white space. The text must be one strict JSON object of at most 1 MiB. No two
// names of one object may be equal under case folding, and no name may hold NUL: a tool server
// in another language may take two such names for one. An error is a *jsontext.SyntaxError,
// worded for the model. The result may share memory with arguments. Empty arguments are an
// error.
func Canonical(arguments []byte) ([]byte, error) { return strictObject(arguments, maxArguments) }

// strictObject is Canonical for an object of at most max bytes.
func strictObject(text []byte, max int) ([]byte, error) {
	if len(text) > max {
		return nil, &jsontext.SyntaxError{Offset: max, Line: 1, Column: 1, Message: "more than " + strconv.Itoa(max) + " bytes: too long"}
	}
	return jsontext.Compact(text, jsontext.Options{Object: true, FoldNames: true})
}
