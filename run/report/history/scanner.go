package history

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"toolpipe/stream/text/jsontext"
)

// The bounds of one line. What is beyond them is checked, and not kept.
const (
	maxDepth  = 1000    // how deep values may be nested; toolpipe writes and reads fewer levels
	keptDepth = 40      // how many levels are kept
	maxNodes  = 20_000  // how many values are kept
	maxRoom   = 1 << 20 // how many bytes of all its strings, beside the first ones of each
	leastKept = 64      // bytes of a string that are kept where maxRoom is used up
	maxNumber = 1000    // digits of a number
)

// A file is read once, in blocks: its lines are found and it is hashed on the way, so that a
// line may be longer than the memory.
type file struct {
	in    io.Reader
	block []byte
	i     int // the next byte in block
	err   error

	line   int   // the number of the line, from 1
	column int64 // the offset in the line of the byte block[0]
	bytes  int64 // of the whole file, as far as it was read
	sum    hash.Hash

	objects // of a plan
}

// objects hash what a file holds without the ends of its lines.
type objects struct {
	lines    hash.Hash // nil: it is not needed
	mark     int       // from there on the block was not given to lines
	inObject bool
}

const blockSize = 64 << 10

func newFile(in io.Reader) *file {
	return &file{in: in, block: make([]byte, 0, blockSize), line: 1, sum: sha256.New(), objects: objects{lines: sha256.New()}}
}

// fill reads the next block, and reports whether there is one.
func (f *file) fill() bool {
	if f.err != nil {
		return false
	}
	f.hashRest(len(f.block))
	f.mark = 0
	f.column += int64(len(f.block))
	for f.err == nil {
		var n int
		n, f.err = f.in.Read(f.block[:cap(f.block)])
		if f.block, f.i = f.block[:n], 0; n > 0 {
			f.sum.Write(f.block)
			f.bytes += int64(n)
			return true
		}
	}
	return false
}

// hashRest gives what was read of the object of this line, up to block[end], to the hash of lines.
func (f *file) hashRest(end int) {
	if f.lines != nil && f.inObject {
		f.lines.Write(f.block[f.mark:end])
		f.mark = end
	}
}

// peek is the next byte of the line; false at its end.
func (f *file) peek() (byte, bool) {
	if f.i >= len(f.block) && !f.fill() {
		return 0, false
	}
	c := f.block[f.i]
	return c, c != '\n'
}

// space skips white space.
func (f *file) space() {
	for {
		c, ok := f.peek()
		if !ok || c != ' ' && c != '\t' && c != '\r' {
			return
		}
		f.i++
	}
}

// next goes to the next line, from anywhere in this one, and reports whether there is one.
func (f *file) next() bool {
	for {
		if n := bytes.IndexByte(f.block[f.i:], '\n'); n >= 0 {
			f.i += n + 1
			f.column = -int64(f.i)
			f.line++
			return f.i < len(f.block) || f.fill()
		}
		if f.i = len(f.block); !f.fill() {
			return false
		}
	}
}

// at is where the next byte stands in its line, from 1.
func (f *file) at() int64 { return f.column + int64(f.i) + 1 }

// A syntaxError says where a line is no JSON object.
type syntaxError struct {
	line    int
	byte    int64 // from 1
	message string
	ended   bool // the line ended too early, as one does whose writer was killed
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("%d: byte %d: %s", e.line, e.byte, e.message)
}

// A scanner reads the lines of a file as objects.
type scanner struct {
	*file
	limit       int // of a string, the bytes that are kept
	nodes, room int // that are left for this line
}

func (s *scanner) errorf(format string, args ...any) error {
	_, more := s.peek()
	if s.err != nil && s.err != io.EOF {
		return s.err
	}
	return &syntaxError{s.line, s.at(), fmt.Sprintf(format, args...), !more}
}

// object reads the rest of the line, which is one object. One of the kind 0 is an empty line.
func (s *scanner) object() (v value, err error) {
	s.nodes, s.room = maxNodes, maxRoom
	s.space()
	c, ok := s.peek()
	switch {
	case !ok && (s.err == nil || s.err == io.EOF):
		return v, nil
	case c != '{':
		return v, s.errorf("a JSON object should begin here")
	}
	s.inObject, s.mark = true, s.i
	v, err = s.value(1)
	s.hashRest(s.i)
	if s.inObject = false; err != nil {
		return v, err
	}
	if s.space(); s.err != nil && s.err != io.EOF {
		return v, s.err
	}
	if _, more := s.peek(); more {
		return v, s.errorf("the object has ended before")
	}
	for i := range v.members {
		for j := range i {
			if v.members[i].name == v.members[j].name {
				return v, s.errorf("the object has the key %q twice", v.members[i].name)
			}
		}
		if i > 100 {
			break // an event has fewer members
		}
	}
	return v, nil
}

func (s *scanner) value(depth int) (v value, err error) {
	c, ok := s.peek()
	switch {
	case !ok:
		return v, s.errorf("the line ends in the middle of a value")
	case c == '"':
		v.kind = '"'
		v.text, err = s.str(s.limit)
	case c == '{' || c == '[':
		if depth > maxDepth {
			return v, s.errorf("nested more than %d deep", maxDepth)
		}
		return s.nested(c, depth)
	case c == '-' || c >= '0' && c <= '9':
		v.kind = '0'
		v.text, err = s.number()
	default:
		for _, word := range [...]string{"true", "false", "null"} {
			if c == word[0] {
				v.kind, v.text = c, textOf(word)
				return v, s.word(word)
			}
		}
		return v, s.errorf("no value can begin with %q", c)
	}
	return v, err
}

func (s *scanner) word(word string) error {
	for i := range len(word) {
		if c, ok := s.peek(); !ok || c != word[i] {
			return s.errorf("%s should stand here", word)
		}
		s.i++
	}
	return nil
}

func (s *scanner) number() (Text, error) {
	var b []byte
	for {
		c, ok := s.peek()
		if !ok || (c < '0' || c > '9') && c != '-' && c != '+' && c != '.' && c|0x20 != 'e' {
			break
		}
		if b = append(b, c); len(b) > maxNumber {
			return Text{}, s.errorf("a number of more than %d digits", maxNumber)
		}
		s.i++
	}
	if jsontext.Check(b, jsontext.Options{}) != nil {
		return Text{}, s.errorf("%q is not a number", b)
	}
	return textOf(string(b)), nil
}

// nested reads an object or an array. What is too much is read all the same.
func (s *scanner) nested(kind byte, depth int) (v value, err error) {
	v.kind = kind
	s.i++
	s.space()
	if c, ok := s.peek(); ok && c == kind+2 {
		s.i++
		return v, nil
	}
	for {
		var m member
		if kind == '{' {
			if m.name, err = s.name(); err != nil {
				return v, err
			}
		}
		s.nodes--
		if m.value, err = s.value(depth + 1); err != nil {
			return v, err
		}
		switch {
		case depth > keptDepth || s.nodes < 0:
			v.left++
		case kind == '{':
			v.members = append(v.members, m)
		default:
			v.elements = append(v.elements, m.value)
		}
		s.space()
		switch c, ok := s.peek(); {
		case ok && c == ',':
			s.i++
			s.space()
		case ok && c == kind+2:
			s.i++
			return v, nil
		default:
			return v, s.errorf("',' or '%c' should stand here", kind+2)
		}
	}
}

// name reads a key and its colon.
func (s *scanner) name() (string, error) {
	if c, ok := s.peek(); !ok || c != '"' {
		return "", s.errorf("a key should begin here")
	}
	t, err := s.str(1 << 10)
	if err != nil {
		return "", err
	}
	s.space()
	if c, ok := s.peek(); !ok || c != ':' {
		return "", s.errorf("':' should stand here")
	}
	s.i++
	s.space()
	return t.String(), nil
}

// str reads a string.
func (s *scanner) str(limit int) (Text, error) {
	c := collector{limit: max(leastKept, min(limit, s.room))}
	if s.nodes < 0 {
		c.limit = leastKept
	}
	for s.i++; ; {
		if _, ok := s.peek(); !ok {
			return Text{}, s.errorf("the line ends in the middle of a string")
		}
		rest := s.block[s.i:]
		n := plainLen(rest)
		c.add(rest[:n])
		if s.i += n; n == len(rest) {
			continue
		}
		switch b := s.block[s.i]; {
		case b == '"':
			s.i++
			s.room = max(0, s.room-len(c.head)-len(c.tail))
			return c.text(), nil
		case b == '\n':
			return Text{}, s.errorf("the line ends in the middle of a string")
		case b != '\\':
			return Text{}, s.errorf("the control character 0x%02x stands in a string", b)
		}
		meaning, err := s.escape()
		if err != nil {
			return Text{}, err
		}
		c.add(meaning)
	}
}

// plainLen is how many bytes at the beginning of b stand for themselves in a string.
func plainLen(b []byte) int {
	for i, c := range b {
		if c < ' ' || c == '"' || c == '\\' {
			return i
		}
	}
	return len(b)
}

// escape reads an escape, or two that are one character. A surrogate that stands alone
// becomes U+FFFD.
func (s *scanner) escape() (meaning []byte, err error) {
	r, err := s.unit()
	if err != nil {
		return nil, err
	}
	for utf16.IsSurrogate(r) {
		c, ok := s.peek()
		if !ok || c != '\\' {
			break
		}
		second, err := s.unit()
		if err != nil {
			return nil, err
		}
		if whole := utf16.DecodeRune(r, second); whole != utf8.RuneError {
			return utf8.AppendRune(meaning, whole), nil
		}
		meaning, r = utf8.AppendRune(meaning, r), second
	}
	return utf8.AppendRune(meaning, r), nil
}

// unit reads one escape.
func (s *scanner) unit() (rune, error) {
	b := make([]byte, 0, 6)
	for len(b) < 2 || b[1] == 'u' && len(b) < 6 {
		c, ok := s.peek()
		if !ok {
			return 0, s.errorf("the line ends in the middle of an escape")
		}
		b = append(b, c)
		s.i++
	}
	r, n := jsontext.ReadEscape(b)
	if n != len(b) {
		return 0, s.errorf("%q is no escape", b)
	}
	return r, nil
}

// sameNames reports whether an object has just these members.
func (v *value) sameNames(names ...string) bool {
	return len(v.members) == len(names) && !slices.ContainsFunc(v.members, func(m member) bool { return !slices.Contains(names, m.name) })
}
