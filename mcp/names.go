package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"toolpipe/mcp/wire"
)

const (
	maxOffered = 64 // bytes of a tool's name that every provider takes
	hashDigits = 8
)

// OfferedName is the name under which a model sees a tool: server, two
// underscores, tool. Providers take a letter followed by at most 63 of
// A-Z a-z 0-9 _ -. In any other name the wrong bytes become underscores, it is
// cut, and a hash of server and tool is added; so is one to a name that already
// ends like such a hash, so that two tools share a name only if hashes collide.
// The name depends on nothing but the arguments. It cannot be split again: who
// needs server and tool keeps a table.
func OfferedName(server, tool string) string {
	name := server + "__" + tool
	beginsWell := wire.IsOnly(name[:1], "") && name[0] > '9' // with a letter
	legal := len(name) <= maxOffered && beginsWell && wire.IsOnly(name, "_-")
	if legal && !endsWithHash(name) {
		return name
	}
	b := make([]byte, 0, maxOffered)
	if !beginsWell {
		b = append(b, "t_"...)
	}
	for i := 0; i < len(name) && len(b) < maxOffered-1-hashDigits; i++ {
		c := name[i]
		if !wire.IsOnly(name[i:i+1], "_-") {
			c = '_'
		}
		b = append(b, c)
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	return string(hex.AppendEncode(append(b, '_'), sum[:hashDigits/2]))
}

func endsWithHash(name string) bool {
	at := len(name) - hashDigits
	return at >= 1 && name[at-1] == '_' && strings.Trim(name[at:], "0123456789abcdef") == ""
}
