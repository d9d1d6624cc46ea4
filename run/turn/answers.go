package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"toolpipe/approve"
	"toolpipe/mcp/builtin/confine"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/event"
	"toolpipe/run/servers"
	"toolpipe/run/toolbox"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

// answer is the result of a call: as an event, and as the model gets it.
type answer struct {
	event     event.Result
	parts     []stream.Part
	result    *wire.Result   // as the tool gave it; nil if it gave none
	refusal   *wire.RPCError // the JSON-RPC error that the server answered instead; nil for none
	keepsOpen bool           // the model gets none, so that a later run can take the call up again
}

// Prefix begins every text that toolpipe itself says to the model.
const Prefix = "[toolpipe] "

// ownAnswer is an answer in toolpipe's own words.
func ownAnswer(status event.ResultStatus, text string) *answer {
	text = Prefix + text
	literal := jsontext.Quoted(text)
	return &answer{event: event.Result{Status: status, Text: literal, Bytes: len(text)}, parts: []stream.Part{{JSON: literal}}}
}

// notRun is the answer to a call that never ran because ctx ended, or the run. A later
// run can take the call up again.
func notRun(ctx context.Context) *answer {
	why := "the run ended"
	if errors.Is(context.Cause(ctx), toolserver.ErrCancelled) {
		why = "cancelled by the client"
	}
	a := ownAnswer(event.ResultNotRun, "not run: "+why)
	a.keepsOpen = true
	return a
}

// rendered is the answer that a tool gave.
func (c *caller) rendered(r *wire.Result) *answer {
	m := r.Render(c.maxBytes)
	a := &answer{event: event.Result{
		Status: event.ResultOK, Text: m.JSON, Content: r.Raw, Structured: r.Structured, Bytes: m.Bytes, Truncated: m.Truncated,
	}}
	if r.IsError {
		a.event.Status = event.ResultError
	}
	a.parts = []stream.Part{{JSON: m.JSON}}
	if m.Truncated && c.wholeResults {
		a.event.Text = r.Render(0).JSON
	}
	for _, img := range m.Images {
		a.parts = append(a.parts, stream.Part{Image: &stream.Image{MIME: img.MIME, Data: string(img.Data)}})
	}
	return a
}

// changed is the change of a file as an event tells it.
func (c *caller) changed(done *confine.Change) (e event.Change) {
	if done != nil {
		e = event.Change{File: done.Path, Diff: shortDiff(c.secrets.Content().HideString(done.Diff)), New: done.New}
	}
	return e
}

// shortDiff is a diff without the lines at its end that an event does not hold. A last line
// says how much is left out. Secrets are hidden before, since a part of one is not found.
func shortDiff(diff string) string {
	if len(diff) <= event.MaxDiff {
		return diff
	}
	end := strings.LastIndexByte(diff[:event.MaxDiff-64], '\n') + 1
	return fmt.Sprintf("%s\\ %d more bytes of this diff are left out\n", diff[:end], len(diff)-end)
}

// append adds a text of toolpipe's own, in lines, after the tool's: in the event, in what the
// model gets, and as one more block in what a host gets.
func (a *answer) append(text string) {
	if a.result != nil {
		a.result.Content = slices.Concat(a.result.Content, toolserver.TextResult(text).Content)
	}
	text = "\n" + text // no answer is empty
	a.event.Bytes += len(text)
	quoted := jsontext.Quoted(text)[1:]
	join := func(literal []byte) []byte { return slices.Concat(literal[:len(literal)-1], quoted) }
	a.event.Text, a.parts[0].JSON = join(a.event.Text), join(a.parts[0].JSON)
}

// message answers the call c for the model.
func (a *answer) message(c *stream.Call) stream.Message {
	return stream.Message{
		Role: stream.ToolRole, CallID: c.ID, Name: c.Name, Parts: a.parts, Failed: a.event.Status != event.ResultOK && a.event.Status != event.ResultStaged, Labels: a.event.Labels,
	}
}

// LostAnswer answers a call that an earlier run sent, and whose result never came.
func LostAnswer(c *stream.Call) stream.Message {
	return lost().message(c)
}

func lost() *answer {
	return ownAnswer(event.ResultUnknown, "outcome unknown: the run that sent the call ended before its result came")
}

// messages are one tool message for each call, in order, and one user message for
// the command lines.
func (r *round) messages() (all []stream.Message) {
	var outputs []string
	var labels approve.Labels // of the outputs
	for _, c := range r.calls {
		switch {
		case c.answer.keepsOpen:
		case c.line != "":
			outputs = append(outputs, "CMD: "+c.line+"\n"+c.answer.text())
			labels |= c.labels
		default:
			all = append(all, c.answer.message(&c.Call))
		}
	}
	if len(outputs) > 0 {
		all = append(all, stream.Message{Role: stream.User, Output: true, Parts: []stream.Part{{Text: strings.Join(outputs, "\n\n")}}, Labels: labels.Words()})
	}
	return all
}

// text is what the model gets, without pictures.
func (a *answer) text() string { return jsontext.Unquote(a.parts[0].JSON) }

// failedAnswer is the answer to a call of the server s without a result.
func failedAnswer(s *servers.Server, err error) *answer {
	unanswered, isUnanswered := errors.AsType[*wire.NoReplyError](err) // it may hold an RPC error of another request
	refusal, isRefusal := errors.AsType[*wire.RPCError](err)
	switch {
	case isUnanswered && !unanswered.Sent:
		return ownAnswer(event.ResultFailed, "tool transport error: "+toolbox.WithHint(err.Error(), s, err))
	case isRefusal && !isUnanswered:
		a := ownAnswer(event.ResultFailed, "tool dispatch failed: "+refusal.Message)
		a.refusal = refusal
		return a
	}
	return ownAnswer(event.ResultUnknown, "outcome unknown: "+toolbox.WithHint(err.Error(), s, err))
}
