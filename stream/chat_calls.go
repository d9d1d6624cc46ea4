package stream

import (
	"bytes"
	"cmp"
	"slices"

	"github.com/tidwall/gjson"
)

// callAssembly puts the deltas of tool calls together. Servers number them in
// many ways, so a delta belongs to a call by these rules:
//
//  1. Under an index in use it belongs to the latest call of that index, or to
//     the call of that index with its id. A delta that begins another call is
//     a new one although the index is in use.
//  2. Under a new index it begins a call; without a name it belongs to the call
//     with its id, if there is one.
//  3. Without an index it belongs to the call with its id. Otherwise it belongs
//     to the last call when it has no name, or when it repeats the name of a
//     call whose arguments are not complete and has no id.
//  4. The first id that comes is the call's id.
//  5. Arguments that repeat all complete arguments so far add nothing.
//  6. Members of a call that mean nothing here are kept and go back with it.
type callAssembly struct {
	calls []*openCall
}

// openCall is a call that may still get deltas.
type openCall struct {
	index     int // -1 for none
	id, name  string
	arguments []byte
	scan      jsonScan // follows the arguments
	extra     []member
}

// callDelta is one entry of tool_calls in a delta.
type callDelta struct {
	index    int // -1 for none
	id       string
	function gjson.Result
	members  gjson.Result // the complete entry, for the members that must go back with the call
}

func newCallDelta(v gjson.Result) callDelta {
	c := callDelta{index: indexOf(v, "index"), function: v.Get("function"), id: stringOrNumber(v.Get("id")), members: v}
	if !c.function.IsObject() && v.Get("name").Exists() { // name and arguments are in the entry itself
		c.function = v
	}
	return c
}

// onlyArguments reports whether the delta is a piece of arguments and, perhaps, the
// index of its call.
func (c callDelta) onlyArguments() bool {
	return c.id == "" && stringOrNumber(c.function.Get("name")) == "" && c.function.Get("arguments").Type == gjson.String
}

// add returns the call that the delta belongs to, nil if there are too many.
func (a *callAssembly) add(c callDelta) *openCall {
	if len(a.calls) > maxCalls {
		return nil
	}
	name := stringOrNumber(c.function.Get("name"))
	call := a.owner(c, name)
	if call == nil {
		call = a.begin(c)
	}
	if call.id == "" { // rule 4
		call.id = c.id
	}
	if name != call.name {
		call.name += name
	}
	call.addArguments(c.function.Get("arguments"))
	call.addExtra(c.members)
	return call
}

// owner returns the call that the delta belongs to, nil for a new one.
func (a *callAssembly) owner(c callDelta, name string) *openCall {
	var last, known, latest, both *openCall // of all; with its id; with its index; with both
	for _, o := range slices.Backward(a.calls) {
		last = cmp.Or(last, o)
		sameID := c.id != "" && o.id == c.id
		if sameID {
			known = o
		}
		if o.index == c.index {
			latest = cmp.Or(latest, o)
			if sameID {
				both = o
			}
		}
	}
	if c.index >= 0 {
		switch {
		case both != nil: // rule 1
			return both
		case latest == nil && name == "": // rule 2
			return known
		case latest == nil, beginsCall(latest, c, name):
			return nil
		}
		return latest
	}
	switch {
	case known != nil: // rule 3
		return known
	case last == nil, name == "":
		return last
	case c.id != "", last.name != name, last.isComplete():
		return nil
	}
	return last
}

// beginsCall reports whether a delta under the index of the latest call begins another one.
func beginsCall(latest *openCall, c callDelta, name string) bool {
	switch {
	case name == "":
		return false
	case c.id != "":
		return c.id != latest.id && (name != latest.name || latest.isComplete())
	}
	arguments := text(c.function.Get("arguments"))
	return latest.isComplete() &&
		(name != latest.name || (bytes.HasPrefix(arguments, []byte("{")) && !bytes.Equal(arguments, latest.arguments)))
}

// complete takes the calls of a complete message, which repeats earlier deltas.
func (a *callAssembly) complete(list []callDelta) {
	list = list[:min(len(list), maxCalls+1)]
	name := func(i int) string { return stringOrNumber(list[i].function.Get("name")) }
	sameName := func(i, k int) bool { return name(i) == a.calls[k].name || name(i) == "" || a.calls[k].name == "" }
	found := pair(len(list), len(a.calls),
		func(i, k int) bool { return list[i].id != "" && list[i].id == a.calls[k].id },
		func(i, k int) bool { return list[i].index >= 0 && list[i].index == a.calls[k].index && sameName(i, k) },
		sameName)
	for i, k := range found {
		var c *openCall
		if k >= 0 {
			c = a.calls[k]
		} else {
			c = a.begin(list[i])
		}
		c.id, c.name = cmp.Or(c.id, list[i].id), cmp.Or(c.name, name(i))
		c.arguments, c.scan = wholeArguments(c.arguments, list[i].function.Get("arguments")), jsonScan{}
		c.scan.add(c.arguments)
		c.addExtra(list[i].members)
	}
}

func (a *callAssembly) begin(c callDelta) *openCall {
	call := &openCall{index: c.index}
	a.calls = append(a.calls, call)
	return call
}

func (c *openCall) addExtra(entry gjson.Result) {
	c.extra = otherMembers(c.extra, entry, "index", "id", "type", "function", "name", "arguments") // rule 6
}

// wholeArguments returns the arguments after they came as a whole. The whole replaces the
// deltas, unless it holds less.
func wholeArguments(deltas []byte, v gjson.Result) []byte {
	whole := text(v)
	if v.IsObject() {
		whole = []byte(v.Raw)
	}
	object := gjson.ParseBytes(whole)
	if len(deltas) == 0 || object.IsObject() && !isEmptyObject(object) && (valid(whole) || len(whole) > len(deltas)) {
		return whole
	}
	return deltas
}

// addArguments adds the arguments of a delta: a piece of text, or a value instead of a text.
func (c *openCall) addArguments(v gjson.Result) {
	switch v.Type {
	case gjson.Null:
	case gjson.String:
		c.addPiece(text(v))
	default:
		c.arguments = append(c.arguments, v.Raw...)
		c.scan.add([]byte(v.Raw))
	}
}

// addPiece adds a piece of the text of the arguments, in WTF-8, and returns the text.
func (c *openCall) addPiece(piece []byte) []byte {
	if len(piece) > 0 && bytes.Equal(piece, c.arguments) && c.isComplete() { // rule 5
		return c.arguments
	}
	c.arguments = appendPiece(c.arguments, piece)
	c.scan.add(piece)
	return c.arguments
}

// isComplete reports whether the arguments so far are one JSON value.
func (c *openCall) isComplete() bool {
	if c.scan.inString || c.scan.depth != 0 {
		return false
	}
	text := bytes.TrimRight(c.arguments, whiteSpace)
	hasEnd := len(bytes.TrimRight(text, `}]"`)) < len(text)
	return (hasEnd || len(text) < 64) && valid(text) // a long number or word is no arguments
}

// jsonScan follows a JSON text that comes in pieces, so that a check whether it is complete
// costs nothing while it is not.
type jsonScan struct {
	inString, escaped bool
	depth             int
}

func (s *jsonScan) add(piece []byte) {
	for _, b := range piece {
		switch {
		case s.escaped:
			s.escaped = false
		case s.inString:
			s.escaped, s.inString = b == '\\', b != '"'
		case b == '"':
			s.inString = true
		case b == '{' || b == '[':
			s.depth++
		case b == '}' || b == ']':
			s.depth--
		}
	}
}

// finished returns the calls, without those that have neither a name nor arguments.
func (a *callAssembly) finished() (calls []Call) {
	for _, c := range a.calls {
		if c.name != "" || len(c.arguments) > 0 {
			calls = append(calls, Call{ID: c.id, Name: c.name, Arguments: c.arguments, Extra: joinMembers(c.extra)})
		}
	}
	return calls
}
