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

// answer is the result of a call, as an event and for the model.
type answer struct {
	event     event.Result
	parts     []stream.Part
	result    *wire.Result   // the tool's result; nil for none
	refusal   *wire.RPCError // the server's JSON-RPC error; nil for none
	keepsOpen bool           // the model gets no answer, so that a later run can make the call
	whole     []byte         // of a result with a name that was cut: the text as a JSON string literal
}

// Prefix begins every text of toolpipe itself to the model.
const Prefix = "[toolpipe] "

// ownAnswer is an answer of toolpipe itself.
func ownAnswer(status event.ResultStatus, text string) *answer {
	a := resultAnswer(Prefix + text)
	a.event.Status = status
	return a
}

// resultAnswer is a result with this text.
func resultAnswer(text string) *answer {
	literal := jsontext.Quoted(text)
	return &answer{event: event.Result{Status: event.ResultOK, Text: literal, Bytes: len(text)}, parts: []stream.Part{{JSON: literal}}}
}

// notRun is the answer to a call that never ran because ctx or the run ended. A later run can make
// the call.
func notRun(ctx context.Context) *answer {
	why := "the run ended"
	if errors.Is(context.Cause(ctx), toolserver.ErrCancelled) {
		why = "cancelled by the client"
	}
	a := ownAnswer(event.ResultNotRun, "not run: "+why)
	a.keepsOpen = true
	return a
}

// rendered is the answer with the result of a call. The tools that read results keep the limit
// themselves.
func (c *caller) rendered(k *call, r *wire.Result) *answer {
	m := r.Render()
	a := &answer{event: event.Result{Status: event.ResultOK, Text: m.JSON, Content: r.Raw, Structured: r.Structured, Bytes: m.Bytes}}
	if r.IsError {
		a.event.Status = event.ResultError
	}
	a.parts = []stream.Part{{JSON: m.JSON}}
	if c.maxBytes > 0 && m.Bytes > c.maxBytes && !k.tool.Kept {
		name := c.results.cut(k, m.JSON)
		a.event.Truncated, a.parts[0].JSON = true, wire.Cut(m.JSON, m.Bytes, c.maxBytes, name)
		if !c.wholeResults {
			a.event.Text = a.parts[0].JSON
		}
		if name != "" && c.session != nil {
			a.whole = m.JSON
		}
	}
	for i := range m.Media {
		a.parts = append(a.parts, MediaPart(&m.Media[i]))
	}
	return a
}

// MediaPart is the part of a message for data of a tool server.
func MediaPart(m *wire.Media) stream.Part {
	return stream.Part{Image: &stream.Image{MIME: m.MIME, Name: m.Name, Data: string(m.Data), Optional: true}}
}

// annotate adds lines of toolpipe itself to a result.
func (r *round) annotate(c *call) {
	if c.taped.found { // the recorded result has them
		return
	}
	if refusal := r.box.Refusal(c.tool.Conn, c.answer.text); refusal != "" {
		c.answer.append(Prefix + refusal)
	}
	r.noteMisfit(c)
	if unseen := r.plan.staging.unseen(c.tool); unseen != "" {
		c.answer.append(unseen)
	}
}

// noteMisfit warns, once for each tool, about structured content that violates the tool's schema, and
// adds a line about it to the result.
func (r *round) noteMisfit(c *call) {
	misfit, first := c.tool.MisfitOfResult(c.answer.result)
	if misfit == "" {
		return
	}
	text := "the structured content does not fit the output schema of the tool: " + misfit
	if first {
		r.emit(&event.Warning{Code: "result_misfit", Server: c.tool.Conn.Name, Message: c.Name + ": " + text})
	}
	if !r.separate {
		c.answer.append(Prefix + text)
	}
}

func (c *caller) changed(done *confine.Change) (e event.Change) {
	if done != nil {
		e = event.Change{File: done.Path, Diff: shortDiff(c.plan.Inv.Secrets.Content().HideString(done.Diff)), New: done.New}
	}
	return e
}

// shortDiff cuts a diff to the size limit of an event, at a line end. A last line says how much is
// missing. Secrets are hidden before, because a secret that was cut in two is not found.
func shortDiff(diff string) string {
	if len(diff) <= event.MaxDiff {
		return diff
	}
	end := strings.LastIndexByte(diff[:event.MaxDiff-64], '\n') + 1
	return fmt.Sprintf("%s\\ %d more bytes of this diff are left out\n", diff[:end], len(diff)-end)
}

// append adds a text of toolpipe itself, as lines after the tool's text: in the event, for the
// model, and as an additional block for a host.
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

func (a *answer) message(c *stream.Call) stream.Message {
	return stream.Message{
		Role: stream.ToolRole, CallID: c.ID, Name: c.Name, Parts: a.parts, Failed: a.event.Status != event.ResultOK && a.event.Status != event.ResultStaged, Labels: a.event.Labels,
	}
}

// LostAnswer answers a call that an earlier run sent and that has no result.
func LostAnswer(c *stream.Call) stream.Message {
	return lost().message(c)
}

func lost() *answer {
	return ownAnswer(event.ResultUnknown, "outcome unknown: the run that sent the call ended before its result came")
}

// messages are one tool message for each call, in order, and one user message for the command
// lines.
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

// text is the text for the model, without pictures.
func (a *answer) text() string { return jsontext.Unquote(a.parts[0].JSON) }

func failedAnswer(s *servers.Server, err error) *answer {
	unanswered, isUnanswered := errors.AsType[*wire.NoReplyError](err) // it may contain an RPC error of another request
	refusal, isRefusal := errors.AsType[*wire.RPCError](err)
	far, isFar := errors.AsType[*toolbox.FarRefusal](err)
	switch {
	case isFar:
		return ownAnswer(far.Status, strings.TrimPrefix(far.Text, Prefix))
	case isUnanswered && !unanswered.Sent:
		return ownAnswer(event.ResultFailed, "tool transport error: "+toolbox.WithHint(err.Error(), s, err))
	case isRefusal && !isUnanswered:
		a := ownAnswer(event.ResultFailed, "tool dispatch failed: "+refusal.Message)
		a.refusal = refusal
		return a
	}
	return ownAnswer(event.ResultUnknown, "outcome unknown: "+toolbox.WithHint(err.Error(), s, err))
}
