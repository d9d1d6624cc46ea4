package session

import (
	"bytes"
	"cmp"
	"slices"

	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/stream"
)

// A loader takes the lines of the file, in order.
type loader struct {
	*File
	sequence input.Sequence
	kinds    map[string]func(*loader, document.Member) error
	ids      map[string]bool  // of all calls
	answers  map[string]int   // the places of all results among the messages, by their calls
	last     int              // the place of the last message that is no result
	open     map[string]*sent // the calls of the last assistant message without a result
	at       place            // of the line
}

// load takes a line. Of what is left out of requests only the place in the file is kept.
func (l *loader) load(line document.Line) error {
	if _, ok := line.Get("role"); !ok {
		return l.tell(line)
	}
	at := place{line.Begin, line.Length}
	m, err := input.Message(line.Value)
	if err != nil {
		return err
	}
	isResult := m.Role == stream.ToolRole
	if i, again := l.answers[m.CallID]; isResult && again && i > l.last { // an older version repeated it with what --refresh added
		l.messages[i], l.places.results[m.CallID] = m, []place{at}
		return nil
	}
	if err := cmp.Or(l.sequence.Next(&m, line.Value), input.ReadState(&m, line.Value)); err != nil {
		return err
	}
	if isResult {
		l.answers[m.CallID] = len(l.messages)
		delete(l.open, m.CallID)
	} else {
		l.last = len(l.messages)
	}
	l.placed(&m, at)
	l.messages, l.Ended = append(l.messages, m), nil
	if m.Role != stream.Assistant {
		return nil
	}
	clear(l.open)
	for _, call := range m.Calls {
		if l.ids[call.ID] { // the call would get another ID, by which the file does not know it
			return line.Errorf("a call before has the id %q too", call.ID)
		}
		l.ids[call.ID], l.open[call.ID] = true, &sent{}
	}
	return nil
}

// finish looks at what the last lines have left open.
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

// sent is what lines tell about a call.
type sent struct {
	sent bool
	task *Task
}

// readTask takes the task of a call.
func readTask(m document.Member, open map[string]*sent) error {
	t, call := &Task{}, ""
	keys := document.Keys("call", &call, "id", &t.ID, "server", &t.Server, "at", &t.At, "protocol", &t.Protocol, "tool", &t.Tool, "arguments", &t.Arguments)
	if err := m.ReadKeys(keys); err != nil {
		return err
	}
	was := open[call]
	if was == nil || t.ID == "" {
		return m.Errorf("a task without an id, or of no call without a result")
	}
	was.task = t
	return nil
}

// lineKinds are the lines that are no messages, by the only member that each has.
func lineKinds() map[string]func(*loader, document.Member) error {
	return map[string]func(*loader, document.Member) error{
		"sending":  (*loader).readSending,
		"not_sent": (*loader).readSending,
		"task":     func(l *loader, m document.Member) error { return readTask(m, l.open) },
		"tools":    (*loader).readTools,
		"added":    (*loader).readAdded,
		"left_out": (*loader).readLeftOut,
		"cut":      (*loader).readEnd,
		"refused":  (*loader).readEnd,
	}
}

// tell takes a line that is no message.
func (l *loader) tell(line document.Line) error {
	if members := line.Members(); len(members) == 1 {
		if read := l.kinds[members[0].Key]; read != nil {
			l.at = place{line.Begin, line.Length}
			return read(l, members[0])
		}
	}
	return line.Errorf("neither a message nor another line of a session")
}

func (l *loader) readSending(m document.Member) error {
	was := l.open[m.Text()]
	if was == nil {
		return m.Errorf("no call without a result has the id %s", m.Short())
	}
	was.sent = m.Key == "sending"
	return nil
}

func (l *loader) readEnd(m document.Member) error {
	if m.Kind() != '"' {
		return m.Errorf("%s is not a string", m.Key)
	}
	if l.Ended = (&failure.Error{Status: failure.StatusModel, Message: m.Text()}); m.Key == "cut" {
		l.Ended.Status, l.Ended.Cause = failure.StatusLimit, failure.ErrLength // its text is printed
	}
	return nil
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

// isBegun reports whether line begins as the lines of a session do. A machine that lost
// its power may have left zeros behind it.
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
