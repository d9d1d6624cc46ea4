package calls

import (
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream/text/jsontext"
)

// maxWaiting is about how many bytes of calls may wait.
const maxWaiting = 64 << 20

// unnamed is the prefix of the id for a call without one. The number of its line follows.
const unnamed = "line-"

// A backlog holds the calls that were read and are not made yet, in order. A line with a type is an
// event of a log: its call, and every call after it, waits until the log says how the call ended.
// Any other line is a call that need not wait.
type backlog struct {
	own    string // the run word of this run in its log, which may be the file that is read
	calls  []*asked
	weight int // bytes of the calls, about

	assigned bool // a call without an id got one
	given    bool // a call came with an id that begins with unnamed

	nested  int // calls of nested runs; the calls of agents make them again
	refused int // calls that the log shows as denied, not run or staged
}

type asked struct {
	id      event.ID
	name    string
	args    []byte
	line    int
	run     string // of the log that the call is in
	open    bool   // the log has not said yet how the call ended
	refused bool   // the log says that the call did not run
}

func (c *asked) weight() int { return 200 + len(c.id) + len(c.name) + len(c.args) }

// read takes a line: a call with id, name and arguments, or an event of a log.
func (b *backlog) read(l line) error {
	if err := jsontext.Check(l.text, jsontext.Options{}); err != nil {
		return l.wrong("%v", err)
	}
	if b.own != "" && jsontext.Text(jsontext.Member(l.text, "run")) == b.own {
		return nil
	}
	kind := jsontext.Member(l.text, "type")
	isCall := kind == nil || jsontext.Text(kind) == "tool_call"
	switch {
	case jsontext.Member(l.text, "parent") != nil:
		if isCall {
			b.nested++
		}
		return nil
	case !isCall:
		b.event(jsontext.Text(kind), l.text)
		return nil
	}
	c, err := b.call(l)
	if err != nil {
		return err
	}
	c.open = kind != nil
	b.calls = append(b.calls, c)
	if b.weight += c.weight(); b.weight > maxWaiting {
		return failure.UsageError([]string{"a line without type is a call that does not wait"},
			"%s: stdin:%d: more than %d MiB of calls wait for the result of the call in line %d", flag, l.number, maxWaiting>>20, b.calls[0].line)
	}
	return nil
}

// call reads a line that contains a call. A call that was logged with raw text, because its
// arguments were no JSON object, gets that text as its arguments.
func (b *backlog) call(l line) (*asked, error) {
	member := func(name string) []byte { return jsontext.Member(l.text, name) }
	c := &asked{name: jsontext.Text(member("name")), args: member("arguments"), line: l.number, run: jsontext.Text(member("run"))}
	if c.name == "" {
		return nil, l.wrong("the call has no name")
	}
	if raw := member("raw"); c.args == nil && raw != nil {
		c.args = []byte(jsontext.Text(raw))
	}
	c.id = idOf(l.text)
	switch id := member("id"); {
	case c.id != "":
		b.given = b.given || strings.HasPrefix(string(c.id), unnamed)
	case id == nil || string(id) == "null" || jsontext.Kind(id) == '"':
		c.id = event.ID(unnamed + strconv.Itoa(l.number))
		b.assigned = true
	default:
		return nil, l.wrong("the id is neither a string nor a number")
	}
	if b.assigned && b.given {
		return nil, l.wrong("a call without an id gets %sN for its line, so no other call may have such an id", unnamed)
	}
	return c, nil
}

// idOf is the id in a line, unchanged; "" if it is neither a string nor a number.
func idOf(text []byte) event.ID {
	id := jsontext.Member(text, "id")
	if jsontext.IsNumber(id) {
		return event.NumberID(string(id))
	}
	return event.ID(jsontext.Text(id))
}

// event takes an event of a log other than a call. The result of a call decides whether it is made
// again or, if the log of a killed run has none, its approval.
func (b *backlog) event(kind string, text []byte) {
	word := func(name string) string { return jsontext.Text(jsontext.Member(text, name)) }
	switch kind {
	case "start", "end":
		b.settle(word("run"))
	case "approval":
		if c := b.find(word("run"), idOf(text)); c != nil {
			c.refused = word("decision") != "allow"
		}
	case "tool_result":
		if c := b.find(word("run"), idOf(text)); c != nil {
			switch event.ResultStatus(word("status")) {
			case event.ResultDenied, event.ResultNotRun, event.ResultStaged:
				c.refused = true
			default:
				c.refused = false
			}
			c.open = false
		}
	}
}

// find finds the open call with this id in a run of the log; nil if there is none.
func (b *backlog) find(run string, id event.ID) *asked {
	for _, c := range slices.Backward(b.calls) {
		if c.open && c.id == id && c.run == run {
			return c
		}
	}
	return nil
}

// settle marks the calls of a run as ended: the log says nothing more about them.
func (b *backlog) settle(run string) {
	for _, c := range b.calls {
		c.open = c.open && c.run != run
	}
}

// ready yields the calls that need not wait any more, except those that are not made.
func (b *backlog) ready(yield func(*asked) bool) {
	for len(b.calls) > 0 && !b.calls[0].open {
		c := b.calls[0]
		b.calls[0], b.calls = nil, b.calls[1:]
		b.weight -= c.weight()
		if c.refused {
			b.refused++
		} else if !yield(c) {
			return
		}
	}
}
