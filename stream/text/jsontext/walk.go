package jsontext

import (
	"bytes"
	"iter"
	"strconv"
)

// Space returns the offset of the first byte at or after i that is not white space.
func Space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// ValueEnd returns the end of the value that begins at i.
func ValueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return LiteralEnd(b, i)
	case '{', '[':
	default:
		for i < len(b) && b[i] != ',' && b[i] != ']' && b[i] != '}' && b[i] > ' ' {
			i++
		}
		return i
	}
	for depth := 0; ; i++ {
		switch b[i] {
		case '"':
			i = LiteralEnd(b, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// LiteralEnd returns the end of the literal that begins at i: after the first quote with an
// even number of backslashes before it.
func LiteralEnd(b []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(b[i:], '"')
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

// Members yields an object's names, as literals, and values; nothing for any other value.
func Members(value []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) { each(value, '{', yield) }
}

// Elements yields an array's values; nothing for any other value.
func Elements(value []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		each(value, '[', func(_, element []byte) bool { return yield(element) })
	}
}

// each yields the members or elements of a value that begins with the bracket.
func each(value []byte, bracket byte, yield func(name, value []byte) bool) {
	if Kind(value) != bracket {
		return
	}
	for i := Space(value, 1); value[i] != bracket+2; {
		var name []byte
		if bracket == '{' {
			end := LiteralEnd(value, i)
			name = value[i:end]
			i = Space(value, Space(value, end)+1)
		}
		end := ValueEnd(value, i)
		if !yield(name, value[i:end:end]) {
			return
		}
		if i = Space(value, end); value[i] == ',' {
			i = Space(value, i+1)
		}
	}
}

// Kind returns the first byte of a value, 0 for no value.
func Kind(value []byte) byte {
	if len(value) == 0 {
		return 0
	}
	return value[0]
}

// Is reports whether text is the text of a literal.
func Is(literal []byte, text string) bool {
	inner := literal[1 : len(literal)-1]
	return string(inner) == text || bytes.IndexByte(inner, '\\') >= 0 && Unquote(literal) == text
}

// Member returns the value at a path of names; nil if there is none. The first of duplicate
// names counts. A null is a value.
func Member(value []byte, path ...string) []byte {
next:
	for _, name := range path {
		for literal, member := range Members(value) {
			if Is(literal, name) {
				value = member
				continue next
			}
		}
		return nil
	}
	return value
}

// Text returns the text of a string; "" for any other value.
func Text(value []byte) string {
	if Kind(value) != '"' {
		return ""
	}
	return Unquote(value)
}

// Strings returns the texts of the strings in an array, and leaves out other elements.
func Strings(array []byte) (all []string) {
	for v := range Elements(array) {
		if Kind(v) == '"' {
			all = append(all, Unquote(v))
		}
	}
	return all
}

// Integer returns a number that is written as a whole number.
func Integer(value []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(value), 10, 64)
	return n, err == nil
}

// IsNumber reports whether a value is a number.
func IsNumber(value []byte) bool {
	c := Kind(value)
	return c == '-' || c >= '0' && c <= '9'
}

// IsTrue reports whether a value is true.
func IsTrue(value []byte) bool { return string(value) == "true" }
