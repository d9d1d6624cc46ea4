package stream

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strconv"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/jsontext"
)

// Opaque is the state of an assistant message that is not in its Parts and Calls: reasoning,
// signatures, encrypted items. It is sent back unread, only to the same endpoint and model. The
// zero value holds nothing and is of no endpoint.
type Opaque struct {
	api, endpoint, model string // where it came from
	json                 []byte // chat: members of the message; else its blocks or items
	content              []byte // chat: the content as it came, if the text is not all of it
}

// StateMember is the member of a message in which a written conversation keeps the Opaque. Its
// members are api, endpoint and model, the origin of the state; digest, of the text and the
// calls that it belongs to; and state, an object of members for chat, else an array of blocks
// or items. The state is a string with this JSON if a strict reader would refuse the JSON,
// because of a duplicate name or half a surrogate pair, or if it has several lines. It goes
// back as it came.
const StateMember = "provider_state"

// writeState writes the member of m's Opaque, if there is something to keep.
func writeState(w *segments, m *Message) {
	o := &m.Opaque
	hasExtra := slices.ContainsFunc(m.Calls, func(c Call) bool { return len(c.Extra) > 0 })
	if o.api == "" || len(o.json)+len(o.content) == 0 && !hasExtra {
		return
	}
	state := o.state()
	if !isStrict(state) || bytes.IndexByte(state, '\n') >= 0 {
		state = jsontext.AppendQuoted(nil, state)
	}
	w.put(`,"`+StateMember+`":{"api":?,"endpoint":?,"model":?,"digest":?,"state":?}`, o.api, o.endpoint, o.model, digest(m), state)
}

// sent returns the blocks or items that go back. Thoughts at the end are left out: endpoints refuse
// them if nothing follows (tailcallhq/forgecode#3073; OpenAI: "provided without its required
// following item").
func (o *Opaque) sent() []byte {
	if o.api == chatDialect.name || len(o.json) == 0 {
		return nil
	}
	end := 0
	gjson.Parse("[" + stringOf(o.json) + "]").ForEach(func(_, item gjson.Result) bool {
		if kind := item.Get("type").Str; kind != "reasoning" && kind != "thinking" && kind != "redacted_thinking" {
			end = item.Index + len(item.Raw) - len("[")
		}
		return true
	})
	return o.json[:end]
}

// Size is the approximate size in a request, in bytes.
func (o *Opaque) Size() int { return len(o.json) + len(o.content) }

func (o *Opaque) state() []byte {
	switch {
	case o.api != chatDialect.name:
		return formed("[?]", o.json)
	case o.content == nil:
		return formed("{?}", o.json)
	case len(o.json) == 0:
		return formed(`{"content":?}`, o.content)
	}
	return formed(`{?,"content":?}`, o.json, o.content)
}

// IsCommentary reports whether the endpoint says that no text of m is an answer.
func (m *Message) IsCommentary() (is bool) {
	for _, item := range gjson.ParseBytes(m.Opaque.state()).Array() {
		if item.Get("type").Str == "message" {
			if is = item.Get("phase").Str == "commentary"; !is {
				break
			}
		}
	}
	return is
}

// isStrict reports whether a strict reader of a written conversation accepts value. Endpoints
// may write JSON more freely.
func isStrict(value []byte) bool {
	const outside = 6 // arrays and objects around it
	return jsontext.Check(value, jsontext.Options{Depth: jsontext.DefaultDepth - outside}) == nil
}

// readableCalls returns calls without the members that a strict reader would refuse.
func readableCalls(calls []Call) []Call {
	for i, c := range calls {
		if len(c.Extra) > 0 && !isStrict(formed(`{"id":0,"type":0,"function":0,?}`, c.Extra)) {
			calls = slices.Clone(calls)
			calls[i].Extra = nil
		}
	}
	return calls
}

// digest identifies the text and the calls of m, which a user may edit.
func digest(m *Message) string {
	h := sha256.New()
	part := func(s string) { h.Write([]byte(strconv.Itoa(len(s)) + ":" + s)) }
	part(plainText(m.Parts))
	for _, c := range m.Calls {
		part(c.ID)
		part(c.Name)
		part(string(keptArguments(c.Arguments)))
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// RestoreState reads the member that ChatMessage wrote for m. The parts and calls of m are read
// already. If they were edited, only the state that does not repeat them is kept: the text that
// the user reads and edits is the text that is sent.
func (m *Message) RestoreState(value []byte) error {
	v := gjson.ParseBytes(value)
	o := Opaque{api: v.Get("api").Str, endpoint: v.Get("endpoint").Str, model: v.Get("model").Str}
	state := v.Get("state")
	if state.Type == gjson.String && valid([]byte(state.Str)) {
		state = gjson.Parse(state.Str)
	}
	d, err := findDialect(o.api)
	if o.api == "" || err != nil || o.api == chatDialect.name && !state.IsObject() || o.api != chatDialect.name && !state.IsArray() {
		return errors.New("is not what --output messages wrote")
	}
	edited := v.Get("digest").Str != digest(m)
	switch {
	case o.api == chatDialect.name:
		o.json = joinMembers(otherMembers(nil, state, "content", "role", "tool_calls"))
		if content := state.Get("content"); content.Exists() && !edited {
			o.content = []byte(content.Raw)
		}
	case edited:
		o.json = d.edited(m, state)
	default:
		o.json = bytes.TrimSpace([]byte(state.Raw[1 : len(state.Raw)-1]))
	}
	m.Opaque = o
	return nil
}

// edited returns the state of a message after the user edited its text or calls: the blocks
// that do not repeat them, and then new ones for them.
func (d *dialect) edited(m *Message, state gjson.Result) []byte {
	var list [][]byte
	for _, block := range state.Array() {
		if !slices.Contains(d.ownKinds, block.Get("type").Str) {
			list = append(list, []byte(block.Raw))
		}
	}
	if len(list) == 0 {
		return nil
	}
	return bytes.Join(append(list, d.own(m)...), []byte(","))
}

// Adopt removes from messages the state of another endpoint or another model than r's. It
// returns the model and the endpoint that it came from, "" if there was nothing.
func (c *Client) Adopt(r *Request, messages []Message) (from string) {
	c.asRecorded() // a recording has come to the requests of this endpoint
	for i := range messages {
		m := &messages[i]
		o := &m.Opaque
		if o.api == "" || o.api == c.dialect.name && o.model == r.Model && (o.endpoint == c.endpoint.origin || c.replayer != nil) {
			continue
		}
		from = o.model + " at " + o.endpoint
		*m = *m.withoutState()
	}
	return from
}

func (m *Message) withoutState() *Message {
	bare := *m
	bare.Opaque, bare.Calls = Opaque{}, slices.Clone(m.Calls)
	for i := range bare.Calls {
		bare.Calls[i].Extra = nil
	}
	return &bare
}

func hasState(messages []Message) bool {
	return slices.ContainsFunc(messages, func(m Message) bool {
		return m.Opaque.Size() > 0 || slices.ContainsFunc(m.Calls, func(c Call) bool { return len(c.Extra) > 0 })
	})
}
