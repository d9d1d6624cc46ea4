package event

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"toolpipe/run/failure"
	"toolpipe/stream"
	"toolpipe/stream/escape"
)

// The output rules:
//
//	stdout   the answer or the events, and nothing else
//	stderr   everything else: diagnostics, the live line, tool frames
//	terminal questions, and only those (package approve)
//
// An output is a function from events to bytes. Each takes every event, in
// order, from one goroutine at a time; flush is called when the next event
// may be long in coming.
type Output interface {
	Event(Event) error
	Flush() error
}

// Emitter hands each event to all outputs. Its methods may be called
// concurrently. Events before start are kept back, so that start is the first.
type Emitter struct {
	mu      sync.Mutex
	Outs    []Output
	Veil    Veil
	early   []Event
	Started bool
	ended   bool
	err     error // of the first failed write to stdout or the log
}

func (m *Emitter) Emit(e Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e.(type) {
	case *Start:
		m.Started = true
		m.send(e)
		for _, e := range m.early {
			m.send(e)
		}
		m.early = nil
		return m.err
	case *End:
		m.ended = true
	default:
		if m.ended {
			return m.err
		}
	}
	if !m.Started {
		m.early = append(m.early, e)
		return m.err
	}
	m.send(e)
	return m.err
}

func (m *Emitter) send(e Event) { m.Veil.pass(e, m.deliver) }

func (m *Emitter) deliver(e Event) {
	for _, o := range m.Outs {
		if end, ok := e.(*End); ok && m.err != nil { // the log, which comes last, says what the exit status will say
			e = end.Failed(m.err)
		}
		if err := o.Event(e); err != nil && m.err == nil {
			m.err = err
		}
	}
}

// Failed is the end of a run that lost output: that decides its status, unless
// a signal does.
func (e *End) Failed(err error) *End {
	if e.Status == failure.StatusOutput || e.Status == failure.StatusInterrupted {
		return e
	}
	f := *e
	f.Err = failure.Of(err)
	f.Status, f.Exit = f.Err.Status, f.Err.Exit()
	return &f
}

// Flush writes out what is buffered: called before a wait.
func (m *Emitter) Flush() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.Outs {
		if err := o.Flush(); err != nil && m.err == nil {
			m.err = err
		}
	}
	return m.err
}

// Writer is a buffered writer that names its target in errors and stops at
// the first one: nothing is written after a lost byte.
type Writer struct {
	*bufio.Writer
	what string
	err  error
}

func NewWriter(w io.Writer, what string) *Writer {
	return &Writer{Writer: bufio.NewWriterSize(w, 64<<10), what: what}
}

func (w *Writer) fail(err error) error {
	switch {
	case err == nil || w.err != nil:
	case failure.IsCancelled(err): // nobody reads, and the run is over: not for want of a place to write
		w.err = failure.Of(err)
	default:
		w.err = failure.Output(w.what, err)
	}
	return w.err
}

func (w *Writer) WriteAll(p []byte) error {
	if w.err != nil {
		return w.err
	}
	_, err := w.Write(p)
	return w.fail(err)
}

func (w *Writer) Finish() error {
	if w.err != nil || w.Buffered() == 0 {
		return w.err
	}
	return w.fail(w.Flush())
}

// NDJSONOutput writes one event a line.
type NDJSONOutput struct {
	W       *Writer
	scratch []byte
}

func (o *NDJSONOutput) Event(e Event) error {
	if o.W.err != nil { // a write that was left behind may still read the scratch
		return o.W.err
	}
	o.scratch = append(e.appendJSON(o.scratch[:0]), '\n')
	err := o.W.WriteAll(o.scratch)
	if cap(o.scratch) > 1<<20 {
		o.scratch = nil
	}
	switch e.(type) {
	case *Text, *Reasoning: // flushed when the stream pauses
		return err
	}
	if err == nil {
		err = o.W.Finish()
	}
	return err
}

func (o *NDJSONOutput) Flush() error { return o.W.Finish() }

// JSONOutput writes the end event, and what a list printed as its items.
type JSONOutput struct {
	W     *Writer
	items []Event
}

func (o *JSONOutput) Event(e Event) error {
	switch e := e.(type) {
	case *Tool, *Server, *Item, *Explanation:
		o.items = append(o.items, e)
	case *End:
		e.Items = o.items
		if err := o.W.WriteAll(append(e.appendJSON(nil), '\n')); err != nil {
			return err
		}
		return o.W.Finish()
	}
	return nil
}

func (o *JSONOutput) Flush() error { return nil }

// TextOutput writes the answer: at once when it streams, else the end event's
// text, and that only when it is an answer. A newline is added at the end of
// a text that has none.
type TextOutput struct {
	W        *Writer
	Stream   bool // text is written as it comes
	Terminal bool // what is written must be safe for a terminal
	last     byte // last byte written of the current turn
	scratch  []byte
}

func (o *TextOutput) Event(e Event) error {
	switch e := e.(type) {
	case *Text:
		if o.Stream {
			return o.text(e.Text)
		}
	case *Turn:
		if o.Stream { // what follows, another turn or a frame, has its own line
			return o.newline()
		}
	case *End:
		if !o.Stream && e.isAnswer() {
			if err := o.text(e.Text); err != nil {
				return err
			}
		}
		if err := o.newline(); err != nil {
			return err
		}
		return o.W.Finish()
	}
	return nil
}

// isAnswer tells whether the last turn's text was the whole of what the model
// had to say, or all that its length limit left.
func (e *End) isAnswer() bool {
	return e.Status == failure.StatusOK || e.Status == failure.StatusTool || e.Err != nil && errors.Is(e.Err, failure.ErrLength)
}

func (o *TextOutput) newline() error {
	if o.last == 0 || o.last == '\n' {
		return nil
	}
	o.last = 0
	return o.W.WriteAll([]byte{'\n'})
}

func (o *TextOutput) text(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	o.last = p[len(p)-1]
	if o.Terminal {
		o.scratch = AppendLines(o.scratch[:0], p)
		p = o.scratch
	}
	return o.W.WriteAll(p)
}

func (o *TextOutput) Flush() error { return o.W.Finish() }

// AppendLines appends text for a terminal: lines and tabs stay, everything
// that could steer the terminal is made visible. One joiner or emoji selector
// behind another character stays too: it is part of what that looks like. A
// piece may begin with one, its character being at the end of the last.
func AppendLines(dst, p []byte) []byte {
	for start := 0; start < len(p); {
		i := start
		for i < len(p) && (p[i] == '\n' || p[i] == '\t' || p[i] >= ' ' && p[i] < 0x7f) {
			i++
		}
		dst = append(dst, p[start:i]...)
		if i == len(p) {
			break
		}
		r, size := utf8.DecodeRune(p[i:])
		if joins(r) {
			if before, _ := utf8.DecodeLastRune(p[:i]); i == 0 || before > ' ' && !joins(before) {
				dst, start = append(dst, p[i:i+size]...), i+size
				continue
			}
		}
		if r == utf8.RuneError && size == 1 || escape.Unsafe(r) {
			dst = escape.AppendEscaped(dst, string(p[i:i+size]))
		} else {
			dst = append(dst, p[i:i+size]...)
		}
		start = i + size
	}
	return dst
}

// joins tells whether r only changes how its neighbours look: the selectors of
// text and emoji style, the zero-width joiner.
func joins(r rune) bool { return r == 0xfe0e || r == 0xfe0f || r == 0x200d }

// MessagesOutput writes the whole conversation as a message array, one
// message a line, also when the run stopped early, so that it can be looked
// at, changed and resumed. Nothing is written when there is no conversation.
type MessagesOutput struct {
	W            *Writer
	Conversation func() []stream.Message
}

func (o *MessagesOutput) Event(e Event) error {
	if _, ok := e.(*End); !ok {
		return nil
	}
	msgs := o.Conversation()
	if msgs == nil {
		return nil
	}
	var b []byte
	for i := range msgs {
		b = append(b[:0], "[\n"...)
		if i > 0 {
			b = append(b[:0], ",\n"...)
		}
		if err := o.W.WriteAll(AppendJSON(b, stream.AppendChatMessage(nil, &msgs[i]))); err != nil {
			return err
		}
	}
	if err := o.W.WriteAll([]byte("\n]\n")); err != nil {
		return err
	}
	return o.W.Finish()
}

func (o *MessagesOutput) Flush() error { return nil }
