package calls

import (
	"slices"
	"strconv"
	"strings"

	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/stream/text/jsontext"
)

// maxWaiting is how many bytes of calls may wait, about.
const maxWaiting = 64 << 20

// unnamed begins the id of a call that came with none or an empty one. The number of its line
// follows.
const unnamed = "line-"

// A backlog is the calls that were read and are not made yet, in order. A line with a type is
// an event of a log: its call waits until the log says how it ended, and so do the calls after
// it. Any other line is a call that need not wait.
type backlog struct {
	own    string // the word of this run in its log, which may be the one that is read
	calls  []*asked
	weight int // about how many bytes they have

	assigned bool // a call without an id got one
	given    bool // a call came with an id that begins with unnamed

	nested  int // calls of nested runs, which the calls of agents make again
	refused int // calls that the log shows as denied, not run or staged
}

// asked is a call that a line asks for.
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

// call reads a line that is a call. The raw text of a call whose arguments were no JSON object
// is such a text again.
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
		return nil, l.wrong("a call without an id gets %sN for its line, so no call beside it may have such an id", unnamed)
	}
	return c, nil
}

// idOf is the id in a line as it came; "" if it is no string and no number.
func idOf(text []byte) event.ID {
	id := jsontext.Member(text, "id")
	if jsontext.IsNumber(id) {
		return event.NumberID(string(id))
	}
	return event.ID(jsontext.Text(id))
}

// event takes an event of a log that is no call. The last word on a call counts: its result or,
// if the log of a run that was killed has none, its approval.
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

// find finds the open call with that id in a run of the log; nil if there is none.
func (b *backlog) find(run string, id event.ID) *asked {
	for _, c := range slices.Backward(b.calls) {
		if c.open && c.id == id && c.run == run {
			return c
		}
	}
	return nil
}

// settle ends the wait of the calls of a run, about which the log says nothing more.
func (b *backlog) settle(run string) {
	for _, c := range b.calls {
		c.open = c.open && c.run != run
	}
}

// settleAll ends the wait of all calls.
func (b *backlog) settleAll() {
	for _, c := range b.calls {
		c.open = false
	}
}

// ready gives the calls that need not wait any more, without those that are not made.
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
