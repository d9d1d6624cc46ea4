package toolserver

import (
	"bytes"
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
type Asker = func(ctx context.Context, message string, schema []byte) (Answer, error)

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
}

func newUser() user {
	return user{asking: make(chan struct{}, 1), waiting: map[int64]chan<- wire.Message{}, held: map[string]*heldCall{}}
}

// A heldCall is a call of 2026-07-28 that was answered with a question. The client makes
// the same call again, with the answer and the requestState, and gets the result then.
type heldCall struct {
	request *request
	name    string
	args    []byte
	answers chan<- []byte // takes the inputResponses
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
	c.user.elicits = asksForms(capabilities)
}

// asker is the Asker of a call m with these arguments, which r answers.
func (c *connection) asker(r *request, m wire.Message, args []byte, progress func(wire.Progress)) Asker {
	if own := jsontext.Member(m.Params, "_meta", capabilitiesKey); own != nil {
		if !asksForms(own) {
			return nil
		}
		name := jsontext.Text(jsontext.Member(m.Params, "name"))
		return func(ctx context.Context, message string, schema []byte) (Answer, error) {
			return c.askModern(ctx, &heldCall{request: r, name: name, args: args}, message, schema)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.user.elicits {
		return nil
	}
	return func(ctx context.Context, message string, schema []byte) (Answer, error) {
		return c.askLegacy(ctx, message, schema, progress)
	}
}

// progressPause is how often a client hears that a question is open: its clock for the
// call may run on meanwhile.
const progressPause = 10 * time.Second

// askLegacy sends the client a request.
func (c *connection) askLegacy(ctx context.Context, message string, schema []byte, progress func(wire.Progress)) (Answer, error) {
	select {
	case c.user.asking <- struct{}{}:
		defer func() { <-c.user.asking }()
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
	response := make(chan wire.Message, 1)
	c.mu.Lock()
	c.user.sent++
	id := c.user.sent
	c.user.waiting[id] = response
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		delete(c.user.waiting, id)
		c.mu.Unlock()
	}()
	params := elicitation("", message, schema)
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
func elicitation(mode, message string, schema []byte) []byte {
	params := []byte{'{'}
	if mode != "" {
		params = jsontext.AppendMember(params, "mode", jsontext.Quoted(mode))
	}
	params = jsontext.AppendMember(params, "message", jsontext.Quoted(message))
	return append(jsontext.AppendMember(params, "requestedSchema", schema), '}')
}

func readAnswer(result []byte) Answer {
	return Answer{jsontext.Text(jsontext.Member(result, "action")), jsontext.Member(result, "content")}
}

// questionKey names the question in the inputRequests of an answer.
const questionKey = "question"

// askModern answers the call with the question, and waits until the client makes the call
// again with the answer. The requestState is random, is good for one time, and is of no
// use with another name or other arguments.
func (c *connection) askModern(ctx context.Context, h *heldCall, message string, schema []byte) (Answer, error) {
	ask := jsontext.AppendMember([]byte(`{"method":"elicitation/create"`), "params", elicitation("form", message, schema))
	for {
		state, answers := rand.Text(), make(chan []byte, 1)
		h.answers = answers
		id, err := c.hold(state, h)
		if err != nil {
			return Answer{}, err
		}
		c.reply(id, fmt.Appendf(nil, `{"resultType":"input_required","requestState":%q,"inputRequests":{%q:%s}}}`, state, questionKey, ask), nil)
		select {
		case given := <-answers:
			if answer := jsontext.Member(given, questionKey); answer != nil {
				return readAnswer(answer), nil
			}
		case <-ctx.Done():
			c.mu.Lock()
			delete(c.user.held, state)
			c.mu.Unlock()
			return Answer{}, context.Cause(ctx)
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

// continues takes a call that continues one that was answered with a question, and
// reports whether it is one. One that is not the same call is refused.
func (c *connection) continues(m wire.Message, name string, args []byte) bool {
	state := jsontext.Member(m.Params, "requestState")
	if state == nil {
		return false
	}
	c.mu.Lock()
	h := c.user.held[jsontext.Text(state)]
	_, twice := c.running[string(m.ID)]
	same := h != nil && !twice && h.name == name && bytes.Equal(jsontext.AppendCompact(nil, h.args), jsontext.AppendCompact(nil, args))
	if same {
		delete(c.user.held, jsontext.Text(state))
		h.request.id = m.ID
		c.running[string(m.ID)] = h.request
		h.answers <- jsontext.Member(m.Params, "inputResponses")
	}
	c.mu.Unlock()
	if !same {
		c.reply(m.ID, nil, invalidParams("the requestState is of no question that is open for this call"))
	}
	return true
}
