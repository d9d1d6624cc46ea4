package approve

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"toolpipe/stream/text/escape"
)

// lineOf returns the line number of offset. For offsets that grow it counts each
// line once.
func (p *policyReader) lineOf(offset int) int {
	if offset < p.line.offset || p.line.number == 0 {
		p.line.offset, p.line.number = 0, 1
	}
	p.line.number += bytes.Count(p.text[p.line.offset:offset], []byte{'\n'})
	p.line.offset = offset
	return p.line.number
}

// unknownKey makes the error for the key of nodes[at].
func (p *policyReader) unknownKey(at int, known string) error {
	return p.errorAt(p.nodes[at].keyStart, "unknown key %q; the keys here: %s", p.key(at), known)
}

// maxContext is how many bytes of a long line are shown before the offset of an
// error, and after it.
const maxContext = 60

// errorAt makes the error for the byte at offset: file, line and column, the
// problem, the line, and a caret below the byte. Like all errors it is not
// escaped; the caret is at the right place when Escape is applied to each line.
func (p *policyReader) errorAt(offset int, format string, args ...any) error {
	start := bytes.LastIndexByte(p.text[:offset], '\n') + 1
	end := len(p.text)
	if i := bytes.IndexByte(p.text[offset:], '\n'); i >= 0 {
		end = offset + i
	}
	column := utf8.RuneCount(p.text[start:offset]) + 1
	from, to := max(start, offset-maxContext), min(end, offset+maxContext)
	before := bytes.TrimLeft(p.text[from:offset], " \t")
	after := bytes.TrimRight(p.text[offset:to], " \t\r")
	return fmt.Errorf("%s:%d:%d: %s\n    %s%s\n    %s^", p.path, p.lineOf(offset), column,
		fmt.Sprintf(format, args...), before, after, strings.Repeat(" ", utf8.RuneCountInString(escape.Escape(string(before)))))
}
