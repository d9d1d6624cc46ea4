package mcp

import (
	"bytes"
	"iter"
	"strconv"
)

// valueEnd is where the value that begins at i ends.
func valueEnd(b []byte, i int) int {
	switch b[i] {
	case '"':
		return stringEnd(b, i)
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
			i = stringEnd(b, i) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
}

// stringEnd is where the literal that begins at i ends: after the first quote
// with an even number of backslashes before it.
func stringEnd(b []byte, i int) int {
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

// members are an object's names and values; none when v is not an object.
func members(v []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		if kind(v) != '{' {
			return
		}
		for i := space(v, 1); v[i] != '}'; {
			end := stringEnd(v, i)
			name := v[i:end]
			i = space(v, space(v, end)+1)
			end = valueEnd(v, i)
			if !yield(name, v[i:end:end]) {
				return
			}
			if i = space(v, end); v[i] == ',' {
				i = space(v, i+1)
			}
		}
	}
}

// elements are an array's values; none when v is not an array.
func elements(v []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if kind(v) != '[' {
			return
		}
		for i := space(v, 1); v[i] != ']'; {
			end := valueEnd(v, i)
			if !yield(v[i:end:end]) {
				return
			}
			if i = space(v, end); v[i] == ',' {
				i = space(v, i+1)
			}
		}
	}
}

// kind is the first byte of a value, 0 when there is none.
func kind(v []byte) byte {
	if len(v) == 0 {
		return 0
	}
	return v[0]
}

// is says whether a name's literal means name.
func is(literal []byte, name string) bool {
	if inner := literal[1 : len(literal)-1]; string(inner) == name {
		return true
	} else if bytes.IndexByte(inner, '\\') < 0 {
		return false
	}
	return unquote(literal) == name
}

// member is the value at a path of names, the first where names repeat; nil
// when there is none. A null value is a value.
func member(v []byte, path ...string) []byte {
next:
	for _, name := range path {
		for literal, value := range members(v) {
			if is(literal, name) {
				v = value
				continue next
			}
		}
		return nil
	}
	return v
}

// text is a string value without quotes and escapes; "" for any other value.
func text(v []byte) string {
	if kind(v) != '"' {
		return ""
	}
	return unquote(v)
}

// integer is a number value that is a whole number.
func integer(v []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(v), 10, 64)
	return n, err == nil
}

func isTrue(v []byte) bool { return string(v) == "true" }
