package session

import (
	"bytes"
	"slices"

	"toolpipe/run/document"
	"toolpipe/run/input"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

// load takes the lines of the file.
func (s *File) load(lines []document.Value) (err error) {
	var messages []document.Value
	ids := map[string]bool{}    // of all calls
	results := map[string]int{} // the places of the results since the last message of another role
	open := map[string]*sent{}  // the calls of the last assistant message without a result
	for _, line := range lines {
		role, ok := line.Get("role")
		if !ok {
			if err := s.tell(line, open); err != nil {
				return err
			}
			continue
		}
		if id, ok := line.Get("tool_call_id"); ok {
			if at, again := results[id.Text()]; again { // --refresh has added something to it
				messages[at] = line
				continue
			}
			results[id.Text()] = len(messages)
			delete(open, id.Text())
		} else {
			clear(results)
		}
		messages = append(messages, line)
		if role.Text() != string(stream.Assistant) {
			continue
		}
		clear(open)
		for call := range jsontext.Elements(jsontext.Member(line.Raw(), "tool_calls")) {
			id := jsontext.Text(jsontext.Member(call, "id"))
			if ids[id] { // the call would get another ID, by which the file does not know it
				return line.Errorf("a call before has the id %q too", id)
			}
			ids[id], open[id] = true, &sent{}
		}
	}
	if s.messages, err = input.Messages(messages, true); err != nil {
		return err
	}
	Sort(s.messages)
	for _, m := range slices.Backward(s.messages) {
		if m.Role != stream.ToolRole {
			for _, c := range m.Calls {
				if was := open[c.ID]; was != nil && was.sent {
					s.Unknown = append(s.Unknown, Sent{c, was.task})
				}
			}
			break
		}
	}
	return nil
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

// tell takes a line that tells about calls.
func (s *File) tell(line document.Value, open map[string]*sent) error {
	members := line.Members()
	if len(members) != 1 {
		return line.Errorf("neither a message nor another line of a session")
	}
	switch m := members[0]; m.Key {
	case "sending", "not_sent":
		was := open[m.Text()]
		if was == nil {
			return line.Errorf("no call without a result has the id %s", m.Short())
		}
		was.sent = m.Key == "sending"
	case "task":
		return readTask(m, open)
	case "tools":
		if m.Kind() != '{' {
			return line.Errorf("tools is not an object")
		}
		for _, t := range m.Members() {
			if t.Kind() != '"' {
				return line.Errorf("the digest of the tool %q is not a string", t.Key)
			}
			s.Tools[t.Key] = t.Text()
		}
	default:
		return line.Errorf("neither a message nor another line of a session")
	}
	return nil
}

// isBegun reports whether line begins as the lines of a session do. A machine that lost
// its power may have left zeros behind it.
func isBegun(line []byte) bool {
	line = bytes.TrimRight(line, "\x00\r\n")
	return slices.ContainsFunc([]string{`{"role":`, `{"tools":`, `{"sending":`, `{"not_sent":`, `{"task":`}, func(whole string) bool {
		n := min(len(whole), len(line))
		return whole[:n] == string(line[:n])
	})
}
