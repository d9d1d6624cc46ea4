// Package task waits for the result of a task: a server answers a tool call at once with a
// handle, and the client uses the handle to ask for the result. This is the extension
// io.modelcontextprotocol/tasks (SEP-2663) of the Model Context Protocol, or its experimental
// form in the revision 2025-11-25. In that form a separate request brings the result and the
// task's questions.
//
// A handle is the id of a task. A poll asks for its status. A status is final when the task
// has ended: completed, failed or cancelled.
package task

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

// Extension is the capability of a client that can wait for tasks.
const Extension = "io.modelcontextprotocol/tasks"

const (
	minInterval   = 250 * time.Millisecond // between polls, whatever the server asks for
	maxInterval   = time.Minute
	usualInterval = time.Second            // if the server asks for none
	maxFailures   = 5                      // failed polls in a row
	maxQuestions  = 60                     // polls in a row in which the server waits for input that it already has
	cancelLimit   = 500 * time.Millisecond // for the request that cancels
)

// A Peer is the server of a task.
type Peer struct {
	Legacy bool // it uses the form of 2025-11-25
	// Request sends a request about the task and returns the result. If the server answered
	// with an error, the returned error wraps a *wire.RPCError.
	Request func(ctx context.Context, method string, params []byte) ([]byte, error)
	// Answers answers an object of input requests.
	Answers func(ctx context.Context, requests []byte) ([]byte, error)
	// Gone reports whether the server cannot be reached any more.
	Gone func() bool
	// Note is called with the status message of a running task whenever the status changes.
	Note func(message string)
}

// ID is the id of the task in result, the answer to a call.
func ID(result []byte) (string, error) {
	id := jsontext.Text(jsontext.Member(result, "taskId"))
	if id == "" {
		return "", errors.New("the server answered with a task that has no id")
	}
	return id, nil
}

// A wait is the wait for one task.
type wait struct {
	peer     Peer
	id       string
	told     []byte // the progress in the last poll
	answered map[string]bool
	idle     int // polls in a row that asked for input that the server has
}

// Await returns the result of a task as the server gives it. seed is the answer with the
// handle, nil if an earlier run got it. When ctx ends, the task is cancelled. The error is
// the *wire.RPCError of a failed task, or a *wire.NoReplyError.
func Await(ctx context.Context, id string, seed []byte, peer Peer) ([]byte, error) {
	w := &wait{peer: peer, id: id, answered: map[string]bool{}}
	result, err := w.poll(ctx, seed)
	if err == nil {
		return result, nil
	}
	if _, failed := errors.AsType[*wire.RPCError](err); failed {
		return nil, err
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if ctx.Err() != nil || errors.Is(err, errStuck) {
		w.cancel(ctx)
	}
	return nil, &wire.NoReplyError{Sent: true, Cause: err}
}

var (
	errStuck     = errors.New("the task waits for input that the server has")
	errUnknown   = errors.New("the server does not know the task any more")
	errCancelled = errors.New("the task was cancelled at the server")
)

// Cancel asks the server to end a task that nobody waits for, even after the end of ctx.
func Cancel(ctx context.Context, id string, peer Peer) { (&wait{peer: peer, id: id}).cancel(ctx) }

// poll polls until the status is final. Its error is a *wire.RPCError only if the task failed
// with one.
func (w *wait) poll(ctx context.Context, seed []byte) ([]byte, error) {
	state, pause := seed, time.Duration(0)
	if status(seed) == "working" { // any other seed lacks the data that belongs to its status
		pause = interval(seed)
	}
	for failures := 0; ; pause = interval(state) {
		if goroutine.Await(ctx.Done(), pause) {
			return nil, context.Cause(ctx)
		}
		now, err := w.peer.Request(ctx, "tasks/get", w.params(nil))
		refusal, refused := errors.AsType[*wire.RPCError](err)
		switch {
		case err == nil:
			failures, state = 0, now
		case ctx.Err() != nil:
			return nil, err
		case refused && refusal.Code == wire.CodeInvalidParams:
			return nil, errUnknown
		default:
			if failures++; failures == maxFailures || w.peer.Gone() {
				return nil, fmt.Errorf("its task cannot be polled: %v", err)
			}
			continue
		}
		if result, ended, err := w.step(ctx, state); ended || err != nil {
			return result, err
		}
	}
}

func (w *wait) step(ctx context.Context, state []byte) (result []byte, ended bool, err error) {
	now := status(state)
	if w.peer.Legacy && (now == "completed" || now == "failed" || now == "input_required") {
		result, err = w.peer.Request(ctx, "tasks/result", w.params(nil))
		if _, refused := errors.AsType[*wire.RPCError](err); err != nil && !refused {
			err = fmt.Errorf("the result of its task did not come: %v", err)
		}
		return result, true, err
	}
	switch now {
	case "completed":
		result = jsontext.Member(state, "result")
		if jsontext.Kind(result) != '{' {
			return nil, true, errors.New("the task is completed and has no result")
		}
		return result, true, nil
	case "failed":
		return nil, true, failed(state)
	case "cancelled":
		return nil, true, errCancelled
	case "input_required":
		return nil, false, w.answer(ctx, jsontext.Member(state, "inputRequests"))
	}
	w.idle = 0
	w.note(state)
	return nil, false, nil
}

func failed(state []byte) error {
	code, _ := jsontext.Integer(jsontext.Member(state, "error", "code"))
	message := cmp.Or(jsontext.Text(jsontext.Member(state, "error", "message")), jsontext.Text(jsontext.Member(state, "statusMessage")), "the task failed")
	return &wire.RPCError{Code: int(code), Message: message, Data: jsontext.Member(state, "error", "data")}
}

// note reports the progress in a poll if it has changed.
func (w *wait) note(state []byte) {
	var told []byte
	for _, key := range []string{"status", "statusMessage", "lastUpdatedAt"} {
		told = append(append(told, jsontext.Member(state, key)...), ' ')
	}
	if !bytes.Equal(told, w.told) {
		w.told = told
		w.peer.Note(jsontext.Text(jsontext.Member(state, "statusMessage")))
	}
}

// answer answers the input requests that were not answered yet. A key names one request for
// the whole life of a task, and comes again until the server has taken the answer.
func (w *wait) answer(ctx context.Context, requests []byte) error {
	fresh := []byte{'{'}
	var keys []string
	for literal, request := range jsontext.Members(requests) {
		if key := jsontext.Unquote(literal); !w.answered[key] {
			fresh = jsontext.AppendMember(fresh, key, request)
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		if w.idle++; w.idle == maxQuestions {
			return errStuck
		}
		return nil
	}
	w.idle = 0
	answers, err := w.peer.Answers(ctx, append(fresh, '}'))
	if err != nil {
		w.cancel(ctx)
		return err
	}
	if _, err = w.peer.Request(ctx, "tasks/update", w.params(answers)); err != nil {
		if _, refused := errors.AsType[*wire.RPCError](err); refused {
			return fmt.Errorf("the server does not take the input: %v", err)
		}
		return nil // the next poll shows whether it was taken
	}
	for _, key := range keys {
		w.answered[key] = true
	}
	return nil
}

// cancel asks the server to end the task, even after the end of ctx.
func (w *wait) cancel(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), cancelLimit)
	defer stop()
	w.peer.Request(ctx, "tasks/cancel", w.params(nil))
}

func (w *wait) params(answers []byte) []byte {
	p := jsontext.AppendMember([]byte{'{'}, "taskId", jsontext.Quoted(w.id))
	if answers != nil {
		p = jsontext.AppendMember(p, "inputResponses", answers)
	}
	return append(p, '}')
}

func status(state []byte) string { return jsontext.Text(jsontext.Member(state, "status")) }

// interval is the pause before the next poll: the server's wish, within the limits.
func interval(state []byte) time.Duration {
	asked := jsontext.Member(state, "pollIntervalMs")
	if asked == nil {
		asked = jsontext.Member(state, "pollInterval") // of 2025-11-25
	}
	ms, ok := jsontext.Integer(asked)
	if !ok || ms <= 0 {
		return usualInterval
	}
	return max(time.Duration(min(ms, maxInterval.Milliseconds()))*time.Millisecond, minInterval)
}
