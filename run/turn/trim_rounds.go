package turn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"toolpipe/run/event"
	"toolpipe/run/session"
	"toolpipe/stream"
	"toolpipe/stream/text/readable"
)

// A trim is one step in which a trimmer leaves something out.
type trim struct {
	*trimmer
	messages []stream.Message     // of the request
	placed   map[int]placedResult // results with a name, by the index of their message in the conversation
	now      event.Trim
	left     []session.Left
}

// leave leaves something out. Its indexes are those of the request.
func (x *trim) leave(l session.Left) {
	m := &x.messages[l.Message]
	x.load.weight -= weightOf(m)
	l.Message -= x.Frame
	if l.Until > 0 {
		l.Until -= x.Frame
	}
	l.ApplyTo(x.messages[x.Frame:])
	x.load.weight += weightOf(m)
	x.left = append(x.left, l)
}

func (x *trim) result(i int) {
	m := &x.messages[i]
	bytes := bytesOf(m.Parts)
	says := "[toolpipe] left out: " + readable.Grouped(bytes) + " bytes of this result"
	if name := x.Results.leave(x.placed[i-x.Frame]); name != "" {
		says += ": result " + name
	} else if x.CanRepeat != nil && x.CanRepeat(m.Name) {
		says += "; call it again if you need it"
	}
	x.leave(session.Left{Call: m.CallID, Message: i, Part: session.WholeMessage, Says: says})
	x.now.Results++
	x.now.Bytes += bytes
}

func (x *trim) attachment(i, at int) {
	p := &x.messages[i].Sent()[at]
	bytes := bytesOf([]stream.Part{*p})
	x.leave(session.Left{Message: i, Part: at, Says: heading(p) + "[toolpipe] left out: " + readable.Grouped(bytes) + " bytes of this attachment"})
	x.now.Attachments++
	x.now.Bytes += bytes
}

// A span is the messages from..to-1, which may be left out as whole rounds, except the last message of
// the user. before is the message of the user before them.
type span struct{ before, from, to, last int }

// oldRounds is the span of a request. The last three rounds with results stay, but not more than six
// rounds.
func oldRounds(messages []stream.Message) (s span) {
	s.before = -1
	for i := range messages {
		switch m := &messages[i]; {
		case isPrompt(m) && s.from == 0:
			s.before, s.last = i, i
		case isPrompt(m):
			s.last = i
		case m.Role == stream.Assistant && s.before >= 0 && s.from == 0:
			s.from = i
		}
	}
	if s.from == 0 {
		return span{}
	}
	s.to = len(messages)
	for kept, withResults := 0, 0; kept < 2*untrimmedRounds && withResults < untrimmedRounds && s.to > s.from; {
		if s.to--; beginsRound(messages, s.to) {
			if kept++; s.to+1 < len(messages) && isResult(&messages[s.to+1]) {
				withResults++
			}
		}
	}
	return s
}

// weight is what a request weighs less without the rounds.
func (s *span) weight(messages []stream.Message) (weight int) {
	for i := s.from; i < s.to; i++ {
		if i != s.last {
			weight += weightOf(&messages[i])
		}
	}
	return weight - smallestTrimmed // for the line in their place
}

// beginsRound reports whether a round begins with the i-th message. A reply that the endpoint paused
// is in several messages.
func beginsRound(messages []stream.Message, i int) bool {
	return messages[i].Role == stream.Assistant && (i == 0 || messages[i-1].Role != stream.Assistant)
}

// rounds leaves out the first rounds of a span, until the request has the target's weight.
func (x *trim) rounds(s span, target int) {
	to, more := s.from, false
	for ; to < s.to && (x.load.weight > target || !beginsRound(x.messages, to)); to++ {
		m := &x.messages[to]
		if to == s.last || m.Omitted() {
			continue
		}
		if beginsRound(x.messages, to) {
			x.now.Rounds++
		}
		x.load.weight -= weightOf(m)
		if m.Instead == nil {
			x.now.Bytes += bytesOf(m.Parts)
			x.Results.leave(x.placed[to-x.Frame])
		}
		m.Omit()
		more = true
	}
	if more {
		x.leave(session.Left{Message: s.before, Part: session.WholeMessage, Until: to, Says: x.saysRounds(s, to)})
	}
}

// saysRounds is the line in place of whole rounds.
func (x *trim) saysRounds(s span, to int) string {
	rounds, before, calls, prompts, results := 0, 0, 0, 0, ""
	count := map[string]int{}
	var names []string
	for i := range x.messages[:to] {
		m := &x.messages[i]
		if i == s.from {
			before = rounds
		}
		if beginsRound(x.messages, i) {
			rounds++
		}
		if i < s.from {
			continue
		}
		if isPrompt(m) && i != s.last {
			prompts++
		}
		for _, c := range m.Calls {
			if calls++; count[c.Name] == 0 {
				names = append(names, c.Name)
			}
			count[c.Name]++
		}
		if p := x.placed[i-x.Frame]; p.number > 0 {
			first, _, _ := strings.Cut(cmp.Or(results, p.name()), " ")
			results = first + " to " + p.name()
		}
	}
	says := fmt.Sprintf(session.RoundsLeft+"%d to %d", before+1, rounds)
	if calls > 0 {
		const most = 3
		slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
		for i, name := range names {
			names[i] = fmt.Sprintf("%d × %s", count[name], name)
		}
		if len(names) > most {
			names = append(names[:most], "…")
		}
		says += fmt.Sprintf(" (%d calls: %s)", calls, strings.Join(names, ", "))
	}
	if prompts > 0 {
		says += fmt.Sprintf(" and %d messages of the user", prompts)
	}
	if results != "" {
		says += "; their results are " + results
	}
	return says
}
