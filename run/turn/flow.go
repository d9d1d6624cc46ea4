package turn

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync"

	"toolpipe/approve"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/wire"
	"toolpipe/run/event"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
)

// flow tracks the labels of one conversation and their sources. The labels of a call apply as soon as
// the calls of its turn are decided: a call that runs in parallel or later could send its data.
type flow struct {
	strict bool       // calls that together could send private data do not run in parallel
	warned *sync.Once // for the warning about the first call that sends from a private and untrusted conversation
	of     string     // suffix of "turn 2" in texts: " of the agent NAME" in a nested run

	mu       sync.Mutex
	seen     approve.Labels
	from     event.Egress    // first sources of the labels private and untrusted
	unknown  []*toolbox.Tool // tools with undeclared labels and with results in the conversation; at most two
	expected []*call         // allowed calls without a result, in the order of their verdicts
}

// maxSourceName is how many bytes of the name of a call in an input are shown.
const maxSourceName = 64

func newFlow(gate *approve.Gate) *flow {
	return &flow{strict: gate.Egress <= approve.EgressAsk, warned: new(sync.Once)}
}

// note adds the labels more to seen, and records the source of each new one.
func note(by *event.Egress, seen, more approve.Labels, from event.Source) approve.Labels {
	if more&^seen&approve.Private != 0 {
		by.Private = from
	}
	if more&^seen&approve.Untrusted != 0 {
		by.Untrusted = from
	}
	return seen | more&approve.Exposed
}

func (f *flow) add(labels approve.Labels, from event.Source) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen = note(&f.from, f.seen, labels, from)
}

// begin adds the labels of the first messages. A message has labels; a result also gets the present
// labels of its tool.
func (f *flow) begin(msgs []stream.Message, box *toolbox.Toolbox) {
	names := map[string]string{} // call names by id
	for i := range msgs {
		m := &msgs[i]
		for _, c := range m.Calls {
			names[c.ID] = c.Name
		}
		labels, _ := approve.ParseLabels(m.Labels, approve.Exposed)
		from := event.Source{Name: "the input"}
		if m.Role == stream.ToolRole {
			name := names[m.CallID]
			from = event.Source{Name: strings.ToValidUTF8(name[:min(len(name), maxSourceName)], ""), ID: event.ID(m.CallID), Where: "in the input"}
			if t := box.Tool(names[m.CallID]); t != nil {
				labels |= t.Labels
			}
		}
		f.add(labels, from)
	}
}

// mayBeExposed reports whether the conversation may be private and untrusted at a call of t: it has a
// label already, or contains the result of another tool with undeclared labels.
func (f *flow) mayBeExposed(t *toolbox.Tool) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen != 0 || slices.ContainsFunc(f.unknown, func(other *toolbox.Tool) bool { return other != t })
}

// before is the labels of the conversation when c runs: its data so far, and the results of calls
// that were decided before c.
func (f *flow) before(c *call) (approve.Labels, event.Egress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seen, from := f.seen, f.from
	for _, other := range f.expected {
		if other == c {
			break
		}
		seen = note(&from, seen, other.tool.Labels, other.origin)
	}
	return seen, from
}

func (f *flow) expect(c *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !slices.Contains(f.expected, c) {
		f.expected = append(f.expected, c)
	}
}

// settle records that the result of c has come, or will not come.
func (f *flow) settle(c *call) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expected = slices.DeleteFunc(f.expected, func(other *call) bool { return other == c })
}

// apart reports whether a call with these labels must wait for the running calls: together they
// would make the conversation private and untrusted while one of them sends.
func (f *flow) apart(running, labels approve.Labels) bool {
	if !f.strict || running == 0 || !(running | labels).Has(approve.Sends) {
		return false
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return !f.seen.Has(approve.Exposed) && (f.seen | running | labels).Has(approve.Exposed)
}

// nested is the flow of the nested run of c. It starts with the labels of this conversation,
// because the task is made from it.
func (f *flow) nested(c *call, agent string) *flow {
	n := &flow{strict: f.strict, warned: f.warned, of: " of the agent " + agent}
	n.seen, n.from = f.before(c)
	return n
}

// join adds the labels of an earlier flow of the same conversation.
func (f *flow) join(earlier *flow) {
	seen, from := earlier.before(nil)
	f.mu.Lock()
	defer f.mu.Unlock()
	by := f.from
	f.seen = note(&by, f.seen, seen&approve.Private, from.Private)
	f.seen = note(&by, f.seen, seen&approve.Untrusted, from.Untrusted)
	f.from, f.unknown = by, earlier.unknown
}

func (r *round) origin(c *call) event.Source {
	o := event.Source{Name: c.Name, Turn: r.turn, ID: eventID(c), Where: "turn " + strconv.Itoa(r.turn) + r.flow.of}
	switch {
	case r.serves:
		o.Turn, o.Where = 0, c.ID
	case r.turn == 0:
		o.Where = "a call of the input"
	}
	return o
}

// bring adds the labels of c and its result to the conversation, even for an error, for which result
// is nil. It is not called for a call that never ran.
func (r *round) bring(c *call, result *wire.Result) {
	c.labels |= c.tool.Labels&approve.Exposed | r.results.labels(c)
	if result != nil {
		private, untrusted := result.Claims()
		if private {
			c.labels |= approve.Private
		}
		if untrusted {
			c.labels |= approve.Untrusted
		}
	}
	r.flow.add(c.labels, c.origin)
	r.flow.mu.Lock()
	defer r.flow.mu.Unlock()
	if c.tool.Assumed.Has(approve.Exposed) && len(r.flow.unknown) < 2 && !slices.Contains(r.flow.unknown, c.tool) {
		r.flow.unknown = append(r.flow.unknown, c.tool)
	}
}

// asked is c as a call of t for a decision, with the labels of the conversation.
func (r *round) asked(c *call, t *toolbox.Tool) approve.Call {
	asked := t.Call(c.args)
	if change := asked.Change; change != nil { // the question does not show what rules withhold from the call
		withheld := r.plan.Inv.Gate.Withheld(context.Background(), asked)
		bounds := confine.Bounds{Denied: withheld.Paths, Matches: withheld.Matches}
		asked.Change = func(ctx context.Context) (string, []string) { return change(confine.WithBounds(ctx, bounds)) }
	}
	if r.nest != nil {
		asked.Agent = r.nest.agent
	}
	if r.command != nil {
		asked.Command = r.command.call.ID
	}
	asked.Open = r.turn == 0 && c.line == "" && r.command == nil // before the first turn, only the calls of the input run
	seen, from := r.flow.before(c)
	asked.Seen.Labels = seen
	asked.Seen.Secret, _ = r.plan.Inv.Secrets.Held(c.args)
	if seen.Has(approve.Untrusted) && asked.Labels.Has(approve.Sends) && (seen | asked.Labels).Has(approve.Private) {
		if !seen.Has(approve.Private) {
			from.Private = c.origin
			from.Private.Where = "the call itself"
		}
		asked.Seen.Private, asked.Seen.Untrusted = from.Private.Text(), from.Untrusted.Text()
		c.egress = from
	}
	return asked
}

func (r *round) approvalEvent(c *call, v approve.Verdict) *event.Approval {
	e := ApprovalEvent(eventID(c), v)
	e.Time, c.asked = c.asked, 0
	if r.stages(c, v) {
		e.Decision = "staged"
	}
	if v.Egress != "" && !v.TellsSecret() {
		e.Egress = c.egress
		e.Egress.Decision = v.Egress
	}
	return e
}

// warnOfEgress warns about the first call that sends while the conversation is private and
// untrusted.
func (r *round) warnOfEgress(c *call, asked *approve.Call) {
	r.flow.warned.Do(func() {
		r.emit(&event.Warning{Code: "egress", Message: c.Name + " may send private data out: the conversation is private by " + asked.Seen.Private +
			" and untrusted by " + asked.Seen.Untrusted + "; --egress ask asks about such calls, see --help=egress"})
	})
}

// ApprovalEvent is the event for a verdict on the call with this id.
func ApprovalEvent(id event.ID, v approve.Verdict) *event.Approval {
	return &event.Approval{ID: id, Decision: v.Outcome.String(), By: v.By, Rule: v.Rule, Reason: v.Reason}
}

func detail(s string) string {
	if s == "" {
		return ""
	}
	return ": " + s
}

// denial is the reason for the model.
func denial(v approve.Verdict) string { return cmp.Or(v.Reason, "by a rule") }
