package stream

import (
	"bytes"
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

// openCall is a call whose deltas may not all have come.
type openCall struct {
	index     int // -1 for none
	id, name  string
	arguments []byte
	extra     []member
}

// callDelta is one entry of tool_calls in a delta.
type callDelta struct {
	index    int // -1 for none
	id       string
	function gjson.Result
	members  gjson.Result // the whole entry, for what must go back with the call
}

func newCallDelta(v gjson.Result) callDelta {
	c := callDelta{index: -1, function: v.Get("function"), id: stringOrNumber(v.Get("id")), members: v}
	if index := v.Get("index"); index.Type == gjson.Number || index.Type == gjson.String {
		c.index = int(index.Int())
	}
	if !c.function.IsObject() && v.Get("name").Exists() { // name and arguments stand in the entry itself
		c.function = v
	}
	return c
}

func (a *callAssembly) add(c callDelta) error {
	name := stringOrNumber(c.function.Get("name"))
	call := a.owner(c, name)
	if call == nil {
		if len(a.calls) == maxCalls {
			return tooManyCalls()
		}
		call = &openCall{index: c.index}
		a.calls = append(a.calls, call)
	}
	if call.id == "" { // rule 4
		call.id = c.id
	}
	if name != call.name {
		call.name += name
	}
	call.addArguments(c.function.Get("arguments"))
	call.extra = otherMembers(call.extra, c.members, "index", "id", "type", "function", "name", "arguments") // rule 6
	return nil
}

// owner returns the call that the delta belongs to, nil for a new one.
func (a *callAssembly) owner(c callDelta, name string) *openCall {
	sameID := func(o *openCall) bool { return c.id != "" && o.id == c.id }
	if c.index >= 0 {
		latest := a.latest(func(o *openCall) bool { return o.index == c.index })
		if latest == nil { // rule 2
			if name == "" {
				return a.first(sameID)
			}
			return nil
		}
		if same := a.first(func(o *openCall) bool { return o.index == c.index && sameID(o) }); same != nil { // rule 1
			return same
		}
		if beginsCall(latest, c, name) {
			return nil
		}
		return latest
	}
	if known := a.first(sameID); known != nil { // rule 3
		return known
	}
	last := a.latest(func(*openCall) bool { return true })
	switch {
	case last == nil || name == "":
		return last
	case c.id != "", last.name != name, last.complete():
		return nil
	}
	return last
}

// beginsCall reports whether a delta under the index of the latest call begins
// another one.
func beginsCall(latest *openCall, c callDelta, name string) bool {
	switch {
	case name == "":
		return false
	case c.id != "":
		return c.id != latest.id && (name != latest.name || latest.complete())
	}
	arguments := text(c.function.Get("arguments"))
	return latest.complete() &&
		(name != latest.name || (bytes.HasPrefix(arguments, []byte("{")) && !bytes.Equal(arguments, latest.arguments)))
}

func (a *callAssembly) first(is func(*openCall) bool) *openCall {
	if i := slices.IndexFunc(a.calls, is); i >= 0 {
		return a.calls[i]
	}
	return nil
}

func (a *callAssembly) latest(is func(*openCall) bool) *openCall {
	for _, c := range slices.Backward(a.calls) {
		if is(c) {
			return c
		}
	}
	return nil
}

// complete reports whether the arguments so far are one JSON value.
func (c *openCall) complete() bool {
	trimmed := bytes.TrimRight(c.arguments, " \t\r\n")
	if len(trimmed) == 0 || bytes.IndexByte([]byte("{[,:"), trimmed[len(trimmed)-1]) >= 0 {
		return false // without reading all of them for each delta
	}
	return valid(c.arguments)
}

// addArguments adds the arguments of a delta: a piece of text, or a value in
// place of the text that it should be.
func (c *openCall) addArguments(v gjson.Result) {
	switch piece := text(v); {
	case v.Type == gjson.Null:
	case v.Type != gjson.String:
		c.arguments = append(c.arguments, v.Raw...)
	case len(piece) > 0 && bytes.Equal(piece, c.arguments) && c.complete(): // rule 5
	default:
		c.arguments = appendPiece(c.arguments, piece)
	}
}

// finished returns the calls, without those that have neither a name nor
// arguments.
func (a *callAssembly) finished() (calls []Call) {
	for _, c := range a.calls {
		if c.name != "" || len(c.arguments) > 0 {
			calls = append(calls, Call{ID: c.id, Name: c.name, Arguments: c.arguments, Extra: joinMembers(c.extra)})
		}
	}
	return calls
}
