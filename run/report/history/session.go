package history

import (
	"errors"
	"strings"

	store "toolpipe/run/session"
	"toolpipe/stream/text/jsontext"
)

// A session processes the lines of a session file. See --help=session for their form.
type session struct {
	reader *Reader
	run    *Run
	turn   int64
	calls  map[string]*Call // calls without a result, by id
}

func isSessionLine(e *event) bool { return store.IsKind(e.only()) }

func (s *session) line(e *event) error {
	role := e.get("role").str()
	switch only := e.only(); {
	case role == "assistant":
		s.said(e)
	case role == "tool":
		s.answered(e)
	case role != "":
		s.told(e, role)
	case only == "sending", only == "not_sent":
		if c := s.calls[e.get(only).str()]; c != nil {
			c.Result.Status = ""
			if only == "sending" {
				c.Result.Status = "unknown"
			}
		}
	case isSessionLine(e):
		n := &Note{Kind: only, At: Unknown, Turn: s.turn, Wait: Unknown, Line: e.number}
		if s.reader.addNote(s.run, n) {
			n.Details = s.reader.details(e.get(only).members())
		}
	default:
		return errors.New(store.NotALine)
	}
	return nil
}

// contentOf is the text of a message. Other parts are replaced by their types.
func contentOf(v value) Text {
	switch v.kind() {
	case 'n':
		return Text{}
	case '[':
		var parts []string
		for _, part := range v.elements() {
			if text := part.get("text"); text.kind() == '"' {
				parts = append(parts, jsontext.Unquote(text))
			} else {
				parts = append(parts, "["+part.get("type").str()+"]")
			}
		}
		return Text{Head: strings.Join(parts, "\n")}
	}
	return v.text()
}

func (s *session) told(e *event, role string) {
	text := contentOf(e.get("content"))
	if role == "user" {
		s.reader.ask(s.run, text)
		if text = (Text{}); len(e.rest()) == 0 {
			return
		}
	}
	n := &Note{Kind: role, At: Unknown, Turn: s.turn, Wait: Unknown, Line: e.number}
	if s.reader.addNote(s.run, n) {
		n.Text, n.Details = s.reader.keep(text), s.reader.details(e.rest())
	}
}

func (s *session) said(e *event) {
	s.turn++
	t := &Turn{Number: s.turn, At: Unknown, Ms: Unknown, First: Unknown}
	text, calls := contentOf(e.get("content")), e.get("tool_calls").elements()
	if s.reader.addTurn(s.run, t) {
		t.Text, t.Details = s.reader.keep(text), s.reader.details(e.rest())
	}
	s.run.Counts.Turns++
	for _, v := range calls {
		f := v.get("function")
		c := newCall(v.get("id").str(), e.number)
		s.run.Counts.Calls++
		if s.reader.addCall(s.run, c, false) {
			s.calls[c.ID] = c
			c.Name, c.Turn = f.get("name").str(), s.turn
			c.Server, c.Tool, _ = strings.Cut(c.Name, "__")
			s.arguments(c, f.get("arguments"))
		}
	}
	if !text.IsEmpty() && len(calls) == 0 {
		s.reader.answer(s.run, text)
	}
}

// arguments reads the arguments of a call, which are JSON in a string.
func (s *session) arguments(c *Call, v value) {
	text := []byte(jsontext.Text(v))
	if object, err := newEvent(text, 0); err == nil {
		s.reader.called(c, object.text)
	} else {
		s.reader.calledRaw(c, v)
	}
}

func (s *session) answered(e *event) {
	id := e.get("tool_call_id").str()
	c := s.calls[id]
	if c == nil {
		return
	}
	delete(s.calls, id)
	text := contentOf(e.get("content"))
	c.Result.Status, c.Result.Text, c.Result.Bytes = "answered", s.reader.keep(text), text.Size()
	c.Details = append(c.Details, s.reader.details(e.rest())...)
	tally(s.run.Counts.Results, c.Result.Status)
}

func (s *session) end() { s.run.End.Cut = len(s.run.Source.Cut) > 0 }
