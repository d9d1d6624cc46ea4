package stream

import (
	"github.com/tidwall/gjson"

	"toolpipe/stream/jsontext"
)

// text returns what the string r holds, "" if it is no string. It may hold
// halves, and be a piece that must be joined with others by appendPiece.
func text(r gjson.Result) []byte {
	if r.Type != gjson.String || len(r.Raw) < 2 {
		return nil
	}
	return jsontext.AppendHalves(nil, []byte(r.Raw[1:len(r.Raw)-1]))
}

// fromEndpoint is what JSON from an endpoint must be. Endpoints send names
// twice, surrogates that were cut in two, and bytes that are not UTF-8; what
// becomes of them is decided where the value is used.
var fromEndpoint = jsontext.Options{Depth: 10_000, DuplicateNames: true, LoneSurrogates: true, AnyBytes: true}

// valid reports whether data is one JSON value that is not nested too deep.
func valid(data []byte) bool { return jsontext.Check(data, fromEndpoint) == nil }
