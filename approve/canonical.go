package approve

import (
	"strconv"

	"toolpipe/stream/text/jsontext"
)

// maxArguments is how many bytes the arguments of a call may have.
const maxArguments = 1 << 20

// Canonical returns the canonical form of a call's arguments: the text that
// came, without insignificant white space. The text must be one strict JSON
// object of at most 1 MiB in which no two names of one object are equal under
// case folding and no name holds NUL: a tool server in another language may
// take two such names for one. An error is a *jsontext.SyntaxError, worded for
// the model. The result may share memory with arguments. Empty arguments are
// an error.
func Canonical(arguments []byte) ([]byte, error) { return strictObject(arguments, maxArguments) }

// strictObject does what Canonical says, for an object of at most max bytes.
func strictObject(text []byte, max int) ([]byte, error) {
	if len(text) > max {
		return nil, &jsontext.SyntaxError{Offset: max, Line: 1, Column: 1, Message: "more than " + strconv.Itoa(max) + " bytes: too long"}
	}
	return jsontext.Compact(text, jsontext.Options{Object: true, FoldNames: true})
}
