package toolserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// An Asker asks the user of the client by a form, for a call that the client makes. It
// waits until ctx ends, whose cause is the error then; any other error is that of the
// client. A legacy client is asked one question at a time.
type Asker = func(ctx context.Context, form wire.Form) (Answer, error)

// Answer is what the user of the client did with a form.
type Answer struct {
	Action  string // accept, decline or cancel
	Content []byte // of accept: an object, as it came, which nobody has checked
}

// user is what has to do with the user of a client.
type user struct {
	elicits bool                          // a legacy client has declared elicitation
	asking  chan struct{}                 // holds the question to a legacy client
	sent    int64                         // ids of requests count from 1
	waiting map[int64]chan<- wire.Message // for the response to such a request
	held    map[string]*heldCall          // calls of 2026-07-28 whose client is to ask, by their requestState
	gone    chan struct{}                 // closed when the client will send no more
}

var errGone = errors.New("the client sends no more")

// ErrNotBack is why a question has no answer whose client was to come back with one: it
// may leave that out, for example when its user does not want to go on.
var ErrNotBack = errors.New("the host did not come back with an answer")

func newUser() user {
	return user{asking: make(chan struct{}, 1), waiting: map[int64]chan<- wire.Message{}, held: map[string]*heldCall{}, gone: make(chan struct{})}
}

// A heldCall is a call or another request of 2026-07-28 that was answered with a question.
// The client makes it again, with the answer and the requestState, and gets the result then.
type heldCall struct {
	request  *request
	identity string        // of the call, by which it is known again
	answers  chan<- []byte // takes the inputResponses
}

// identity is what must be the same when a client makes a request again: its method, and
// what it is about, but for white space.
func identity(m wire.Message) string {
	id := []byte(jsontext.Text(m.Method))
	for _, key := range []string{"name", "uri", "arguments"} {
		id = append(id, 0)
		if value := jsontext.Member(m.Params, key); value != nil {
			id = jsontext.AppendCompact(id, value)
		}
	}
	return string(id)
}

// asksForms reports whether capabilities of a client declare elicitation by forms, which
// an empty object does.
func asksForms(capabilities []byte) bool {
	elicitation := jsontext.Member(capabilities, "elicitation")
	return jsontext.Kind(elicitation) == '{' && (jsontext.Member(elicitation, "form") != nil || jsontext.Member(elicitation, "url") == nil)
}

// DeclaresForms reports whether a message of a client, the first that it sends, declares
// that the client can ask its user by a form.
func DeclaresForms(message []byte) bool {
	m, err := wire.ParseMessage(message)
	return err == nil && (asksForms(jsontext.Member(m.Params, "capabilities")) || asksForms(jsontext.Member(m.Params, "_meta", capabilitiesKey)))
}

// declared keeps what a legacy client has declared.
func (c *connection) declared(capabilities []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.user.elicits, c.listens.legacy = asksForms(capabilities), true
}

// asker is the Asker of a request m, which r answers.
func (c *connection) asker(r *request, m wire.Message, progress func(wire.Progress)) Asker {
	if own := jsontext.Member(m.Params, "_meta", capabilitiesKey); own != nil {
		if !asksForms(own) {
			return nil
		}
		given := jsontext.Member(m.Params, "inputResponses")
		return func(ctx context.Context, form wire.Form) (Answer, error) {
			// What the client answers unasked counts for a server that keeps no state, and is no
			// approval of ours.
			if answer := jsontext.Member(given, form.Key); answer != nil && form.Key != "" {
				given = nil
				return readAnswer(answer), nil
			}
			return c.askModern(ctx, &heldCall{request: r, identity: identity(m)}, form)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.user.elicits {
		return nil
	}
	return func(ctx context.Context, form wire.Form) (Answer, error) {
		return c.askLegacy(ctx, form, progress)
	}
}

// progressPause is how often a client hears that a question is open: its clock for the
// call may run on meanwhile.
const progressPause = 10 * time.Second

// askLegacy sends the client a request.
func (c *connection) askLegacy(ctx context.Context, form wire.Form, progress func(wire.Progress)) (Answer, error) {
	select {
	case c.user.asking <- struct{}{}:
		defer func() { <-c.user.asking }()
	case <-c.user.gone:
		return Answer{}, errGone
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
	response := make(chan wire.Message, 1)
	c.mu.Lock()
	c.user.sent++
	id := c.user.sent
	c.user.waiting[id] = response
	c.freed.Broadcast()
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.user.waiting, id)
		c.mu.Unlock()
	}()
	params := elicitation("", form)
	c.put(fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"elicitation/create","params":%s}`, id, params), false)
	tick := time.NewTicker(progressPause)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case m := <-response:
			result, err := m.Result()
			return readAnswer(result), err
		case <-tick.C:
			progress(wire.Progress{Progress: strconv.AppendInt(nil, int64(n), 10), Message: "waiting for an answer of the user"})
		case <-c.user.gone:
			return Answer{}, errGone
		case <-ctx.Done():
			c.put(wire.CancelledNotification(id), true)
			return Answer{}, context.Cause(ctx)
		}
	}
}

// answered takes the response to a request of ours.
func (c *connection) answered(m wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := wire.ReplyID(m.ID)
	if waiting := c.user.waiting[id]; waiting != nil && m.IsReply() {
		delete(c.user.waiting, id) // a second response is ignored
		waiting <- m
	}
}

// elicitation are the parameters of elicitation/create. Clients of 2025-06-18 know no mode.
func elicitation(mode string, form wire.Form) []byte {
	params := []byte{'{'}
	if mode != "" {
		params = jsontext.AppendMember(params, "mode", jsontext.Quoted(mode))
	}
	params = jsontext.AppendMember(params, "message", jsontext.Quoted(form.Message))
	return append(jsontext.AppendMember(params, "requestedSchema", form.Schema), '}')
}

func readAnswer(result []byte) Answer {
	return Answer{jsontext.Text(jsontext.Member(result, "action")), jsontext.Member(result, "content")}
}

// questionKey names a question that has no name of its own in the inputRequests.
const questionKey = "question"

// askModern answers the call with the question, and waits until the client makes the call
// again with the answer. The requestState is random, is good for one time, and is of no
// use with another name or other arguments.
func (c *connection) askModern(ctx context.Context, h *heldCall, form wire.Form) (Answer, error) {
	key := cmp.Or(form.Key, questionKey)
	ask := jsontext.AppendMember([]byte(`{"method":"elicitation/create"`), "params", elicitation("form", form))
	for {
		state, answers := rand.Text(), make(chan []byte, 1)
		h.answers = answers
		id, err := c.hold(state, h)
		if err != nil {
			return Answer{}, err
		}
		c.reply(id, fmt.Appendf(nil, `{"resultType":"input_required","requestState":%q,"inputRequests":{%s:%s}}}`, state, jsontext.Quoted(key), ask), nil)
		select {
		case given := <-answers:
			if answer := jsontext.Member(given, key); answer != nil {
				return readAnswer(answer), nil
			}
		case <-c.user.gone:
			return Answer{}, errGone
		case <-ctx.Done():
			c.mu.Lock()
			delete(c.user.held, state)
			c.mu.Unlock()
			return Answer{}, fmt.Errorf("%w: %w", ErrNotBack, context.Cause(ctx))
		}
	}
}

// hold has the next request with that state continue a call, and gives the id of the
// request that is to be answered with the question.
func (c *connection) hold(state string, h *heldCall) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := h.request.id
	if id == nil || len(c.user.held) >= maxRunning {
		return nil, errors.New("the client has no request that could be answered with a question")
	}
	h.request.id = nil
	delete(c.running, string(id))
	c.user.held[state] = h
	return id, nil
}

// continues takes a request that continues one that was answered with a question, and
// reports whether it is one. One that is not the same is refused.
func (c *connection) continues(m wire.Message) bool {
	state := jsontext.Member(m.Params, "requestState")
	if state == nil || string(state) == "null" {
		return false
	}
	c.mu.Lock()
	h := c.user.held[jsontext.Text(state)]
	_, twice := c.running[string(m.ID)]
	same := h != nil && !twice && h.identity == identity(m)
	if same {
		delete(c.user.held, jsontext.Text(state))
		h.request.id = m.ID
		c.running[string(m.ID)] = h.request
		h.answers <- jsontext.Member(m.Params, "inputResponses")
	}
	c.mu.Unlock()
	if !same {
		c.reply(m.ID, nil, invalidParams("the requestState is of no question that is open for this request"))
	}
	return true
}
