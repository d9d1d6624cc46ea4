package approve

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"
)

const (
	// MaxDepth is how deeply arrays and objects may be nested.
	MaxDepth = 128
	// DefaultMaxArguments is the size of arguments that Canonical accepts when
	// it is told no other.
	DefaultMaxArguments = 1 << 20
)

// SyntaxError says where a text is not strict JSON.
type SyntaxError struct {
	Offset       int64 // bytes before the culprit
	Line, Column int   // from 1; columns count characters
	Message      string
}

func (e *SyntaxError) Error() string {
	if e.Line > 1 {
		return fmt.Sprintf("%s at line %d, column %d (byte %d)", e.Message, e.Line, e.Column, e.Offset)
	}
	return fmt.Sprintf("%s at byte %d", e.Message, e.Offset)
}

// CheckJSON reports whether data is exactly one strict JSON value: the grammar
// of RFC 8259, valid UTF-8, no lone surrogates, no duplicate keys (compared
// after unescaping), no byte order mark, nested at most MaxDepth deep. The
// error is a *SyntaxError.
func CheckJSON(data []byte) error {
	s := scanner{data: data}
	if err := s.document(); err != nil {
		return err
	}
	return nil
}

// Canonical returns the canonical form of a call's arguments: the text that
// came, without insignificant white space. args must be one JSON object that
// CheckJSON accepts and moreover have no keys in one object that are equal
// under case folding, no NUL in a key, and at most max bytes (0: 1 MiB). An
// error is a *SyntaxError, worded for the model. The result may share memory
// with args. Empty arguments are the caller's business (security.md I4).
func Canonical(args []byte, max int) ([]byte, error) {
	if max <= 0 {
		max = DefaultMaxArguments
	}
	if len(args) > max {
		return nil, &SyntaxError{Offset: int64(max), Line: 1, Column: 1, Message: "more than " + strconv.Itoa(max) + " bytes: too long"}
	}
	s := scanner{data: args, arguments: true}
	if err := s.document(); err != nil {
		return nil, err
	}
	if s.out != nil {
		return append(s.out, args[s.kept:s.end]...), nil
	}
	return args[s.kept:s.end:s.end], nil
}

// scanner reads one JSON document in one pass, without a tree.
type scanner struct {
	data      []byte
	i         int
	depth     int
	arguments bool // the rules for arguments: one object, keys compared under case folding, white space removed

	kept int    // start of the text not yet in out
	end  int    // end of the value
	out  []byte // nil until white space inside the value was met

	// The keys of all open objects, one after the other: the first in an array,
	// which costs no allocation, the rest in a slice.
	keys  int
	first [someKeys]key
	rest  []key
}

// errorAt makes the error for the byte at offset. It is the only place that
// counts lines.
func (s *scanner) errorAt(offset int, format string, args ...any) *SyntaxError {
	before := s.data[:min(offset, len(s.data))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return &SyntaxError{Offset: int64(offset), Line: line, Column: column, Message: fmt.Sprintf(format, args...)}
}

func (s *scanner) document() *SyntaxError {
	if bytes.HasPrefix(s.data, []byte("\xef\xbb\xbf")) {
		return s.errorAt(0, "a byte order mark")
	}
	for s.i < len(s.data) && isSpace(s.data[s.i]) {
		s.i++
	}
	s.kept = s.i
	if s.i == len(s.data) {
		return s.errorAt(s.i, "no JSON value, the text is empty")
	}
	if c := s.data[s.i]; s.arguments && c != '{' {
		return s.errorAt(s.i, "found %s, not an object", valueKind(c))
	}
	if err := s.value(); err != nil {
		return err
	}
	s.end = s.i
	for s.i < len(s.data) && isSpace(s.data[s.i]) {
		s.i++
	}
	if s.i < len(s.data) {
		return s.errorAt(s.i, "%s after the end of the value", s.found())
	}
	return nil
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func valueKind(c byte) string {
	switch {
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	case c == '-' || c >= '0' && c <= '9':
		return "a number"
	case c == 't' || c == 'f':
		return "a boolean"
	case c == 'n':
		return "null"
	}
	return strconv.QuoteRuneToASCII(rune(c))
}

// found names the next character for an error.
func (s *scanner) found() string {
	if s.i >= len(s.data) {
		return "the end"
	}
	r, n := utf8.DecodeRune(s.data[s.i:])
	if r == utf8.RuneError && n == 1 {
		return fmt.Sprintf("byte 0x%02x", s.data[s.i])
	}
	return strconv.QuoteRuneToASCII(r)
}

// skipSpace passes insignificant white space and leaves it out of the result.
func (s *scanner) skipSpace() {
	if s.i >= len(s.data) || s.data[s.i] > ' ' {
		return
	}
	start := s.i
	for s.i < len(s.data) && isSpace(s.data[s.i]) {
		s.i++
	}
	if s.arguments && s.i > start {
		if s.out == nil {
			s.out = make([]byte, 0, len(s.data)-(s.i-start))
		}
		s.out = append(s.out, s.data[s.kept:start]...)
		s.kept = s.i
	}
}

func (s *scanner) value() *SyntaxError {
	if s.i >= len(s.data) {
		return s.errorAt(s.i, "a value is missing at the end")
	}
	switch c := s.data[s.i]; {
	case c == '"':
		_, err := s.str()
		return err
	case c == '{':
		return s.nested(true)
	case c == '[':
		return s.nested(false)
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return s.errorAt(s.i, "%s where a value should begin", s.found())
}

func (s *scanner) nested(object bool) (err *SyntaxError) {
	if s.depth++; s.depth > MaxDepth {
		return s.errorAt(s.i, "nested more than %d deep", MaxDepth)
	}
	s.i++
	s.skipSpace()
	if object {
		err = s.object()
	} else {
		err = s.array()
	}
	s.depth--
	return err
}

func (s *scanner) word(w string) *SyntaxError {
	if !bytes.HasPrefix(s.data[s.i:], []byte(w)) {
		return s.errorAt(s.i, "an unknown word")
	}
	s.i += len(w)
	return nil
}

func (s *scanner) array() *SyntaxError {
	if s.i < len(s.data) && s.data[s.i] == ']' {
		s.i++
		return nil
	}
	for {
		if err := s.value(); err != nil {
			return err
		}
		s.skipSpace()
		switch {
		case s.i < len(s.data) && s.data[s.i] == ',':
			s.i++
			s.skipSpace()
		case s.i < len(s.data) && s.data[s.i] == ']':
			s.i++
			return nil
		default:
			return s.errorAt(s.i, "%s in an array where ',' or ']' should be", s.found())
		}
	}
}

func (s *scanner) object() *SyntaxError {
	if s.i < len(s.data) && s.data[s.i] == '}' {
		s.i++
		return nil
	}
	own := keySet{first: s.keys}
	for {
		if err := s.member(&own); err != nil {
			return err
		}
		s.skipSpace()
		switch {
		case s.i < len(s.data) && s.data[s.i] == ',':
			s.i++
			s.skipSpace()
		case s.i < len(s.data) && s.data[s.i] == '}':
			s.i++
			s.popKeys(own.first)
			return nil
		default:
			return s.errorAt(s.i, "%s in an object where ',' or '}' should be", s.found())
		}
	}
}

func (s *scanner) member(own *keySet) *SyntaxError {
	start := s.i
	if s.i >= len(s.data) || s.data[s.i] != '"' {
		return s.errorAt(s.i, "%s where a key should begin", s.found())
	}
	plain, err := s.str()
	if err != nil {
		return err
	}
	if err := s.addKey(own, key{start + 1, s.i - 1, plain}); err != nil {
		return err
	}
	s.skipSpace()
	if s.i >= len(s.data) || s.data[s.i] != ':' {
		return s.errorAt(s.i, "%s after a key where ':' should be", s.found())
	}
	s.i++
	s.skipSpace()
	return s.value()
}
