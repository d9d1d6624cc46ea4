package turn

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

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
	loop    *Loop
	tools   func() []*toolbox.Tool // that read results; none: no result has a name
	dir     func() (string, error) // with the files
	filled  sync.Once              // the directory has all results with a name
	named   atomic.Bool            // a result has a name, so the tools are offered
	earlier int                    // calls before this run

	mu      sync.Mutex
	counted int            // messages
	calls   int            // in them
	numbers map[string]int // of these calls, by id
}

// newResults begins with the results that an earlier run named.
func newResults(l *Loop) *results {
	s := &results{loop: l, dir: sync.OnceValues(l.plan.files.directory), numbers: map[string]int{}}
	spec := toolbox.Results{Limit: min(l.maxBytes, toolserver.MaxText), List: s.list, Open: s.open}
	if l.plan.Box.RunsCommands() {
		spec.Note = " A command finds the same as $" + confine.ResultsVariable + "/ID."
	}
	s.tools = sync.OnceValue(func() (tools []*toolbox.Tool) {
		l.plan.Locked(func() { tools = l.box.KeptTools(spec) })
		return tools
	})
	for p := range s.all {
		if s.earlier = p.number; p.isPart() {
			s.named.Store(true)
		}
	}
	return s
}

// offer adds the tools that read results to the tools of a request, if a result has a name, or gets
// one now.
func (s *results) offer(offered []stream.Tool, now bool) []stream.Tool {
	if s == nil || !s.named.Load() && !now {
		return offered
	}
	s.named.Store(true)
	return s.loop.box.OfferKept(s.tools(), offered)
}

// A placedResult is a call of the conversation and the message with its result.
type placedResult struct {
	stream.Call
	number  int
	at      int             // index of the message
	message *stream.Message // nil: none
}

// callsOf are the calls of a message, then its command lines as calls without an id.
func (s *results) callsOf(m *stream.Message) []stream.Call {
	calls := slices.Clip(m.Calls)
	if m.Role == stream.Assistant && s.loop.lines.enabled {
		for _, line := range s.loop.commandLines(event.Pieces{TextOf(m)}) {
			calls = append(calls, lineCall("", line))
		}
	}
	return calls
}

func (s *results) all(yield func(placedResult) bool) {
	messages, p := s.loop.Messages(), placedResult{}
	for i := range messages {
		for _, p.Call = range s.callsOf(&messages[i]) {
			p.number++
			p.message = nil
			for p.at = i + 1; p.at < len(messages) && isResult(&messages[p.at]); p.at++ {
				if messages[p.at].CallID == p.ID {
					p.message = &messages[p.at]
					break
				}
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
		if p.message != nil && p.name() == name {
			return p
		}
	}
	return found
}

func (p *placedResult) name() string { return resultName(p.number) }

func resultName(number int) string { return "r" + strconv.Itoa(number) }

// isPart reports whether the model does not have the result whole.
func (p *placedResult) isPart() bool {
	return p.message != nil && (p.message.Instead != nil || p.isCut(p.message))
}

// isCut reports whether a message has only a part of the result; see wire.Cut.
func (p *placedResult) isCut(m *stream.Message) bool {
	mark := " bytes left out here: result " + p.name()
	for _, part := range m.Parts {
		if bytes.Contains(part.JSON, []byte(mark+`\n`)) || strings.Contains(part.Text, mark+"\n") {
			return true
		}
	}
	return false
}

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
	switch {
	case p.message == nil:
		return ""
	case p.isCut(p.message):
		return p.name()
	}
	return s.keep(p.number, literalOf(p.message))
}

// cut keeps the result of a call of the last reply that is about to be cut, and returns its name; ""
// for none.
func (s *results) cut(c *call, literal []byte) string {
	if s == nil || len(s.tools()) == 0 {
		return ""
	}
	number := s.number(c)
	if number == 0 {
		return ""
	}
	return s.keep(number, literal)
}

// number is the number of the result of a call of the last reply; 0: it has none.
func (s *results) number(c *call) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for messages := s.loop.Messages(); s.counted < len(messages); s.counted++ {
		for _, asked := range s.callsOf(&messages[s.counted]) {
			s.calls++
			s.numbers[asked.ID] = s.calls
		}
	}
	if c.line != "" {
		return s.calls - c.after
	}
	return s.numbers[c.ID]
}

// literalOf is the text of a message as a JSON string literal.
func literalOf(m *stream.Message) []byte {
	if len(m.Parts) == 1 && m.Parts[0].JSON != nil {
		return m.Parts[0].JSON
	}
	return jsontext.Quoted(TextOf(m))
}

// keep writes the file of a result that gets a name, and returns the name; "" if it fails.
func (s *results) keep(number int, literal []byte) string {
	files, name := &s.loop.plan.files, resultName(number)
	dir, err := s.dir()
	if err == nil {
		err = files.add(filepath.Join(dir, name), literal[1:len(literal)-1])
	}
	if err != nil {
		files.warned.Do(func() {
			s.loop.emit(&event.Warning{Code: "results_not_kept", Message: "a result that was cut or left out has no name, because it cannot be kept: " + confine.Reason(err).Error()})
		})
		return ""
	}
	s.named.Store(true)
	return name
}

// directory is the directory of the files, for commands; "" if there are none, or if commands in the
// sandbox could change them. The files of results that an earlier run named are made now, except
// results that are denied.
func (s *results) directory(ctx context.Context) string {
	if s == nil || !s.named.Load() || len(s.tools()) == 0 {
		return ""
	}
	s.filled.Do(func() {
		for p := range s.all {
			denied := !p.isPart()
			if !denied {
				s.loop.plan.Locked(func() { _, denied = s.denies(ctx, p) })
			}
			if denied {
				continue
			}
			if f, err := s.open(p.name()); err == nil {
				f.Close()
			}
		}
	})
	dir, err := s.dir()
	if err != nil || s.loop.plan.Box.CommandsWrite(dir) {
		return ""
	}
	return dir
}

// open opens the file of a result. The file of a result that an earlier run named is made of the
// session. The error is fs.ErrNotExist if no one has its text.
func (s *results) open(name string) (*os.File, error) {
	p := s.find(name)
	if p.message == nil {
		return nil, fmt.Errorf("no result has the name %.40q; without an id, the results are listed", name)
	}
	dir, err := s.dir()
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, name)
	if f, err := os.Open(path); !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	literal, err := s.loop.session.Result(p.ID)
	if literal == nil && err == nil {
		var m *stream.Message
		if m, err = s.loop.session.Whole(p.at, p.message); err == nil && (m.Parts == nil || p.isCut(m)) {
			err = fs.ErrNotExist
		}
		if err == nil {
			literal = literalOf(m)
		}
	}
	if err != nil {
		return nil, err
	}
	s.keep(p.number, literal)
	return os.Open(path)
}

// list is a line for each result with a name.
func (s *results) list() (lines []byte) {
	const most = 200 // bytes of arguments
	for p := range s.all {
		if p.isPart() {
			lines = fmt.Appendf(lines, "%s %s %s\n", p.name(), p.Name, readable.Cut(strings.Join(strings.Fields(string(p.Arguments)), " "), most, "…"))
		}
	}
	return lines
}

// read is the result that a call of a tool of KeptTools reads. If such a tool made it, it is the one
// that this tool read.
func (s *results) read(c *call) (p placedResult) {
	for args := c.args; ; args = p.Arguments {
		next := s.find(jsontext.Text(jsontext.Member(args, "id")))
		if next.message == nil || p.message != nil && next.number >= p.number {
			return placedResult{}
		}
		p = next
		if t := s.loop.box.Tool(p.Name); t == nil || !t.Kept {
			return p
		}
	}
}

// labels are the labels of the result that c reads.
func (s *results) labels(c *call) (labels approve.Labels) {
	if !c.tool.Kept {
		return 0
	}
	p := s.read(c)
	if p.message != nil {
		labels, _ = approve.ParseLabels(p.message.Labels, approve.Exposed)
	}
	if t := s.loop.box.Tool(p.Name); t != nil {
		labels |= t.Labels & approve.Exposed
	}
	return labels
}
