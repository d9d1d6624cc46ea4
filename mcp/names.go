package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"toolpipe/mcp/wire"
)

const (
	maxOffered = 64 // bytes of a tool's name that every provider accepts
	hashDigits = 8
)

// OfferedName is the tool name that a model sees: server, two underscores, tool. Providers
// accept a letter followed by at most 63 of A-Z a-z 0-9 _ -. In any other name, wrong bytes
// become underscores, the name is cut, and a hash of server and tool is added. A name that
// already ends like such a hash gets one too, so that two tools share a name only if hashes
// collide. The result depends only on the arguments. It cannot be split again: a caller that
// needs server and tool keeps a table.
func OfferedName(server, tool string) string {
	name := server + "__" + tool
	beginsWell := wire.IsOnly(name[:1], "") && name[0] > '9' // with a letter
	legal := len(name) <= maxOffered && beginsWell && wire.IsOnly(name, "_-")
	at := len(name) - hashDigits
	hashed := at >= 1 && name[at-1] == '_' && strings.Trim(name[at:], "0123456789abcdef") == ""
	if legal && !hashed {
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
