// Package jsontext checks, walks, quotes, unquotes and compares JSON text for all other
// packages. It builds no tree: a value keeps its original bytes.
//
// A literal is a string with its quotes, as written in the text; a value is the text of one
// JSON value without white space around it. Check comes first: the functions of walk.go,
// quote.go and compare.go take only text that Check accepted, and may panic on other text.
package jsontext

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// DefaultDepth is the nesting limit of arrays and objects if Options sets none.
const DefaultDepth = 128

// Options say what Check accepts beyond the grammar of RFC 8259. The zero value is strict, for
// documents that are written for this program.
type Options struct {
	Depth          int  // nesting limit of arrays and objects; 0 is DefaultDepth
	DuplicateNames bool // one object may contain a name twice
	LoneSurrogates bool // an escape may be a surrogate without the other one of its pair
	AnyBytes       bool // strings need not be UTF-8
	Object         bool // the text must be an object
	// FoldNames is for the arguments of calls: names of one object that differ
	// only in case are duplicates too, and no name may hold NUL. A tool written
	// in another language may read two such names as one.
	FoldNames bool
}

// Peer accepts the messages of another program, as common JSON readers do.
var Peer = Options{Depth: 512, DuplicateNames: true, LoneSurrogates: true}

// A SyntaxError says where a text is not the requested JSON.
type SyntaxError struct {
	Offset       int // of the byte in question
	Line, Column int // from 1; columns count characters
	Message      string
	First        *SyntaxError // for a duplicate name: where it was first
}

func (e *SyntaxError) Error() string {
	if e.Line > 1 {
		return fmt.Sprintf("%s at line %d, column %d (byte %d)", e.Message, e.Line, e.Column, e.Offset)
	}
	return fmt.Sprintf("%s at byte %d", e.Message, e.Offset)
}

// Check reports whether data is exactly one JSON value, with only white space around it. The
// error is a *SyntaxError.
func Check(data []byte, o Options) error {
	return (&scanner{data: data, options: o}).document()
}

// CheckObject is Check for an object. While it reads, it calls visit with each
// member of the object: its name as a literal, and its value.
func CheckObject(data []byte, o Options, visit func(name, value []byte)) error {
	o.Object = true
	return (&scanner{data: data, options: o, visit: visit}).document()
}

// Compact checks data and returns it without insignificant white space. The
// result may share memory with data.
func Compact(data []byte, o Options) ([]byte, error) {
	s := scanner{data: data, options: o}
	if err := s.document(); err != nil {
		return nil, err
	}
	if data = bytes.TrimSpace(data); !s.spaced {
		return slices.Clip(data), nil
	}
	var out bytes.Buffer
	err := json.Compact(&out, data)
	return out.Bytes(), err
}

// errorAt makes the error for the byte at offset.
func (s *scanner) errorAt(offset int, format string, args ...any) *SyntaxError {
	before := s.data[:min(offset, len(s.data))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:]) + 1
	return &SyntaxError{Offset: offset, Line: line, Column: column, Message: fmt.Sprintf(format, args...)}
}

// found describes the next character, for an error.
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

// kind describes the kind of the next value, for an error.
func (s *scanner) kind() string {
	rest := s.data[s.i:]
	for begin, kind := range map[string]string{"[": "an array", `"`: "a string", "true": "a boolean", "false": "a boolean", "null": "null"} {
		if bytes.HasPrefix(rest, []byte(begin)) {
			return kind
		}
	}
	if IsNumber(rest[:1]) {
		return "a number"
	}
	return s.found()
}
