package approve

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"toolpipe/stream/text/escape"
)

// A policyReader turns the document of a policy file into rules. Its methods return the first
// error, in the form of errorAt.
type policyReader struct {
	document
	path     string
	warnings []Warning
	line     struct{ offset, number int } // the last line that lineOf counted
}

type policyKey struct {
	name    string
	read    func(at int) error // reads its value
	missing string             // the error without it, "" if it may be left out
}

// object reads an object that has these keys and no others; wrong is the error for
// another value.
func (p *policyReader) object(at int, wrong string, keys []policyKey) error {
	if p.nodes[at].kind != '{' {
		return p.errorAt(p.nodes[at].start, "%s", wrong)
	}
	names, found := make([]string, len(keys)), make([]bool, len(keys))
	for k := range keys {
		names[k] = keys[k].name
	}
	for i := range p.children(at) {
		k := slices.Index(names, string(p.key(i)))
		if k < 0 {
			return p.unknownKey(i, strings.Join(names, ", "))
		}
		if err := keys[k].read(i); err != nil {
			return err
		}
		found[k] = true
	}
	for k := range keys {
		if !found[k] && keys[k].missing != "" {
			return p.errorAt(p.nodes[at].start, "%s", keys[k].missing)
		}
	}
	return nil
}

// into returns a function that reads a value by read, and keeps the result in to.
func into[T any](to *T, read func(at int) (T, error)) func(at int) error {
	return func(at int) (err error) {
		*to, err = read(at)
		return err
	}
}

// array calls read with each element of an array; wrong is the error for another value.
func (p *policyReader) array(at int, wrong string, read func(at int) error) error {
	if p.nodes[at].kind != '[' {
		return p.errorAt(p.nodes[at].start, "%s", wrong)
	}
	for i := range p.children(at) {
		if err := read(i); err != nil {
			return err
		}
	}
	return nil
}

// appendTo returns a function that reads a value by read, and adds the result to all.
func appendTo[T any](all *[]T, read func(at int) (T, error)) func(at int) error {
	return func(at int) error {
		one, err := read(at)
		*all = append(*all, one)
		return err
	}
}

func (p *policyReader) boolean(at int) (bool, error) {
	kind := p.nodes[at].kind
	if kind != 't' && kind != 'f' {
		return false, p.errorAt(p.nodes[at].start, "%s is true or false", p.key(at))
	}
	return kind == 't', nil
}

// decision reads the word for one of these decisions; wrong is the error for another value.
func (p *policyReader) decision(at int, wrong string, among ...Decision) (Decision, error) {
	for _, d := range among {
		if string(p.raw(at)) == `"`+d.String()+`"` {
			return d, nil
		}
	}
	return Deny, p.errorAt(p.nodes[at].start, "%s", wrong)
}

func (p *policyReader) nonEmpty(at int, what string) (string, error) {
	if p.nodes[at].kind != '"' || p.nodes[at].end-p.nodes[at].start == 2 {
		return "", p.errorAt(p.nodes[at].start, "%s is a string that is not empty", what)
	}
	return string(p.str(at)), nil
}

// origin names the file and the line of a value.
func (p *policyReader) origin(at int) string {
	return p.path + ":" + strconv.Itoa(p.lineOf(p.nodes[at].start))
}

// lineOf returns the line number of offset. If offsets grow, it counts each line once.
func (p *policyReader) lineOf(offset int) int {
	if offset < p.line.offset || p.line.number == 0 {
		p.line.offset, p.line.number = 0, 1
	}
	p.line.number += bytes.Count(p.text[p.line.offset:offset], []byte{'\n'})
	p.line.offset = offset
	return p.line.number
}

func (p *policyReader) unknownKey(at int, known string) error {
	return p.errorAt(p.nodes[at].keyStart, "unknown key %q; the keys here: %s", p.key(at), known)
}

// errorAt makes the error for the byte at offset: file, line and column, the problem, the line,
// and a caret below the byte. Like all errors it is not escaped.
func (p *policyReader) errorAt(offset int, format string, args ...any) error {
	column, shown := escape.Caret(p.text, offset)
	return fmt.Errorf("%s:%d:%d: %s%s", p.path, p.lineOf(offset), column, fmt.Sprintf(format, args...), shown)
}
