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

// An Asker shows the client's user a form, for a call of the client. It waits until ctx ends,
// and then returns the cause of ctx; any other error comes from the client. A legacy client
// gets one question at a time.
type Asker = func(ctx context.Context, form wire.Form) (Answer, error)

type Answer struct {
	Action  string // accept, decline or cancel
	Content []byte // for accept: an object as received, unchecked
}

// user is the state of questions to the user of a client.
type user struct {
	elicits bool                          // a legacy client has declared elicitation
	asking  chan struct{}                 // one element while a question to a legacy client is open
	sent    int64                         // the last id of our requests, from 1
	waiting map[int64]chan<- wire.Message // for the responses to such requests
	held    map[string]*heldCall          // calls of 2026-07-28 that wait for an answer, by requestState
	gone    chan struct{}                 // closed when the client will send no more
}

var errGone = errors.New("the client sends no more")

// ErrNotBack is the error for a question that the client never answered by a new request. A
// client may do so, for example if its user does not want to continue.
var ErrNotBack = errors.New("the host did not come back with an answer")

// A heldCall is a call or another request of 2026-07-28 that was answered with a question.
// The client repeats it with the answer and the requestState, and then gets the result.
type heldCall struct {
	request  *request
	identity string        // of the call, to recognise it
	answers  chan<- []byte // takes the inputResponses
}

// identity is what must be the same when a client repeats a request: its method and its
// subject, ignoring white space.
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

// asksForms reports whether a client's capabilities declare elicitation by forms; an empty
// object does.
func asksForms(capabilities []byte) bool {
	elicitation := jsontext.Member(capabilities, "elicitation")
	return jsontext.Kind(elicitation) == '{' && (jsontext.Member(elicitation, "form") != nil || jsontext.Member(elicitation, "url") == nil)
}

// DeclaresForms reports whether a client's first message declares that the client can show
// its user a form.
func DeclaresForms(message []byte) bool {
	m, err := wire.ParseMessage(message)
	return err == nil && (asksForms(jsontext.Member(m.Params, "capabilities")) || asksForms(jsontext.Member(m.Params, "_meta", capabilitiesKey)))
}

func (c *connection) declared(capabilities []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.user.elicits, c.listens.legacy.open = asksForms(capabilities), true
}

// asker is the Asker for a request m, which r answers.
func (c *connection) asker(r *request, m wire.Message, progress func(wire.Progress)) Asker {
	if own := jsontext.Member(m.Params, "_meta", capabilitiesKey); own != nil {
		if !asksForms(own) {
			return nil
		}
		given := jsontext.Member(m.Params, "inputResponses")
		return func(ctx context.Context, form wire.Form) (Answer, error) {
			// An answer that the client sends unasked is used for servers without state. It
			// never counts as an approval.
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

// progressPause is how often a client is notified that a question is open: its timeout for
// the call may be running.
const progressPause = 10 * time.Second

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

func (c *connection) answered(m wire.Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := wire.ReplyID(m.ID)
	if waiting := c.user.waiting[id]; waiting != nil && m.IsReply() {
		delete(c.user.waiting, id) // a second response is ignored
		waiting <- m
	}
}

// elicitation are the params of elicitation/create. Clients of 2025-06-18 do not know mode.
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

// questionKey is the key in inputRequests for a question without one.
const questionKey = "question"

// askModern answers the call with the question, and waits until the client repeats the call
// with the answer. The requestState is random and valid once, only with the same name and
// arguments.
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

// hold makes the next request with that state continue a call, and returns the id of the
// request to answer with the question.
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

// continues handles a request that continues a request answered with a question, and reports
// whether it is one. It refuses a request that is not the same.
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
		c.reply(m.ID, nil, invalidParams("the requestState belongs to no open question of this request"))
	}
	return true
}
