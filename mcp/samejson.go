package mcp

import (
	"bytes"
	"strconv"
)

// sameAsText says whether the text that a literal means is JSON of the same
// value as v.
func sameAsText(v, literal []byte) bool {
	if first := space(literal, 1); literal[first] != v[0] && literal[first] != '\\' {
		return false
	}
	decoded := appendUnquoted(nil, literal)
	return checkJSON(decoded) == nil && sameJSON(v, bytes.TrimSpace(decoded))
}

// sameJSON compares two values: objects without regard to the order of their
// members, strings by what they mean, numbers by their value.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if isNumber(a) && isNumber(b) {
		return sameNumber(a, b)
	}
	if kind(a) != kind(b) {
		return false
	}
	switch kind(a) {
	case '{':
		return sameMembers(a, b)
	case '[':
		return sameElements(a, b)
	case '"':
		return unquote(a) == unquote(b)
	}
	return false
}

func sameMembers(a, b []byte) bool {
	in := make(map[string][]byte)
	for name, value := range members(a) {
		in[unquote(name)] = value
	}
	n := 0
	for name, value := range members(b) {
		if other, ok := in[unquote(name)]; !ok || !sameJSON(other, value) {
			return false
		}
		n++
	}
	return n == len(in)
}

func sameElements(a, b []byte) bool {
	var in [][]byte
	for v := range elements(a) {
		in = append(in, v)
	}
	n := 0
	for v := range elements(b) {
		if n == len(in) || !sameJSON(in[n], v) {
			return false
		}
		n++
	}
	return n == len(in)
}

// sameNumber trusts only what a float64 holds exactly: 1 and 1.0 are the same,
// two long integers that differ in the last digit are not.
func sameNumber(a, b []byte) bool {
	if len(a) > 15 || len(b) > 15 {
		return false
	}
	x, errX := strconv.ParseFloat(string(a), 64)
	y, errY := strconv.ParseFloat(string(b), 64)
	return errX == nil && errY == nil && x == y
}
