package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"toolpipe/approve"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/run/event"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// A model does not have a result whole if the result was cut, or if requests leave it out. Such a
// result has a name: r12 is the result of the twelfth call of the conversation, also in a later run
// of its session. By its name the model reads it with the tools of the server results, and commands
// read it as a file.

// results are the results of one conversation. The methods may be called on nil, where no result
// has a name.
type results struct {
	loop  *Loop
	tools func() []*toolbox.Tool // that read results; none: no result has a name

	earlier int                           // calls before this run
	counted struct{ messages, calls int } // the calls of the first messages

	filled sync.Once // the directory has all results with a name
	mu     sync.Mutex
	dir    string // with the files; "" before the first one
	named  bool   // a result has a name, so the tools are offered
}

// newResults begins with the results that an earlier run named.
func newResults(l *Loop) *results {
	s := &results{loop: l}
	spec := toolbox.Results{Limit: min(l.maxBytes, toolserver.MaxText), List: s.list, Open: s.open}
	if l.plan.Box.RunsCommands() {
		spec.Note = " A command finds the same as $" + confine.ResultsVariable + "/ID."
	}
	s.tools = sync.OnceValue(func() (tools []*toolbox.Tool) {
		l.plan.Locked(func() { tools = l.box.KeptTools(spec) })
		return tools
	})
	for p := range s.all {
		s.earlier = p.number
	}
	s.named = slices.ContainsFunc(l.Messages(), func(m stream.Message) bool {
		return isResult(&m) && (m.Instead != nil || bytes.Contains(textOf(&m), []byte(cutMark)))
	})
	return s
}

// cutMark is the end of the line in a result that was cut, before its name; see wire.Cut.
const cutMark = " bytes left out here: result r"

// offer adds the tools that read results to the tools of a request, if a result has a name, or gets
// one now.
func (s *results) offer(offered []stream.Tool, now bool) []stream.Tool {
	if s == nil || !s.named && !now {
		return offered
	}
	s.named = true
	return s.loop.box.OfferKept(s.tools(), offered)
}

// count gives the calls of the last reply, or some of them, the numbers of their results.
func (s *results) count(calls []*call) {
	if s == nil {
		return
	}
	messages := s.loop.Messages()
	last := len(messages) - 1
	for last >= 0 && messages[last].Role != stream.Assistant {
		last--
	}
	if last < 0 {
		return
	}
	if s.counted.messages > last {
		s.counted.messages, s.counted.calls = 0, 0
	}
	for ; s.counted.messages < last; s.counted.messages++ {
		s.counted.calls += len(s.callsOf(&messages[s.counted.messages]))
	}
	asked := messages[last].Calls
	lines := s.counted.calls + len(asked)
	for _, c := range calls {
		if c.line != "" {
			lines++
			c.result = lines
		} else if i := slices.IndexFunc(asked, func(a stream.Call) bool { return a.ID == c.ID }); i >= 0 {
			c.result = s.counted.calls + i + 1
		}
	}
}

// callsOf are the calls of a message, then its command lines as calls without an id.
func (s *results) callsOf(m *stream.Message) []stream.Call {
	if m.Role != stream.Assistant || !s.loop.lines.enabled {
		return m.Calls
	}
	calls := slices.Clone(m.Calls)
	for _, line := range s.loop.commandLines(event.Pieces{TextOf(m)}) {
		calls = append(calls, lineCall("", line))
	}
	return calls
}

// A placedResult is a call of the conversation and the message with its result.
type placedResult struct {
	stream.Call
	number  int
	at      int             // index of the message
	message *stream.Message // nil: none
}

func (s *results) all(yield func(placedResult) bool) {
	messages, number := s.loop.Messages(), 0
	for i := range messages {
		m, end := &messages[i], i+1
		calls := s.callsOf(m)
		for len(calls) > 0 && end < len(messages) && isResult(&messages[end]) {
			end++
		}
		for _, c := range calls {
			number++
			p := placedResult{Call: c, number: number}
			if at := slices.IndexFunc(messages[i+1:end], func(m stream.Message) bool { return m.CallID == c.ID }); at >= 0 {
				p.at = i + 1 + at
				p.message = &messages[p.at]
			}
			if !yield(p) {
				return
			}
		}
	}
}

// find finds a result by its name.
func (s *results) find(name string) (found placedResult) {
	for p := range s.all {
		if p.name() == name {
			return p
		}
	}
	return found
}

func (p placedResult) name() string { return resultName(p.number) }

func resultName(number int) string { return "r" + strconv.Itoa(number) }

// placed are the results by the index of their message. If several command lines have the same
// message, it is the first one.
func (s *results) placed() map[int]placedResult {
	placed := map[int]placedResult{}
	if s == nil || len(s.tools()) == 0 {
		return placed
	}
	for p := range s.all {
		if p.message != nil && placed[p.at].message == nil {
			placed[p.at] = p
		}
	}
	return placed
}

// leave keeps a result that requests leave out from now on, and returns its name; "" for none. The
// whole text of a result that was cut is kept already.
func (s *results) leave(p placedResult) string {
	if p.message == nil || !p.isCut() && s.keep(p.number, textOf(p.message)) != nil {
		return ""
	}
	return p.name()
}

// cut keeps a result, a JSON string literal, that is about to be cut, and returns its name; "" for
// none.
func (s *results) cut(c *call, whole []byte) string {
	if s == nil || c.result == 0 || len(s.tools()) == 0 || s.keep(c.result, jsontext.Unescape(whole[1:len(whole)-1])) != nil {
		return ""
	}
	return resultName(c.result)
}

// keep writes the file of a result that gets a name.
func (s *results) keep(number int, text []byte) error {
	path, err := s.path(number)
	if err == nil {
		err = s.loop.plan.files.add(path, indented(text))
	}
	s.mu.Lock()
	s.named = s.named || err == nil
	s.mu.Unlock()
	if err != nil {
		s.loop.plan.files.warned.Do(func() {
			s.loop.emit(&event.Warning{Code: "results_not_kept", Message: "a result that was cut or left out has no name, because it cannot be kept: " + confine.Reason(err).Error()})
		})
	}
	return err
}

// indented indents structured content. It is the last line of the text, and the longest part.
func indented(text []byte) []byte {
	at := bytes.LastIndexByte(text, '\n') + 1
	var out bytes.Buffer
	if kind := jsontext.Kind(text[at:]); kind != '{' && kind != '[' || at > len(text)/2 {
		return text
	}
	out.Write(text[:at])
	if json.Indent(&out, text[at:], "", "  ") != nil {
		return text
	}
	return out.Bytes()
}

func (s *results) path(number int) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		dir, err := s.loop.plan.files.directory()
		if err != nil {
			return "", err
		}
		s.dir = dir
	}
	return filepath.Join(s.dir, resultName(number)), nil
}

// directory is the directory of the files, for commands; "" if there are none, or if commands in the
// sandbox could change them. The files of results that an earlier run named are made now.
func (s *results) directory() string {
	if s == nil || !s.named || len(s.tools()) == 0 {
		return ""
	}
	s.filled.Do(func() {
		for p := range s.withName {
			if f, _, err := s.open(p.name()); err == nil && f != nil {
				f.Close()
			}
		}
	})
	path, err := s.path(0)
	if dir := filepath.Dir(path); err == nil && !s.loop.plan.Box.CommandsWrite(dir) {
		return dir
	}
	return ""
}

// open opens the file of a result. The file of a result that an earlier run named is made of the
// session.
func (s *results) open(name string) (f *os.File, instead string, err error) {
	p := s.find(name)
	if p.message == nil {
		return nil, "", fmt.Errorf("no result has the name %.40q; without an id, the results are listed", name)
	}
	path, err := s.path(p.number)
	if err != nil {
		return nil, "", err
	}
	if f, err = os.Open(path); !errors.Is(err, fs.ErrNotExist) {
		return f, "", err
	}
	text, err := s.text(p)
	if text != nil && err == nil {
		if err = s.keep(p.number, text); err == nil {
			f, err = os.Open(path)
		}
	}
	if text == nil && err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil, Prefix + name + " is no longer kept", nil
	}
	return f, "", err
}

// text is the whole text of a result from the session, or from the conversation if it has it; nil:
// neither has it.
func (s *results) text(p placedResult) ([]byte, error) {
	if whole, err := s.loop.session.Result(p.ID); whole != nil || err != nil {
		return whole, err
	}
	m, err := s.loop.session.Whole(p.at, p.message)
	if err != nil || m.Parts == nil {
		return nil, err
	}
	if p.message = m; p.isCut() {
		return nil, nil
	}
	return textOf(m), nil
}

// textOf is the text of a message without pictures; not nil.
func textOf(m *stream.Message) []byte {
	text := []byte{}
	for _, p := range m.Parts {
		if text = append(text, p.Text...); len(p.JSON) > 1 {
			text = append(text, jsontext.Unescape(p.JSON[1:len(p.JSON)-1])...)
		}
	}
	return text
}

// list is a line for each result with a name.
func (s *results) list() (lines []byte) {
	const most = 200 // bytes of arguments
	for p := range s.withName {
		lines = fmt.Appendf(lines, "%s %s %s\n", p.name(), p.Name, readable.Cut(strings.Join(strings.Fields(string(p.Arguments)), " "), most, "…"))
	}
	return lines
}

func (s *results) withName(yield func(placedResult) bool) {
	for p := range s.all {
		if p.message != nil && (p.message.Instead != nil || p.isCut()) && !yield(p) {
			return
		}
	}
}

// isCut reports whether the message has only a part of the result.
func (p placedResult) isCut() bool {
	return bytes.Contains(textOf(p.message), []byte(cutMark+strconv.Itoa(p.number)+"\n"))
}

// read is the result that a call of a tool of KeptTools reads. If the tool itself made this result,
// it is the one that it read.
func (s *results) read(c *stream.Call) (p placedResult) {
	for call := c; ; call = &p.Call {
		if t := s.loop.box.Tool(call.Name); t == nil || !t.Kept {
			return p
		}
		next := s.find(jsontext.Text(jsontext.Member(call.Arguments, "id")))
		if next.message == nil || p.number > 0 && next.number >= p.number {
			return placedResult{}
		}
		p = next
	}
}

// labels are the labels of the result that c reads.
func (s *results) labels(c *call) (labels approve.Labels) {
	if !c.tool.Kept {
		return 0
	}
	p := s.read(&c.Call)
	if p.message != nil {
		labels, _ = approve.ParseLabels(p.message.Labels, approve.Exposed)
	}
	if t := s.loop.box.Tool(p.Name); t != nil {
		labels |= t.Labels & approve.Exposed
	}
	return labels
}
