package session

import (
	"slices"

	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

func noteLine(kind string, value []byte) []byte {
	return append(jsontext.AppendMember([]byte{'{'}, kind, value), "}\n"...)
}

func (s *File) note(kind string, value []byte) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.write(noteLine(kind, value))
}

type Sent struct {
	stream.Call
	Task *Task // the server's answer; nil for none
}

type sent struct {
	id   string
	sent bool
	task *Task
}

// Sending records that a call is about to be sent.
func (s *File) Sending(id string) error { return s.note("sending", jsontext.Quoted(id)) }

// NotSent records that a call was not sent, so that a later run may send it.
func (s *File) NotSent(id string) error { return s.note("not_sent", jsontext.Quoted(id)) }

func (l *loader) readSending(m document.Member) error {
	was := l.open[m.Text()]
	if was == nil {
		return m.Errorf("no call without a result has the id %s", m.Short())
	}
	was.sent = m.Key == "sending"
	return nil
}

// Task is the task of a call, with the server that runs it.
type Task struct {
	ID        string // id of the task
	Server    string // name of the server
	At        string // identity of the server: a hash of its command or its URL
	Protocol  string // protocol revision
	Tool      string // name at the server
	Arguments string // SHA-256 of the canonical arguments
}

func (s *File) BeginTask(call string, t *Task) error {
	value := []byte{'{'}
	for _, m := range [][2]string{{"call", call}, {"id", t.ID}, {"server", t.Server}, {"at", t.At}, {"protocol", t.Protocol}, {"tool", t.Tool}, {"arguments", t.Arguments}} {
		value = jsontext.AppendMember(value, m[0], jsontext.Quoted(m[1]))
	}
	return s.note("task", append(value, '}'))
}

func (l *loader) readTask(m document.Member) error {
	t, call := &Task{}, ""
	keys := document.Keys("call", &call, "id", &t.ID, "server", &t.Server, "at", &t.At, "protocol", &t.Protocol, "tool", &t.Tool, "arguments", &t.Arguments)
	if err := m.ReadKeys(keys); err != nil {
		return err
	}
	was := l.open[call]
	if was == nil || t.ID == "" {
		return m.Errorf("a task without an id, or without an open call")
	}
	was.task = t
	return nil
}

// TaskOf is the task of a call that an earlier run sent; nil for none.
func (s *File) TaskOf(id string) *Task {
	if s == nil {
		return nil
	}
	i := slices.IndexFunc(s.Unknown, func(c Sent) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return s.Unknown[i].Task
}

// End records that the last message is no answer, because the run ended with f.
func (s *File) End(f *failure.Error) error {
	switch f.Status {
	case failure.StatusLimit:
		return s.note("cut", jsontext.Quoted(f.Message))
	case failure.StatusModel:
		return s.note("refused", jsontext.Quoted(f.Message))
	}
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
