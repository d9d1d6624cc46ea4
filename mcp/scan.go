package mcp

import (
	"errors"
	"fmt"
	"math/bits"
	"unicode/utf8"
)

// A message is looked at once by checkValue, which accepts exactly RFC 8259 in
// UTF-8 and nothing deeper than maxDepth. The functions of walk.go and quote.go
// take bytes that were accepted; they build no tree and copy nothing.

// maxDepth bounds the nesting of what comes from a peer.
const maxDepth = 512

// SyntaxError says where bytes stop being JSON.
type SyntaxError struct {
	Offset int
	What   string
}

func (e *SyntaxError) Error() string { return fmt.Sprintf("%s at byte %d", e.What, e.Offset) }

// checkJSON says whether b is one JSON value with nothing but white space around it.
func checkJSON(b []byte) error {
	end, err := checkValue(b, space(b, 0), 0)
	if err == nil && space(b, end) != len(b) {
		return &SyntaxError{space(b, end), "more after the value"}
	}
	return err
}

// checkObject is checkJSON for an object, and shows its members on the way.
// Their names and values are as they came.
func checkObject(b []byte, visit func(name, value []byte)) error {
	i := space(b, 0)
	if i == len(b) || b[i] != '{' {
		return &SyntaxError{i, "not an object"}
	}
	end, err := checkMembers(b, i, 0, visit)
	if err == nil && space(b, end) != len(b) {
		return &SyntaxError{space(b, end), "more after the object"}
	}
	return err
}

func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// checkValue checks the value that begins at i and returns where it ends.
func checkValue(b []byte, i, depth int) (int, error) {
	if i >= len(b) {
		return i, &SyntaxError{i, "unexpected end"}
	}
	switch c := b[i]; {
	case c == '"':
		return checkString(b, i)
	case c == '{':
		return checkMembers(b, i, depth, nil)
	case c == '[':
		return checkElements(b, i, depth)
	case c == '-' || c >= '0' && c <= '9':
		return checkNumber(b, i)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
			return i + len(word), nil
		}
	}
	return i, &SyntaxError{i, "unexpected byte"}
}

func checkMembers(b []byte, i, depth int, visit func(name, value []byte)) (int, error) {
	if depth == maxDepth {
		return i, &SyntaxError{i, "nested too deep"}
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == '}' {
		return i + 1, nil
	}
	for {
		if i == len(b) || b[i] != '"' {
			return i, &SyntaxError{i, "expected a name"}
		}
		end, err := checkString(b, i)
		if err != nil {
			return end, err
		}
		name := b[i:end]
		i = space(b, end)
		if i == len(b) || b[i] != ':' {
			return i, &SyntaxError{i, "expected a colon"}
		}
		i = space(b, i+1)
		end, err = checkValue(b, i, depth+1)
		if err != nil {
			return end, err
		}
		if visit != nil {
			visit(name, b[i:end:end])
		}
		i = space(b, end)
		switch {
		case i < len(b) && b[i] == ',':
			i = space(b, i+1)
		case i < len(b) && b[i] == '}':
			return i + 1, nil
		default:
			return i, &SyntaxError{i, "expected a comma or a brace"}
		}
	}
}

func checkElements(b []byte, i, depth int) (int, error) {
	if depth == maxDepth {
		return i, &SyntaxError{i, "nested too deep"}
	}
	i = space(b, i+1)
	if i < len(b) && b[i] == ']' {
		return i + 1, nil
	}
	for {
		end, err := checkValue(b, i, depth+1)
		if err != nil {
			return end, err
		}
		i = space(b, end)
		switch {
		case i < len(b) && b[i] == ',':
			i = space(b, i+1)
		case i < len(b) && b[i] == ']':
			return i + 1, nil
		default:
			return i, &SyntaxError{i, "expected a comma or a bracket"}
		}
	}
}

func checkNumber(b []byte, i int) (int, error) {
	digits := func() bool {
		from := i
		for i < len(b) && b[i] >= '0' && b[i] <= '9' {
			i++
		}
		return i > from
	}
	if b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	case !digits():
		return i, &SyntaxError{i, "expected a digit"}
	}
	if i < len(b) && b[i] == '.' {
		if i++; !digits() {
			return i, &SyntaxError{i, "expected a digit"}
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		if !digits() {
			return i, &SyntaxError{i, "expected a digit"}
		}
	}
	return i, nil
}

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// load64 is eight bytes as one word, the first the lowest; the compiler makes
// one load of it.
func load64(b []byte) uint64 {
	_ = b[7]
	return uint64(b[0]) | uint64(b[1])<<8 | uint64(b[2])<<16 | uint64(b[3])<<24 |
		uint64(b[4])<<32 | uint64(b[5])<<40 | uint64(b[6])<<48 | uint64(b[7])<<56
}

// checkString checks the string literal that begins at i. It looks at eight
// bytes at a time: nearly all of a long result is one literal.
func checkString(b []byte, i int) (int, error) {
	start, ascii := i, true
	i++
	for {
		for i+8 <= len(b) {
			w := load64(b[i : i+8])
			quote, slash := w^(ones*'"'), w^(ones*'\\')
			// A byte's high bit is set where it is below 0x20, a quote or a
			// backslash, or above 0x7F; lower false alarms cannot come first.
			stop := ((w - ones*0x20) | (quote - ones) | (slash - ones)) &^ w & highs
			if w&highs != 0 {
				ascii = false
			}
			if stop != 0 {
				i += bits.TrailingZeros64(stop) / 8
				break
			}
			i += 8
		}
		if i >= len(b) {
			return i, &SyntaxError{start, "unterminated string"}
		}
		switch c := b[i]; {
		case c == '"':
			if !ascii && !utf8.Valid(b[start:i]) {
				return start, &SyntaxError{start, "invalid UTF-8 in the string"}
			}
			return i + 1, nil
		case c == '\\':
			n := escapeLength(b[i:])
			if n == 0 {
				return i, &SyntaxError{i, "bad escape"}
			}
			i += n
		case c < 0x20:
			return i, &SyntaxError{i, "control character in a string"}
		default:
			ascii = ascii && c < utf8.RuneSelf
			i++
		}
	}
}

// escapeLength is the length of the escape b begins with, 0 when it is none.
func escapeLength(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && hex4(b[2:6]) >= 0 {
			return 6
		}
	}
	return 0
}

// hex4 is the value of four hexadecimal digits, or -1.
func hex4(b []byte) rune {
	var r rune
	for _, c := range b[:4] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// errNotObject is for arguments that are not one JSON object.
var errNotObject = errors.New("not one JSON object")
