package mcp

import (
	"crypto/sha256"
	"encoding/hex"

	"toolpipe/mcp/wire"
)

const (
	maxOffered = 64 // bytes of a tool's name that every provider takes
	hashDigits = 8
)

// OfferedName is the name under which a model sees a tool: server, two
// underscores, tool. Where that is not a letter followed by at most 63 of
// A-Z a-z 0-9 _ -, bytes that are none become underscores, it is cut, and a
// hash of server and tool is added. The same is done to a name that ends as if
// it had such a hash, so that no two tools share a name as long as no hash
// collides. It depends on nothing but its arguments.
//
// The way back is a table, never a split.
func OfferedName(server, tool string) string {
	name := server + "__" + tool
	if legalName(name) && !looksHashed(name) {
		return name
	}
	b := make([]byte, 0, maxOffered)
	if !wire.IsASCIILetter(name[0]) {
		b = append(b, "t_"...)
	}
	for i := 0; i < len(name) && len(b) < maxOffered-1-hashDigits; i++ {
		c := name[i]
		if !nameByte(c) {
			c = '_'
		}
		b = append(b, c)
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	return string(hex.AppendEncode(append(b, '_'), sum[:hashDigits/2]))
}

func legalName(name string) bool {
	if len(name) > maxOffered || !wire.IsASCIILetter(name[0]) {
		return false
	}
	for i := range len(name) {
		if !nameByte(name[i]) {
			return false
		}
	}
	return true
}

func looksHashed(name string) bool {
	at := len(name) - hashDigits
	if at < 1 || name[at-1] != '_' {
		return false
	}
	for _, c := range []byte(name[at:]) {
		if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f') {
			return false
		}
	}
	return true
}

func nameByte(c byte) bool {
	return wire.IsASCIILetter(c) || c >= '0' && c <= '9' || c == '_' || c == '-'
}
