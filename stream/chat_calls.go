package stream

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// callDelta is one entry of tool_calls in a delta.
type callDelta struct {
	index    int
	hasIndex bool
	id       string
	function gjson.Result
	members  gjson.Result // the whole entry, for what must go back with the call
}

func newCallDelta(v gjson.Result) callDelta {
	c := callDelta{function: v.Get("function"), id: word(v.Get("id")), members: v}
	if index := v.Get("index"); index.Type == gjson.Number || index.Type == gjson.String {
		c.index, c.hasIndex = int(index.Int()), true
	}
	if !c.function.IsObject() && v.Get("name").Exists() { // flat: no function around name and arguments
		c.function = v
	}
	return c
}

// word returns a string, or a number as text.
func word(v gjson.Result) string {
	switch v.Type {
	case gjson.String:
		return strings.Clone(v.Str) // not to hold the whole event
	case gjson.Number:
		return strings.Clone(v.Raw)
	}
	return ""
}

// openCall is a call in the making.
type openCall struct {
	index     int
	id, name  string
	arguments []byte
	extra     []member
}

// member is a member of an object, both as JSON.
type member struct{ name, value string }

// complete reports whether the arguments so far are one JSON value.
func (c *openCall) complete() bool {
	last := bytes.TrimRight(c.arguments, " \t\r\n")
	if len(last) == 0 {
		return false
	}
	switch last[len(last)-1] {
	case '{', '[', ',', ':':
		return false
	}
	return valid(c.arguments)
}

// callAssembly puts deltas together to calls (model-wire section 2, "Which
// call a tool delta belongs to"; the numbers below are its rules).
type callAssembly struct {
	calls []*openCall
}

func (a *callAssembly) add(c callDelta) error {
	name := word(c.function.Get("name"))
	call := a.owner(c, name)
	if call == nil {
		if len(a.calls) == maxCalls {
			return tooManyCalls()
		}
		call = &openCall{index: c.index}
		if !c.hasIndex {
			call.index = -1
		}
		a.calls = append(a.calls, call)
	}
	if call.id == "" { // rule 4
		call.id = c.id
	}
	if name != call.name {
		call.name += name
	}
	call.addArguments(c.function.Get("arguments"))
	call.addExtra(c.members)
	return nil
}

// owner returns the call that the delta belongs to, nil for a new one.
func (a *callAssembly) owner(c callDelta, name string) *openCall {
	if c.hasIndex {
		latest := a.latest(c.index)
		if latest == nil { // rule 2
			if c.id != "" && name == "" {
				return a.byID(c.id)
			}
			return nil
		}
		if same := a.byIndexAndID(c.index, c.id); same != nil { // rule 1
			return same
		}
		if beginsCall(latest, c, name) {
			return nil
		}
		return latest
	}
	known := a.byID(c.id) // rule 3
	last := a.last()
	switch {
	case known != nil:
		return known
	case last == nil:
		return nil
	case name == "":
		return last
	case c.id != "":
		return nil
	case last.name != name || last.complete():
		return nil
	}
	return last
}

// beginsCall is the exception of rule 1: a delta under an index in use that
// begins another call.
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

func (a *callAssembly) last() *openCall {
	if len(a.calls) == 0 {
		return nil
	}
	return a.calls[len(a.calls)-1]
}

func (a *callAssembly) latest(index int) *openCall {
	for i := len(a.calls) - 1; i >= 0; i-- {
		if a.calls[i].index == index {
			return a.calls[i]
		}
	}
	return nil
}

func (a *callAssembly) byID(id string) *openCall {
	for _, c := range a.calls {
		if id != "" && c.id == id {
			return c
		}
	}
	return nil
}

func (a *callAssembly) byIndexAndID(index int, id string) *openCall {
	for _, c := range a.calls {
		if id != "" && c.index == index && c.id == id {
			return c
		}
	}
	return nil
}

// addArguments is rule 5.
func (c *openCall) addArguments(v gjson.Result) {
	switch {
	case v.Type == gjson.Null:
	case v.Type != gjson.String:
		c.arguments = append(c.arguments, v.Raw...)
	default:
		piece := text(v)
		if len(piece) > 0 && bytes.Equal(piece, c.arguments) && c.complete() {
			return
		}
		c.arguments = appendPiece(c.arguments, piece)
	}
}

// addExtra keeps every member of the call that has no meaning here (rule 6).
func (c *openCall) addExtra(members gjson.Result) {
	c.extra = otherMembers(c.extra, members, "index", "id", "type", "function", "name", "arguments")
}

// otherMembers adds the members of an object that have none of the names; of
// one name the last value stays.
func otherMembers(list []member, object gjson.Result, names ...string) []member {
	object.ForEach(func(name, value gjson.Result) bool {
		if value.Type == gjson.Null || slices.Contains(names, name.Str) {
			return true
		}
		for i := range list {
			if list[i].name == name.Raw {
				list[i].value = strings.Clone(value.Raw)
				return true
			}
		}
		list = append(list, member{strings.Clone(name.Raw), strings.Clone(value.Raw)})
		return true
	})
	return list
}

// joinMembers writes members as they stand in an object, nil for none.
func joinMembers(list []member) (joined []byte) {
	for i, m := range list {
		if i > 0 {
			joined = append(joined, ',')
		}
		joined = append(append(append(joined, m.name...), ':'), m.value...)
	}
	return joined
}

// finished returns the calls, without those that never became one.
func (a *callAssembly) finished() (calls []Call) {
	for _, c := range a.calls {
		if c.name == "" && len(c.arguments) == 0 {
			continue
		}
		calls = append(calls, Call{ID: c.id, Name: c.name, Arguments: c.arguments, Extra: joinMembers(c.extra)})
	}
	return calls
}
