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

// A span is messages that belong to whole rounds. before is the message of the user before them.
type span struct{ before, from, to int }

// oldRounds are the messages that may be left out as whole rounds. The last three rounds with results
// stay, but not more than six rounds.
func oldRounds(messages []stream.Message) (spans []span) {
	to, kept, withResults := len(messages), 0, 0
	for kept < 2*untrimmedRounds && withResults < untrimmedRounds && to > 0 {
		if to--; beginsRound(messages, to) {
			if kept++; to+1 < len(messages) && isResult(&messages[to+1]) {
				withResults++
			}
		}
	}
	first := slices.IndexFunc(messages, func(m stream.Message) bool { return isPrompt(&m) })
	last := first
	for i := range messages {
		if isPrompt(&messages[i]) {
			last = i
		}
	}
	add := func(before, to int) {
		from := before + 1
		for from < to && messages[from].Role != stream.Assistant {
			if from++; isPrompt(&messages[from-1]) {
				before = from - 1
			}
		}
		if from < to {
			spans = append(spans, span{before, from, to})
		}
	}
	switch {
	case to == 0 || first < 0:
	case last > first && last < to:
		add(first, last)
		add(last, to)
	default:
		add(first, to)
	}
	return spans
}

// beginsRound reports whether a round begins with the i-th message. A reply that the endpoint paused
// is in several messages.
func beginsRound(messages []stream.Message, i int) bool {
	return messages[i].Role == stream.Assistant && (i == 0 || messages[i-1].Role != stream.Assistant)
}

// rounds leaves out the first rounds of a span, until the request has the target's weight.
func (x *trim) rounds(s span, target int) {
	to, more := s.from, false
	for to < s.to {
		next := to + 1
		for next < s.to && !beginsRound(x.messages, next) {
			next++
		}
		if round := x.messages[to:next]; slices.ContainsFunc(round, func(m stream.Message) bool { return !m.Omitted() }) {
			if x.load.weight <= target {
				break
			}
			for i := range round {
				x.omit(to + i)
			}
			more = true
			x.now.Rounds++
		}
		to = next
	}
	if more {
		x.leave(session.Left{Message: s.before, Part: session.WholeMessage, Until: to, Says: x.saysRounds(s.from, to)})
	}
}

func (x *trim) omit(i int) {
	m := &x.messages[i]
	if m.Omitted() {
		return
	}
	x.load.weight -= weightOf(m)
	if m.Instead == nil {
		x.now.Bytes += bytesOf(m.Parts)
		x.Results.leave(x.placed[i-x.Frame])
	}
	m.Omit()
}

// saysRounds is the line in place of whole rounds.
func (x *trim) saysRounds(from, to int) string {
	first, last, calls, prompts := 1, 0, 0, 0
	results := [2]int{}
	count := map[string]int{}
	var names []string
	for i := range x.messages[:to] {
		m := &x.messages[i]
		if beginsRound(x.messages, i) {
			if last++; i < from {
				first++
			}
		}
		if i < from {
			continue
		}
		if isPrompt(m) {
			prompts++
		}
		for _, c := range m.Calls {
			if calls++; count[c.Name] == 0 {
				names = append(names, c.Name)
			}
			count[c.Name]++
		}
		if number := x.placed[i-x.Frame].number; number > 0 {
			results = [2]int{min(cmp.Or(results[0], number), number), max(results[1], number)}
		}
	}
	says := fmt.Sprintf(session.RoundsLeft+"%d to %d", first, last)
	if calls > 0 {
		const most = 3
		slices.SortStableFunc(names, func(a, b string) int { return count[b] - count[a] })
		var parts []string
		for _, name := range names[:min(len(names), most)] {
			parts = append(parts, fmt.Sprintf("%d × %s", count[name], name))
		}
		if len(names) > most {
			parts = append(parts, "…")
		}
		says += fmt.Sprintf(" (%d calls: %s)", calls, strings.Join(parts, ", "))
	}
	if prompts > 0 {
		says += fmt.Sprintf(" and %d messages of the user", prompts)
	}
	if results[0] > 0 {
		says += "; their results are " + resultName(results[0]) + " to " + resultName(results[1])
	}
	return says
}
