package run

import (
	"bufio"
	"errors"
	"io"
	"sync"
	"unicode/utf8"

	"toolpipe/approve"
	"toolpipe/stream"
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
type output interface {
	event(Event) error
	flush() error
}

// emitter hands each event to all outputs. Its methods may be called
// concurrently. Events before start are kept back, so that start is the first.
type emitter struct {
	mu      sync.Mutex
	outs    []output
	veil    veil
	early   []Event
	started bool
	ended   bool
	err     error // of the first failed write to stdout or the log
}

func (m *emitter) emit(e Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch e.(type) {
	case *StartEvent:
		m.started = true
		m.send(e)
		for _, e := range m.early {
			m.send(e)
		}
		m.early = nil
		return m.err
	case *EndEvent:
		m.ended = true
	default:
		if m.ended {
			return m.err
		}
	}
	if !m.started {
		m.early = append(m.early, e)
		return m.err
	}
	m.send(e)
	return m.err
}

func (m *emitter) send(e Event) { m.veil.pass(e, m.deliver) }

func (m *emitter) deliver(e Event) {
	for _, o := range m.outs {
		if end, ok := e.(*EndEvent); ok && m.err != nil { // the log, which comes last, says what the exit status will say
			e = end.failed(m.err)
		}
		if err := o.event(e); err != nil && m.err == nil {
			m.err = err
		}
	}
}

// failed is the end of a run that lost output: that decides its status, unless
// a signal does.
func (e *EndEvent) failed(err error) *EndEvent {
	if e.Status == StatusOutput || e.Status == StatusInterrupted {
		return e
	}
	f := *e
	f.Err = asError(err)
	f.Status, f.Exit = f.Err.Status, f.Err.Exit()
	return &f
}

// flush writes out what is buffered: called before a wait.
func (m *emitter) flush() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.outs {
		if err := o.flush(); err != nil && m.err == nil {
			m.err = err
		}
	}
	return m.err
}

// writer is a buffered writer that names its target in errors and stops at
// the first one: nothing is written after a lost byte.
type writer struct {
	*bufio.Writer
	what string
	err  error
}

func newWriter(w io.Writer, what string) *writer {
	return &writer{Writer: bufio.NewWriterSize(w, 64<<10), what: what}
}

func (w *writer) fail(err error) error {
	switch {
	case err == nil || w.err != nil:
	case cancelled(err): // nobody reads, and the run is over: not for want of a place to write
		w.err = asError(err)
	default:
		w.err = outputError(w.what, err)
	}
	return w.err
}

func (w *writer) write(p []byte) error {
	if w.err != nil {
		return w.err
	}
	_, err := w.Write(p)
	return w.fail(err)
}

func (w *writer) flush() error {
	if w.err != nil || w.Buffered() == 0 {
		return w.err
	}
	return w.fail(w.Flush())
}

// ndjsonOutput writes one event a line.
type ndjsonOutput struct {
	w       *writer
	scratch []byte
}

func (o *ndjsonOutput) event(e Event) error {
	if o.w.err != nil { // a write that was left behind may still read the scratch
		return o.w.err
	}
	o.scratch = append(e.appendJSON(o.scratch[:0]), '\n')
	err := o.w.write(o.scratch)
	if cap(o.scratch) > 1<<20 {
		o.scratch = nil
	}
	switch e.(type) {
	case *TextEvent, *ReasoningEvent: // flushed when the stream pauses
		return err
	}
	if err == nil {
		err = o.w.flush()
	}
	return err
}

func (o *ndjsonOutput) flush() error { return o.w.flush() }

// jsonOutput writes the end event, and what a list printed as its items.
type jsonOutput struct {
	w     *writer
	items []Event
}

func (o *jsonOutput) event(e Event) error {
	switch e := e.(type) {
	case *ToolEvent, *ListedServerEvent, *ItemEvent, *ExplanationEvent:
		o.items = append(o.items, e)
	case *EndEvent:
		e.Items = o.items
		if err := o.w.write(append(e.appendJSON(nil), '\n')); err != nil {
			return err
		}
		return o.w.flush()
	}
	return nil
}

func (o *jsonOutput) flush() error { return nil }

// textOutput writes the answer: at once when it streams, else the end event's
// text, and that only when it is an answer. A newline is added at the end of
// a text that has none.
type textOutput struct {
	w        *writer
	stream   bool // text is written as it comes
	terminal bool // what is written must be safe for a terminal
	last     byte // last byte written of the current turn
	scratch  []byte
}

func (o *textOutput) event(e Event) error {
	switch e := e.(type) {
	case *TextEvent:
		if o.stream {
			return o.text(e.Text)
		}
	case *TurnEvent:
		if o.stream { // what follows, another turn or a frame, has its own line
			return o.newline()
		}
	case *EndEvent:
		if !o.stream && e.isAnswer() {
			if err := o.text(e.Text); err != nil {
				return err
			}
		}
		if err := o.newline(); err != nil {
			return err
		}
		return o.w.flush()
	}
	return nil
}

// isAnswer tells whether the last turn's text was the whole of what the model
// had to say, or all that its length limit left.
func (e *EndEvent) isAnswer() bool {
	return e.Status == StatusOK || e.Status == StatusTool || e.Err != nil && errors.Is(e.Err, errLength)
}

func (o *textOutput) newline() error {
	if o.last == 0 || o.last == '\n' {
		return nil
	}
	o.last = 0
	return o.w.write([]byte{'\n'})
}

func (o *textOutput) text(p []byte) error {
	if len(p) == 0 {
		return nil
	}
	o.last = p[len(p)-1]
	if o.terminal {
		o.scratch = appendLines(o.scratch[:0], p)
		p = o.scratch
	}
	return o.w.write(p)
}

func (o *textOutput) flush() error { return o.w.flush() }

// appendLines appends text for a terminal: lines and tabs stay, everything
// that could steer the terminal is made visible. One joiner or emoji selector
// behind another character stays too: it is part of what that looks like. A
// piece may begin with one, its character being at the end of the last.
func appendLines(dst, p []byte) []byte {
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
		if r == utf8.RuneError && size == 1 || approve.Unsafe(r) {
			dst = approve.AppendEscaped(dst, string(p[i:i+size]))
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

// messagesOutput writes the whole conversation as a message array, one
// message a line, also when the run stopped early, so that it can be looked
// at, changed and resumed. Nothing is written when there is no conversation.
type messagesOutput struct {
	w            *writer
	conversation func() []stream.Message
}

func (o *messagesOutput) event(e Event) error {
	if _, ok := e.(*EndEvent); !ok {
		return nil
	}
	msgs := o.conversation()
	if msgs == nil {
		return nil
	}
	var b []byte
	for i := range msgs {
		b = append(b[:0], "[\n"...)
		if i > 0 {
			b = append(b[:0], ",\n"...)
		}
		if err := o.w.write(appendJSON(b, stream.AppendChatMessage(nil, &msgs[i]))); err != nil {
			return err
		}
	}
	if err := o.w.write([]byte("\n]\n")); err != nil {
		return err
	}
	return o.w.flush()
}

func (o *messagesOutput) flush() error { return nil }
