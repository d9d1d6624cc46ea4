package mcp

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"toolpipe/mcp/wire"
	"toolpipe/stream/text/jsontext"
)

// elicits reports whether all requests declare elicitation. With "each" only requests with an
// Ask declare it.
func (s *Session) elicits() bool {
	return s.spec.Elicit != "" && s.spec.Elicit != "off" && s.spec.Elicit != "each"
}

// maxQuestions limits how many elicitations of a legacy server are open at the same time.
const maxQuestions = 16

const (
	declined  = `{"action":"decline"}`
	cancelled = `{"action":"cancel"}`
)

// requestsInFlight are our open requests during which a server may send an elicitation:
// tools/call, prompts/get, resources/read, and requests about tasks.
type requestsInFlight struct {
	mu  sync.Mutex
	all []*wire.Request
	ctx context.Context // ends with the last request; nil before the first
	end context.CancelFunc
}

func (f *requestsInFlight) add(r *wire.Request, life context.Context) (remove func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.all) == 0 {
		f.ctx, f.end = context.WithCancel(life)
	}
	f.all = append(f.all, r)
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		i := slices.Index(f.all, r)
		f.all = slices.Delete(f.all, i, i+1)
		if len(f.all) == 0 {
			f.end()
		}
	}
}

// context returns the context of the open requests and the last Ask among them. A legacy
// server does not say which request its question belongs to.
func (f *requestsInFlight) context() (context.Context, wire.AskFunc) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range slices.Backward(f.all) {
		if r.Ask != nil {
			return f.ctx, r.Ask
		}
	}
	return f.ctx, nil
}

// elicitation answers a legacy server's elicitation/create in its own goroutine, because the
// user may have to be asked. Without an open request of ours it is refused, as SEP-2260 of
// the Model Context Protocol demands: otherwise a server could show a form at any time, even
// during a question about another server's call. When our request ends, the elicitation is
// cancelled.
func (s *Session) elicitation(m wire.Message, reply func([]byte)) {
	ctx, ask := s.inFlight.context()
	switch {
	case !s.elicits():
		s.refuseInput(m.Params)
		reply(wire.ReplyError(m.ID, wire.CodeMethodNotFound, "elicitation is not supported"))
	case !isForm(m.Params):
		reply(wire.ReplyError(m.ID, wire.CodeInvalidParams, "only the form mode of elicitation is supported"))
	case ctx == nil || ctx.Err() != nil:
		reply(wire.ReplyError(m.ID, wire.CodeInvalidParams, "elicitation outside of a request in progress"))
	case s.questions.Add(1) > maxQuestions:
		s.questions.Add(-1)
		reply(wire.ReplyError(m.ID, wire.CodeInternal, "too many questions at once"))
	default:
		s.start(func() {
			defer s.questions.Add(-1)
			reply(wire.ReplyResult(m.ID, s.elicited(ctx, "", m.Params, ask)))
		})
	}
}

// isForm reports whether an elicitation shows a form, which is the default mode.
func isForm(params []byte) bool {
	mode := jsontext.Text(jsontext.Member(params, "mode"))
	return mode == "" || mode == "form"
}

// elicited is the ElicitResult for the params of an elicitation.
func (s *Session) elicited(ctx context.Context, key string, params []byte, ask wire.AskFunc) []byte {
	form := wire.Form{Key: key, Message: jsontext.Text(jsontext.Member(params, "message")), Schema: jsontext.Member(params, "requestedSchema")}
	switch {
	case !isForm(params):
	case s.spec.Elicit == "each" && ask != nil:
		return s.ask(ctx, ask, form)
	case !s.elicits(): // the server asks although it was not declared
		s.refuseInput(params)
	case s.spec.Elicit == "defaults":
		return defaults(form.Schema)
	case s.spec.Elicit != "ask":
	case ask != nil:
		return s.ask(ctx, ask, form)
	case s.report.hooks.Elicit != nil:
		return s.ask(ctx, s.report.hooks.Elicit, form)
	}
	return []byte(declined)
}

// refuseInput warns that the server asked the user something and got no answer.
func (s *Session) refuseInput(params []byte) {
	question := wire.Snippet([]byte(jsontext.Text(jsontext.Member(params, "message"))))
	s.warnOnce("input", "input_refused", fmt.Sprintf("server %q asked for input and was refused: %q", s.spec.Name, question))
}

// ask asks the user. The idle deadline of a call is put off meanwhile.
func (s *Session) ask(ctx context.Context, ask wire.AskFunc, form wire.Form) []byte {
	s.asking.Add(1)
	defer s.asking.Add(-1)
	action, content := ask(ctx, form)
	switch {
	case action == "accept" && jsontext.Check(content, jsontext.Peer) == nil && jsontext.Kind(content) == '{':
		return fmt.Appendf(nil, `{"action":"accept","content":%s}`, content)
	case action == "cancel":
		return []byte(cancelled)
	}
	return []byte(declined)
}

// defaults accepts with the default values of a form. It cancels if a required field has no
// default.
func defaults(schema []byte) []byte {
	required := jsontext.Strings(jsontext.Member(schema, "required"))
	var fields []byte
	for name, field := range jsontext.Members(jsontext.Member(schema, "properties")) {
		value := jsontext.Member(field, "default")
		if value == nil {
			if slices.Contains(required, jsontext.Unquote(name)) {
				return []byte(cancelled)
			}
			continue
		}
		fields = append(append(append(append(fields, ','), name...), ':'), value...)
	}
	return fmt.Appendf(nil, `{"action":"accept","content":{%s}}`, bytes.TrimPrefix(fields, []byte(",")))
}

// missingCapabilities lists the capabilities that a server requires and toolpipe does not
// declare (error -32021).
func missingCapabilities(e *wire.RPCError) string {
	var names []string
	for name, value := range jsontext.Members(jsontext.Member(e.Data, "requiredCapabilities")) {
		if jsontext.Is(name, "extensions") {
			for extension := range jsontext.Members(value) {
				names = append(names, jsontext.Unquote(extension))
			}
			continue
		}
		names = append(names, jsontext.Unquote(name))
	}
	switch {
	case len(names) == 0:
		return ""
	case slices.Contains(names, "elicitation"):
		return "; the server wants a client with: " + strings.Join(names, ", ") + "; --elicit lets it ask"
	}
	return "; the server wants a client with: " + strings.Join(names, ", ")
}

// urlElicitation lists the URLs that a legacy server wants the user to open
// before it goes on (error -32042). They are shown, never opened.
func urlElicitation(e *wire.RPCError) string {
	var list string
	for v := range jsontext.Elements(jsontext.Member(e.Data, "elicitations")) {
		list += "; open " + jsontext.Text(jsontext.Member(v, "url")) + " (" + jsontext.Text(jsontext.Member(v, "message")) + ")"
	}
	return list
}
