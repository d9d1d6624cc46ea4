package mcp

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
	"toolpipe/stream/text/jsontext"
)

const (
	maxRounds  = 8
	roundPause = 50 * time.Millisecond
)

// exchangeWithInput sends a request and gives the server the input that it requires (multi
// round-trip requests of 2026-07-28). Each round is a new request with the same params, the
// responses, and the server's requestState byte for byte.
func (s *Session) exchangeWithInput(ctx context.Context, r *wire.Request) ([]byte, error) {
	defer s.inFlight.add(r, s.life)()
	params := r.Params
	for round := 1; ; round++ {
		raw, err := s.conn.exchange(ctx, r)
		if err != nil {
			return nil, err
		}
		switch kind := resultType(raw); {
		case kind == "complete", kind == "task" && !s.isLegacy() && (r.Method == "tools/call" || r.Method == "tasks/get"):
			return raw, nil // an example of the specification answers tasks/get with the type task too
		case kind != "input_required" || s.isLegacy():
			return nil, &wire.NoReplyError{Sent: true, Cause: checkComplete(raw)}
		case round == maxRounds:
			return nil, &wire.NoReplyError{Cause: fmt.Errorf("the server asked for input %d times without an end", maxRounds)}
		}
		answers, err := s.inputResponses(ctx, jsontext.Member(raw, "inputRequests"), r.Ask)
		if err != nil {
			return nil, &wire.NoReplyError{Cause: err}
		}
		if answers == nil {
			goroutine.Await(ctx.Done(), time.Duration(round)*roundPause)
		}
		again := *r
		again.Params = nextRound(params, answers, jsontext.Member(raw, "requestState"))
		r = &again
	}
}

// nextRound adds inputResponses and requestState to params for the next round, unless they
// are nil.
func nextRound(params, answers, state []byte) []byte {
	next := bytes.Clone(params[:len(params)-1])
	if answers != nil {
		next = append(append(next, `,"inputResponses":`...), answers...)
	}
	if state != nil && string(state) != "null" {
		next = append(append(next, `,"requestState":`...), state...)
	}
	return append(next, '}')
}

// inputResponses answers all input requests of a round; nil if there are none.
func (s *Session) inputResponses(ctx context.Context, requests []byte, ask wire.AskFunc) ([]byte, error) {
	var answers []byte
	for key, r := range jsontext.Members(requests) {
		method := jsontext.Text(jsontext.Member(r, "method"))
		if method != "elicitation/create" {
			return nil, fmt.Errorf("the server asked for %q, which toolpipe does not offer", method)
		}
		answers = append(append(append(answers, ','), key...), ':')
		answers = append(answers, s.elicited(ctx, jsontext.Unquote(key), jsontext.Member(r, "params"), ask)...)
	}
	if answers == nil {
		return nil, nil
	}
	answers[0] = '{' // instead of the first comma
	return append(answers, '}'), nil
}
