package event

import (
	"bufio"
	"cmp"
	"io"
	"sync"

	"toolpipe/run/failure"
	"toolpipe/stream/text/secrets"
)

// Output is a function from events to bytes. It gets every event, in order, from one goroutine at a
// time. Flush is called when the next event may take long.
//
// Standard output gets only the answer or the events. Standard error gets messages, the live line
// and the frames of calls. The terminal device gets only questions.
type Output interface {
	Event(Event) error
	Flush() error
}

// Emitter passes each event to all outputs, without secrets. Events before Start are delayed, so
// that Start is the first. Its methods may be called concurrently.
type Emitter struct {
	Outs     []Output // set before the first event
	Timeless bool     // events have no times; set before the first event

	mu      sync.Mutex
	veil    veil
	early   []Event // events before Start
	started bool
	ended   bool
	err     error // the first failed write to stdout or the log
}

func NewEmitter(hidden *secrets.Set) *Emitter {
	return &Emitter{veil: veil{set: hidden, nested: map[ID]*veil{}}}
}

// Emit returns the first error of any output so far. A caller that emits many events may ignore it:
// Flush and the next Emit return it again. A second Start is ignored.
func (m *Emitter) Emit(e Event) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, first := e.(*Start)
	_, last := e.(*End)
	switch {
	case m.ended, first && m.started:
	case !first && !m.started:
		m.early = append(m.early, e)
	default:
		m.started, m.ended = true, last
		m.send(e)
		for _, e := range m.early {
			m.send(e)
		}
		m.early = nil
	}
	return m.err
}

func (m *Emitter) send(e Event) {
	if m.Timeless {
		dropTimes(e)
	}
	m.veil.pass(e, m.deliver)
}

// dropTimes removes what differs between two runs that do the same.
func dropTimes(e Event) {
	switch e := e.(type) {
	case *Nested:
		dropTimes(e.Event)
	case *Start:
		e.Identity.Time = ""
	case *Result:
		e.Took = Took{}
	case *Turn:
		e.Time = 0
	case *End:
		e.Time = 0
	}
}

func (m *Emitter) deliver(e Event) {
	for _, o := range m.Outs {
		if end, ok := e.(*End); ok && m.err != nil { // the log comes last and must report the final exit status
			e = end.WithOutputError(m.err)
		}
		m.err = cmp.Or(m.err, o.Event(e))
	}
}

func (m *Emitter) Flush() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.Outs {
		m.err = cmp.Or(m.err, o.Flush())
	}
	return m.err
}

// WithOutputError returns the end of a run that lost output: err decides the status, except after a
// signal.
func (e *End) WithOutputError(err error) *End {
	if e.Status == failure.StatusOutput || e.Status == failure.StatusInterrupted {
		return e
	}
	f := *e
	f.Err = failure.Of(err)
	f.Status, f.Exit = f.Err.Status, f.Err.Exit()
	return &f
}

// Writer is a buffered writer that names its target in errors and stops at the first error. Nothing
// is written after a lost byte. Every further write or flush returns the same error, as with
// bufio.Writer.
type Writer struct {
	buffer *bufio.Writer
	what   string
}

func NewWriter(w io.Writer, what string) *Writer {
	return &Writer{buffer: bufio.NewWriterSize(w, 64<<10), what: what}
}

func (w *Writer) named(err error) error {
	switch {
	case err == nil:
		return nil
	case failure.IsCancelled(err): // the reader has stopped reading and the run is over: the target is not to blame
		return failure.Of(err)
	}
	return failure.Output(w.what, err)
}

func (w *Writer) write(p []byte) error {
	_, err := w.buffer.Write(p)
	return w.named(err)
}

// writeLine writes a line. It first flushes the buffer if the line does not fit, so that each write
// to the file consists of complete lines: several processes may append to one log.
func (w *Writer) writeLine(p []byte) error {
	if w.buffer.Available() < len(p) {
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return w.write(p)
}

func (w *Writer) Flush() error { return w.named(w.buffer.Flush()) }
