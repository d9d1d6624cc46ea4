package history

import (
	"errors"
	"strings"
)

// A session takes the lines of a session file. See --help=session for its lines.
type session struct {
	reader *Reader
	run    *Run
	turn   int64
	calls  map[string]*Call // by their ids: those without a result
}

// isSessionLine reports whether a line is one of a session that is no message.
func isSessionLine(v *value) bool {
	for _, name := range []string{"tools", "sending", "not_sent", "task", "added", "left_out", "cut", "refused"} {
		if v.sameNames(name) {
			return true
		}
	}
	return false
}

func (s *session) line(v *value, number int) error {
	role := v.get("role").str()
	switch {
	case role == "" && v.sameNames("sending"), role == "" && v.sameNames("not_sent"):
		if c := s.calls[v.members[0].value.str()]; c != nil {
			c.Result.Status = ""
			if v.members[0].name == "sending" {
				c.Result.Status = "unknown"
			}
		}
	case role == "" && isSessionLine(v):
		s.reader.addNote(s.run, &Note{Kind: v.members[0].name, At: Unknown, Turn: s.turn, Wait: Unknown, Line: number, Details: v.members[0].value.details(s.reader.report.Limit)})
	case role == "":
		return errors.New("neither a message nor another line of a session")
	case role == "assistant":
		s.said(newEvent(v, number))
	case role == "tool":
		s.answered(newEvent(v, number))
	default:
		s.told(newEvent(v, number), role)
	}
	return nil
}

// content is the text of a message. What is no text is named in its place.
func (s *session) content(v *value) Text {
	if v.kind == 'n' || v.kind == 0 {
		return Text{}
	}
	if v.kind != '[' {
		return v.shown(s.reader.report.Limit)
	}
	var parts []string
	for i := range v.elements {
		part := &v.elements[i]
		if text := part.get("text"); text.kind == '"' {
			parts = append(parts, text.str())
		} else {
			parts = append(parts, "["+part.get("type").str()+"]")
		}
	}
	t := textOf(strings.Join(parts, "\n"))
	t.shrink(s.reader.report.Limit)
	return t
}

// told takes a message of the system or of the user.
func (s *session) told(e *event, role string) {
	text := s.content(e.get("content"))
	e.get("role")
	details := e.rest(s.reader.report.Limit)
	if role == "user" {
		s.reader.ask(s.run, text)
		if text = (Text{}); len(details) == 0 {
			return
		}
	}
	s.reader.addNote(s.run, &Note{Kind: role, At: Unknown, Turn: s.turn, Wait: Unknown, Line: e.number, Text: text, Details: details})
}

func (s *session) said(e *event) {
	s.turn++
	e.get("role")
	t := &Turn{Number: s.turn, At: Unknown, Ms: Unknown, First: Unknown, Text: s.content(e.get("content"))}
	calls := e.get("tool_calls")
	if t.Details = e.rest(s.reader.report.Limit); s.reader.addTurn(s.run, t) {
		s.reader.kept += t.Text.kept() + keptOf(t.Details)
	}
	s.run.Counts.Turns++
	for i := range calls.elements {
		v := &calls.elements[i]
		f := v.get("function")
		c := &Call{ID: v.get("id").str(), Name: f.get("name").str(), Turn: s.turn, At: Unknown, Line: e.number, Result: Result{Ms: Unknown, Began: Unknown, Bytes: Unknown}}
		c.Server, c.Tool, _ = strings.Cut(c.Name, "__")
		c.Arguments, c.Raw = s.arguments(f.get("arguments"))
		s.run.Counts.Calls++
		if s.reader.addCall(s.run, c, false) {
			s.calls[c.ID] = c
			s.reader.kept += keptOf(c.Arguments)
		}
	}
	if !t.Text.IsEmpty() && len(calls.elements) == 0 {
		s.reader.answer(s.run, t.Text)
	}
}

// arguments reads the arguments of a call, which are JSON in a string. raw says that they are no
// object.
func (s *session) arguments(v *value) (all []Detail, raw bool) {
	if v.text.Left == 0 {
		inner := &scanner{file: newFile(strings.NewReader(v.text.Head)), limit: s.reader.report.Limit}
		if object, err := inner.object(); err == nil && object.kind == '{' {
			return object.details(s.reader.report.Limit), false
		}
	}
	return []Detail{{Name: "raw", Text: v.shown(s.reader.report.Limit)}}, true
}

func (s *session) answered(e *event) {
	id := e.get("tool_call_id").str()
	c := s.calls[id]
	if c == nil {
		return
	}
	delete(s.calls, id)
	e.get("role")
	c.Result.Status, c.Result.Text = "answered", s.content(e.get("content"))
	c.Result.Bytes = c.Result.Text.Size()
	c.Details = append(c.Details, e.rest(s.reader.report.Limit)...)
	tally(s.run.Counts.Results, c.Result.Status)
	s.reader.kept += c.Result.Text.kept()
}

func (s *session) end() { s.run.End.Cut = len(s.run.Source.Cut) > 0 }
