package jsontext

import (
	"bytes"
	"slices"
)

// Same reports whether two values are equal: objects in any order of their members, strings by
// their unescaped text, numbers by their exact value.
func Same(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if IsNumber(a) && IsNumber(b) {
		x, okX := ParseDecimal(a)
		y, okY := ParseDecimal(b)
		return okX && okY && x.Compare(y) == 0
	}
	if Kind(a) != Kind(b) {
		return false
	}
	switch Kind(a) {
	case '{':
		return sameMembers(a, b)
	case '[':
		return slices.EqualFunc(slices.Collect(Elements(a)), slices.Collect(Elements(b)), Same)
	}
	return Kind(a) == '"' && Unquote(a) == Unquote(b) // equal literals have equal bytes
}

func sameMembers(a, b []byte) bool {
	in := make(map[string][]byte)
	for name, value := range Members(a) {
		in[Unquote(name)] = value
	}
	n := 0
	for name, value := range Members(b) {
		if other, ok := in[Unquote(name)]; !ok || !Same(other, value) {
			return false
		}
		n++
	}
	return n == len(in)
}

// SameAsText reports whether the unquoted text of a literal is JSON of the same value as value.
func SameAsText(value, literal []byte) bool {
	if first := Space(literal, 1); literal[first] != value[0] && literal[first] != '\\' {
		return false
	}
	text := Unescape(literal[1 : len(literal)-1])
	return Check(text, Peer) == nil && Same(value, bytes.TrimSpace(text))
}
