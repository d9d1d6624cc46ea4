package mcp

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// streamConn is the conn over a Transport. It numbers the requests and passes replies to the
// calls that wait for them. A goroutine reads until the transport ends, so that pings are
// answered and the pipe never fills up.
type streamConn struct {
	t       wire.Transport
	owner   *Session
	answers wire.Responder // to requests of the server

	mu      sync.Mutex
	next    int64 // ids count from 1 and are never used again
	waiting map[int64]*call
	cause   error // why the transport ended; nil while it has not

	closing atomic.Bool
	ended   chan struct{} // closed when the reader is done
}

type call struct {
	id       int64
	reply    chan reply // one element, so that the reader never waits
	progress func(params []byte)
	listens  bool // it stays open: a reply without an id does not belong to it
}

type reply struct {
	result []byte
	err    error
}

func newStreamConn(t wire.Transport, s *Session) *streamConn {
	m := &streamConn{t: t, owner: s, waiting: make(map[int64]*call), ended: make(chan struct{})}
	m.answers = wire.Responder{Life: context.Background(), Send: m.postMessage, Start: goroutine.Start, Full: s.onResponsesDropped}
	goroutine.Start(m.read)
	return m
}

func (m *streamConn) exchange(ctx context.Context, r *wire.Request) ([]byte, error) {
	c := &call{reply: make(chan reply, 1), progress: r.Progress, listens: r.Method == listenMethod}
	m.mu.Lock()
	if m.cause != nil {
		defer m.mu.Unlock()
		return nil, &wire.NoReplyError{Cause: m.cause}
	}
	m.next++
	c.id = m.next
	m.waiting[c.id] = c
	m.mu.Unlock()

	if err := m.postMessage(ctx, r.Message(c.id)); err != nil {
		m.take(c.id)
		return nil, &wire.NoReplyError{Sent: !errors.Is(err, wire.ErrNotSent), Cause: m.sendFailure(ctx, err)}
	}
	return m.await(ctx, c, r.Opening)
}

func (m *streamConn) postMessage(ctx context.Context, msg []byte) error {
	m.owner.report.message('>', msg)
	return m.t.Send(ctx, msg)
}

// sendFailure is the reason why sending failed. The reader's error describes how the server
// ended; err only reports a broken pipe.
func (m *streamConn) sendFailure(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if goroutine.Await(m.ended, process.WaitDelay) {
		return m.lost()
	}
	return err
}

// await waits for the reply. If ctx ends first, it cancels the request, except an opening
// one: initialize must not be cancelled, and a server that does not answer the probe would
// not know what is cancelled.
func (m *streamConn) await(ctx context.Context, c *call, opening bool) ([]byte, error) {
	select {
	case r := <-c.reply:
		return r.result, r.err
	case <-ctx.Done():
	}
	m.take(c.id)
	select {
	case r := <-c.reply: // both were ready
		return r.result, r.err
	default:
	}
	if !opening {
		short, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		m.postMessage(short, wire.CancelledNotification(c.id))
	}
	return nil, &wire.NoReplyError{Sent: true, Cause: context.Cause(ctx)}
}

func (m *streamConn) read() {
	defer close(m.ended)
	for {
		frame, err := m.t.Receive()
		if large, ok := errors.AsType[*wire.FrameTooLarge](err); ok && m.skipped(large) {
			continue
		}
		if err != nil {
			m.end(err)
			return
		}
		m.owner.report.message('<', frame)
		if err := wire.ParseMessages(frame, m.dispatch); err != nil {
			m.garbled(frame, err)
		}
	}
}

func (m *streamConn) dispatch(msg wire.Message) {
	if !msg.IsReply() {
		m.owner.received(msg, m.answers.Respond, m.progress)
	} else if c := m.take(wire.ReplyID(msg.ID)); c != nil {
		result, err := msg.Result()
		c.reply <- reply{result, err}
	}
}

// garbled handles a frame that is not JSON. If the beginning of the frame names a request,
// that request fails.
func (m *streamConn) garbled(frame []byte, err error) {
	m.owner.garbled(frame)
	begin, _ := wire.ParseMessage(frame)
	id := wire.ReplyID(begin.ID)
	if id == 0 {
		return
	}
	if c := m.take(id); c != nil {
		c.reply <- reply{err: &wire.NoReplyError{Sent: true, Cause: &statusError{body: frame, unreadable: err}}}
	}
}

// skipped fails the call with a reply that was too large, and reports whether there is one:
// an unknown call would wait for ever.
func (m *streamConn) skipped(large *wire.FrameTooLarge) bool {
	c := m.take(wire.ReplyID(large.ID))
	if c == nil {
		return false
	}
	m.owner.report.log(large.Error() + " was skipped")
	c.reply <- reply{err: &wire.NoReplyError{Sent: true, Cause: large}}
	return true
}

// take removes the call with that id. The id 0 means that the reply names none; then take
// removes the only call.
func (m *streamConn) take(id int64) *call {
	m.mu.Lock()
	defer m.mu.Unlock()
	if id == 0 {
		id = m.onlyOne()
	}
	c := m.waiting[id]
	delete(m.waiting, id)
	return c
}

// onlyOne is the id of the only call that waits for a reply; 0 if there are more, or none.
func (m *streamConn) onlyOne() (only int64) {
	for id, c := range m.waiting {
		switch {
		case c.listens:
		case only != 0:
			return 0
		default:
			only = id
		}
	}
	return only
}

func (m *streamConn) progress(params []byte) {
	id := wire.ReplyID(jsontext.Member(params, "progressToken"))
	m.mu.Lock()
	c := m.waiting[id]
	m.mu.Unlock()
	if c != nil && c.progress != nil {
		c.progress(params)
	}
}

// end fails the waiting calls, and reports the loss unless close was called.
func (m *streamConn) end(err error) {
	if err == io.EOF {
		err = wire.ErrGone
	}
	if child := m.owner.child; child != nil && !m.closing.Load() {
		err = child.describeEnd(err)
	}
	m.mu.Lock()
	m.cause = err
	waiting := m.waiting
	m.waiting = nil
	m.mu.Unlock()
	if !m.closing.Load() {
		m.owner.onLost(err)
	}
	for _, c := range waiting {
		c.reply <- reply{err: &wire.NoReplyError{Sent: true, Cause: err}}
	}
}

func (m *streamConn) lost() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.cause
}

func (m *streamConn) close() {
	m.closing.Store(true)
	m.t.Close()
	<-m.ended
}
