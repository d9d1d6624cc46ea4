package approve

import (
	"strconv"

	"toolpipe/stream/jsontext"
)

// DefaultMaxArguments is the size of arguments that Canonical accepts when it
// is told no other.
const DefaultMaxArguments = 1 << 20

// Canonical returns the canonical form of a call's arguments: the text that
// came, without insignificant white space. args must be one strict JSON object
// of at most max bytes (0: DefaultMaxArguments), in which no two names of one
// object are equal under case folding and no name holds NUL. An error is a
// *jsontext.SyntaxError, worded for the model. The result may share memory
// with args. Empty arguments are the caller's business.
func Canonical(args []byte, max int) ([]byte, error) {
	if max <= 0 {
		max = DefaultMaxArguments
	}
	if len(args) > max {
		return nil, &jsontext.SyntaxError{Offset: max, Line: 1, Column: 1, Message: "more than " + strconv.Itoa(max) + " bytes: too long"}
	}
	return jsontext.Compact(args, jsontext.Options{Object: true, FoldNames: true})
}
