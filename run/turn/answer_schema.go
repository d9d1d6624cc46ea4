package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/schema"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
)

// answerForm is the state of the check of the answer's form.
type answerForm struct {
	from string // the flag or the argument with the schema
	told bool   // the model knows that its answer does not match
}

// checkAnswer checks the answer, which is the text of the last turn that had text: whether there is
// one, and whether it has the form that was asked for.
func (l *Loop) checkAnswer(ctx context.Context) (again bool, err error) {
	if !l.hasText {
		if l.Text, l.Earlier = Answer(l.Messages()); len(l.Text) > 0 && l.model.Schema != nil {
			l.Text = event.Pieces{answerIn(l.model.Request.Schema, false, l.Text.String())}
		}
	}
	if l.model.Schema != nil && !(len(l.Text) == 0 && l.form.told) {
		again, err = l.checkForm(ctx)
	}
	if l.Earlier && !again && err == nil {
		err = ReportEmpty(l.emit, l.Text)
	}
	return again, err
}

// Answer returns the text of the last turn that had text, after the last prompt; nil if there is
// none. earlier is true if the last turn had no text. Messages of a paused turn follow each other.
func Answer(messages []stream.Message) (text event.Pieces, earlier bool) {
	said := ""
	for _, m := range slices.Backward(messages) {
		if m.Role == stream.Assistant {
			if !m.IsCommentary() {
				said = TextOf(&m) + said
			}
			continue
		}
		if isPrompt := m.Role == stream.User && !m.Output; isPrompt || !isBlank(said) {
			break
		}
		said, earlier = "", true
	}
	if isBlank(said) {
		return nil, true
	}
	return event.Pieces{said}, earlier
}

func isBlank(text string) bool { return strings.TrimSpace(text) == "" }

// ReportEmpty reports an empty last turn by a warning. It returns an error if there is no answer
// from an earlier turn.
func ReportEmpty(emit func(event.Event) error, earlier event.Pieces) error {
	w := &event.Warning{Code: "empty_answer", Message: "the model's last turn has no text, so the answer is the text of an earlier turn", Grave: true}
	if len(earlier) > 0 {
		return emit(w)
	}
	w.Message, w.Repeated = "the model's answer is empty", true
	return cmp.Or(emit(w), error(&failure.Error{Status: failure.StatusModel, Message: "model: the answer is empty", Model: failure.ModelFacts{Kind: "empty_answer", Retryable: true},
		Hints: []string{"-v shows the model's reasoning and why it ended; after long reasoning, a larger --max-tokens or a lower --reasoning-effort leaves room for an answer"}}))
}

// checkForm checks the answer against the schema. If it does not match, the model gets the reasons
// once and another turn; a second mismatch is an error.
func (l *Loop) checkForm(ctx context.Context) (again bool, err error) {
	// A schema can require seconds of work. The end of the run does not wait for it.
	faults, err := goroutine.AwaitResult(ctx, func() ([]schema.Fault, error) {
		return l.model.Schema.Check([]byte(strings.TrimSpace(l.Text.String())))
	})
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		return false, l.emit(&event.Warning{Code: "schema_unchecked", Message: l.form.from + ": the answer is not checked: " + err.Error()})
	}
	if len(faults) == 0 {
		return false, nil
	}
	text := schema.Text(faults)
	if l.form.told {
		return false, Unfit(l.form.from, faults)
	}
	l.form.told = true
	l.model.Request.Messages = append(l.model.Request.Messages, stream.Message{Role: stream.User, Parts: []stream.Part{{
		Text: Prefix + "The answer does not fit the requested JSON Schema: " + text + ". Answer again with one JSON value that fits it, and nothing else.",
	}}})
	return true, l.emit(&event.Warning{Code: "answer_invalid", Message: "the answer does not fit " + l.form.from + ", and the model is asked once more: " + text})
}

// isAnswer reports whether the text of the turn is an answer to a schema.
func (l *Loop) isAnswer(reply *stream.Reply) bool {
	return l.model.Schema != nil && len(l.Text) > 0 && reply.Stop != stream.StopPause && len(reply.Message.Calls)+len(l.commandLines(l.Text)) == 0
}

// release emits the text of a reply to a schema. The sink held it, because only a complete text
// shows whether the answer is a part of it.
func (l *Loop) release(text event.Pieces) error {
	if l.model.Schema == nil || !l.hasText {
		return nil
	}
	var err error
	for _, piece := range text {
		err = cmp.Or(err, l.emit(&event.Text{Turn: l.Turns, Text: []byte(piece)}))
	}
	return err
}

// answerIn is the answer in a text of the model: the content of a code block or of the object that
// the request asked for.
func answerIn(form json.RawMessage, wrapped bool, text string) string {
	if inner, ok := fenced(text); ok {
		text = inner
	}
	return string(stream.Unwrapped(form, wrapped, []byte(text)))
}

// StoredAnswer is the answer in a text of a session, and its faults. The session does not say
// whether the request asked for an object. form is the text of the schema s.
func StoredAnswer(s *schema.Schema, form json.RawMessage, text string) (answer string, faults []schema.Fault) {
	for _, wrapped := range []bool{true, false} {
		answer = answerIn(form, wrapped, text)
		if faults, _ = s.Check([]byte(strings.TrimSpace(answer))); len(faults) == 0 {
			break
		}
	}
	return answer, faults
}

// fenced is the content of a text that consists of a single code block: models write JSON in this
// form if the endpoint does not enforce the schema.
func fenced(text string) (inner string, ok bool) {
	body, opened := strings.CutPrefix(strings.TrimSpace(text), "```")
	body, closed := strings.CutSuffix(body, "```")
	word, inner, lines := strings.Cut(body, "\n")
	word = strings.TrimSpace(word)
	if !opened || !closed || !lines || word != "" && !strings.EqualFold(word, "json") || strings.Contains(inner, "```") {
		return "", false
	}
	return strings.TrimSpace(inner), true
}

// Unfit is the error for an answer that does not match its schema.
func Unfit(from string, faults []schema.Fault) error {
	return &failure.Error{Status: failure.StatusModel, Message: "model: the answer does not fit " + from + ": " + schema.Text(faults),
		Hints: []string{"the endpoint may not support structured output; describe the form of the answer in the prompt"}}
}
