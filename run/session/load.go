package session

import (
	"bytes"
	"cmp"
	"slices"

	"toolpipe/run/document"
	"toolpipe/run/input"
	"toolpipe/stream"
)

type loader struct {
	*File
	sequence input.Sequence
	kinds    map[string]func(*loader, document.Member) error
	names    map[string]string // tool names, each once in memory
	open     map[string]*sent  // calls of the last assistant message without a result
	at       place             // of the current line
	size     int64             // of the file
}

// load processes a line. For content that requests leave out, it keeps only the position in the
// file.
func (l *loader) load(line document.Line) error {
	if _, ok := line.Get("role"); !ok {
		return l.tell(line)
	}
	at := place{line.Begin, line.Length}
	m, err := input.Message(line.Value)
	if err != nil {
		return err
	}
	for i := range m.Parts {
		p := &m.Parts[i]
		p.JSON, p.Raw = line.Keep(p.JSON), line.Keep(p.Raw)
	}
	l.reserve(at)
	l.messages = append(l.messages, m)
	return l.added(at, line)
}

// added checks the last message, which was read from the line at this position.
func (l *loader) added(at place, line document.Line) error {
	m := &l.messages[len(l.messages)-1]
	if err := cmp.Or(l.sequence.Next(m, line.Value), input.ReadState(m, line.Value)); err != nil {
		return err
	}
	if m.Role == stream.ToolRole {
		if was := l.open[m.CallID]; was != nil {
			m.CallID = was.id
		}
		m.Name = l.named(m.Name)
		delete(l.open, m.CallID)
	}
	l.Ended = nil
	l.placed(m, at)
	if m.Role != stream.Assistant {
		return nil
	}
	clear(l.open)
	for i := range m.Calls {
		call := &m.Calls[i]
		if _, known := l.places.calls[call.ID]; known { // the call would get another id, which does not match the file
			return line.Errorf("an earlier call has the id %q too", call.ID)
		}
		call.Name = l.named(call.Name)
		l.places.calls[call.ID], l.open[call.ID] = result{message: -1}, &sent{id: call.ID}
	}
	return nil
}

// answer is the index of a call's result among the messages; -1 for none.
func (l *loader) answer(call string) int {
	if r, ok := l.places.calls[call]; ok {
		return r.message
	}
	return -1
}

// named returns the copy of name that is already in memory.
func (l *loader) named(name string) string {
	if known, ok := l.names[name]; ok {
		return known
	}
	l.names[name] = name
	return name
}

// reserve makes room for another message, and for as many as the rest of the file probably
// contains. A list that grows in small steps would be in memory several times.
func (l *loader) reserve(at place) {
	const least, most, more = 64, 8, 8 // messages; factor; messages that this run adds
	n := len(l.messages)
	if n < cap(l.messages) {
		return
	}
	expected := int(float64(n+1)*float64(l.size)/float64(at.begin+int64(at.length))) + more
	l.messages = slices.Grow(l.messages, max(least, n/4, min(expected, most*n)-n))
	l.places.others = slices.Grow(l.places.others, cap(l.messages)-len(l.places.others))
}

func (l *loader) finish() {
	Sort(l.messages)
	for _, m := range slices.Backward(l.messages) {
		if m.Role != stream.ToolRole {
			for _, c := range m.Calls {
				if was := l.open[c.ID]; was != nil && was.sent {
					l.Unknown = append(l.Unknown, Sent{c, was.task})
				}
			}
			break
		}
	}
}

// lineKinds are the lines that are no messages, by their only member.
func lineKinds() map[string]func(*loader, document.Member) error {
	return map[string]func(*loader, document.Member) error{
		"sending":  (*loader).readSending,
		"not_sent": (*loader).readSending,
		"task":     (*loader).readTask,
		"tools":    (*loader).readTools,
		"added":    (*loader).readAdded,
		"result":   (*loader).readResult,
		"left_out": (*loader).readLeftOut,
		"cut":      (*loader).readEnd,
		"refused":  (*loader).readEnd,
	}
}

// NotALine is the error for a line that no session has.
const NotALine = "neither a message nor another line of a session"

// IsKind reports whether sessions have lines with name as their only member that are no messages.
func IsKind(name string) bool { return lineKinds()[name] != nil }

func (l *loader) tell(line document.Line) error {
	var member document.Member
	n := 0
	for member = range line.EachMember() {
		n++
	}
	if read := l.kinds[member.Key]; read != nil && n == 1 {
		l.at = place{line.Begin, line.Length}
		return read(l, member)
	}
	return line.Errorf(NotALine)
}

func (l *loader) readTools(m document.Member) error {
	if m.Kind() != '{' {
		return m.Errorf("tools is not an object")
	}
	for _, t := range m.Members() {
		if t.Kind() != '"' {
			return m.Errorf("the digest of the tool %q is not a string", t.Key)
		}
		l.Tools[t.Key] = t.Text()
	}
	return nil
}

// isBegun reports whether line begins like a line of a session. After a power failure, zeros may
// follow it.
func isBegun(line []byte) bool {
	line = bytes.TrimRight(line, "\x00\r\n")
	begins := func(name string) bool {
		whole := `{"` + name + `":`
		n := min(len(whole), len(line))
		return whole[:n] == string(line[:n])
	}
	for name := range lineKinds() {
		if begins(name) {
			return true
		}
	}
	return begins("role")
}
