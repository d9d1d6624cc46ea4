package session

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"toolpipe/approve"
	"toolpipe/run/document"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

type Left struct {
	Call    string // id of the call with this result; "" for an attachment and for rounds
	Message int    // index in the conversation: of the message with it, or of the one before the rounds, where Says is added
	Part    int    // of an attachment: index in the message; WholeMessage for a result
	Until   int    // of rounds: index of the message after them; 0: no rounds
	Says    string // the text that replaces it in requests
}

// RoundsLeft begins the text in place of rounds.
const RoundsLeft = "[toolpipe] left out: rounds "

// SaysRounds reports whether the last part of a message that is sent says that rounds are left out.
func SaysRounds(m *stream.Message) bool {
	n := len(m.Instead)
	return n > 0 && strings.HasPrefix(string(m.Instead[n-1].JSON), `"`+RoundsLeft)
}

const WholeMessage = -1

// ApplyTo leaves it out of a conversation.
func (l *Left) ApplyTo(conversation []stream.Message) {
	m, says := &conversation[l.Message], stream.Part{JSON: jsontext.Quoted(l.Says)}
	if l.Part == WholeMessage && l.Until == 0 {
		m.Instead = []stream.Part{says}
		return
	}
	if m.Instead == nil {
		m.Instead = slices.Clone(m.Parts)
	}
	if l.Until == 0 {
		m.Instead[l.Part] = says
		return
	}
	if SaysRounds(m) {
		m.Instead = m.Instead[:len(m.Instead)-1]
	}
	m.Instead = append(m.Instead, says)
	prompt := len(conversation) - 1 // the last one stays
	for prompt > l.Message && (conversation[prompt].Role != stream.User || conversation[prompt].Output) {
		prompt--
	}
	for i := l.Message + 1; i < l.Until; i++ {
		if i != prompt {
			conversation[i].Omit()
		}
	}
}

type place struct {
	begin  int64
	length int
}

type places struct {
	unended bool               // the last line is complete except for its line end
	longest int64              // longest line in bytes
	size    int64              // size of the file up to its last complete line
	calls   map[string]result  // all calls that were in the file when it was opened, or that have a result
	added   map[string][]place // lines that were added to results, by call
	results map[string]place   // lines with whole results, by call
	others  []place            // lines of messages, by index in the conversation; empty for results
}

type result struct {
	line    place
	message int // index of its message when the file was opened; -1: none
}

func (s *File) placed(m *stream.Message, at place) {
	if m.Role == stream.ToolRole {
		s.places.calls[m.CallID] = result{at, len(s.places.others)}
		at = place{}
	}
	s.places.others = append(s.places.others, at)
}

// LeaveOut writes what requests leave out from now on, so that requests of a later run begin with
// the same bytes.
func (s *File) LeaveOut(all []Left) error {
	value := []byte{'['}
	for i, l := range all {
		if i > 0 {
			value = append(value, ',')
		}
		switch {
		case l.Call != "":
			value = fmt.Appendf(value, `{"call":%s`, jsontext.Quoted(l.Call))
		case l.Until > 0:
			value = fmt.Appendf(value, `{"message":%d,"until":%d`, l.Message, l.Until)
		default:
			value = fmt.Appendf(value, `{"message":%d,"part":%d`, l.Message, l.Part)
		}
		value = fmt.Appendf(value, `,"says":%s}`, jsontext.Quoted(l.Says))
	}
	return s.note("left_out", append(value, ']'))
}

// readLeftOut reads what requests leave out, unless this run leaves nothing out.
func (l *loader) readLeftOut(m document.Member) error {
	if m.Kind() != '[' {
		return m.Errorf("left_out is not a list")
	}
	for _, e := range m.Elements() {
		left := Left{Part: WholeMessage, Message: -1}
		keys := document.Keys("call", &left.Call, "message", &left.Message, "part", &left.Part, "until", &left.Until, "says", &left.Says)
		if err := e.ReadKeys(keys); err != nil {
			return err
		}
		if left.Call != "" {
			left.Message = l.answer(left.Call)
		}
		i := left.Message
		known := i >= 0 && i < len(l.messages)
		switch {
		case known && left.Part >= 0:
			known = left.Part < len(l.messages[i].Sent())
		case known && left.Call == "":
			known = l.messages[i].Role == stream.User && left.Until > i && left.Until <= len(l.messages)
		}
		if !known || left.Part < WholeMessage {
			return e.Errorf("no message before this line has the part that is left out")
		}
		if l.leavesOut {
			left.ApplyTo(l.messages)
			if left.Until == 0 {
				l.messages[i].Parts = nil
			}
		}
	}
	return nil
}

// AddResult writes the whole result of a call, a JSON string literal, before its message, which has
// only a part of it. A result of nil is not written.
func (s *File) AddResult(call string, text []byte) error {
	if s == nil || text == nil {
		return nil
	}
	before, after := []byte(`{"result":{"call":`+string(jsontext.Quoted(call))+`,"text":`), []byte("}}\n")
	length := len(before) + len(text) + len(after) - 1
	if int64(length) > s.places.longest {
		return nil // it is not kept for later runs
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places.results[call] = place{s.places.size, length}
	return cmp.Or(s.put(before), s.put(text), s.put(after)) // after a failure nothing more is written
}

func (l *loader) readResult(m document.Member) error {
	call := jsontext.Text(jsontext.Member(m.Raw(), "call"))
	if l.open[call] == nil {
		return m.Errorf("no call without a result has the id %q", call)
	}
	if jsontext.Kind(jsontext.Member(m.Raw(), "text")) != '"' {
		return m.Errorf("the text of a result is not a string")
	}
	l.places.results[call] = l.at
	return nil
}

// Result is the whole result of a call that was cut, a JSON string literal; nil: the session has none.
func (s *File) Result(call string) ([]byte, error) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.places.results[call]
	if !ok {
		return nil, nil
	}
	line, err := document.ReadLine(s.path, s.f, at.begin, at.length)
	if err != nil {
		return nil, failure.Within(flag, err)
	}
	return jsontext.Member(line.Raw(), "result", "text"), nil
}

// AddTo writes a text, and labels, that were added to the result of a call.
func (s *File) AddTo(call, text string, labels []string) error {
	if s == nil {
		return nil
	}
	value := jsontext.AppendMember([]byte{'{'}, "call", jsontext.Quoted(call))
	value = jsontext.AppendMember(value, "text", jsontext.Quoted(text))
	if len(labels) > 0 {
		value = jsontext.AppendMember(value, "labels", []byte(`["`+strings.Join(labels, `","`)+`"]`))
	}
	line := noteLine("added", append(value, '}'))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.places.added[call] = append(s.places.added[call], place{s.places.size, len(line) - 1})
	return s.write(line)
}

func (l *loader) readAdded(m document.Member) error {
	a, err := readAddition(m)
	if err != nil {
		return err
	}
	i := l.answer(a.call)
	if i < 0 {
		return m.Errorf("no line before this one has a result of the call %q", a.call)
	}
	l.places.added[a.call] = append(l.places.added[a.call], l.at)
	if message := &l.messages[i]; message.Instead == nil {
		a.applyTo(message)
	}
	return nil
}

type addition struct {
	call, text string
	labels     []string
}

func readAddition(m document.Member) (a addition, err error) {
	err = m.ReadKeys(document.Keys("call", &a.call, "text", &a.text, "labels", &a.labels))
	if labels, lerr := approve.ParseLabels(a.labels, approve.Exposed); err == nil && lerr != nil {
		err = m.Errorf(`labels is not a list of "private" and "untrusted"`)
	} else {
		a.labels = labels.Words()
	}
	return a, err
}

func (a *addition) applyTo(m *stream.Message) {
	if len(m.Parts) == 0 || m.Parts[0].JSON == nil {
		m.Parts = slices.Insert(m.Parts, 0, stream.Part{JSON: []byte(`""`)})
	}
	literal := m.Parts[0].JSON
	m.Parts[0].JSON = slices.Concat(literal[:len(literal)-1], jsontext.Quoted(a.text)[1:])
	if len(a.labels) > 0 {
		m.Labels = a.labels
	}
}

// Whole is the i-th message of the conversation with its content. Content that requests leave out
// is read again from the file.
func (s *File) Whole(i int, m *stream.Message) (*stream.Message, error) {
	if s == nil || m.Instead == nil || m.Parts != nil {
		return m, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	places := []place{s.places.others[i]}
	if m.Role == stream.ToolRole {
		places = append([]place{s.places.calls[m.CallID].line}, s.places.added[m.CallID]...)
	}
	whole, err := s.readAgain(places)
	if err != nil {
		return nil, failure.Within(flag, err)
	}
	whole.Failed, whole.Labels = m.Failed, m.Labels
	return whole, nil
}

func (s *File) readAgain(places []place) (*stream.Message, error) {
	var whole stream.Message
	for i, at := range places {
		line, err := document.ReadLine(s.path, s.f, at.begin, at.length)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			whole, err = input.Message(line)
		} else if members := line.Members(); len(members) == 1 {
			var a addition
			a, err = readAddition(members[0])
			a.applyTo(&whole)
		}
		if err != nil {
			return nil, err
		}
	}
	return &whole, nil
}
