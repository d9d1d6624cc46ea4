package turn

import (
	"context"
	"encoding/json"
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

// checkAnswer checks the text of the last turn against the schema. If it does not match, the model
// gets the reasons once and another turn; a second mismatch is an error.
func (l *Loop) checkAnswer(ctx context.Context) (again bool, err error) {
	if l.model.Schema == nil {
		return false, nil
	}
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
