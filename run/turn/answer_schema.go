package turn

import (
	"context"
	"strings"

	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/schema"
	"toolpipe/stream"
	"toolpipe/stream/goroutine"
)

// answerForm is how far the form of an answer was asked for.
type answerForm struct {
	from string // the flag or the argument that gives the schema
	told bool   // the model was told that its answer does not fit
}

// checkAnswer checks the last turn's text against the schema. When it does not
// fit, the model is told why, once, and takes another turn; then it is an error.
func (l *Loop) checkAnswer(ctx context.Context) (again bool, err error) {
	if l.model.Schema == nil {
		return false, nil
	}
	if inner, ok := fenced(l.Text.String()); ok {
		l.Text = event.Pieces{inner}
	}
	// A schema can ask for seconds of work, for which the end of a run does not wait.
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
		Text: Prefix + "The answer does not fit the JSON Schema that was asked for: " + text + ". Answer again with one JSON value that fits it, and nothing else.",
	}}})
	return true, l.emit(&event.Warning{Code: "answer_invalid", Message: "the answer does not fit " + l.form.from + ", and the model is asked once more: " + text})
}

// fenced is the content of a text that is one block of code and nothing else, as models write
// JSON where the endpoint does not hold them to a form.
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

// Unfit is the error of an answer that does not fit its schema.
func Unfit(from string, faults []schema.Fault) error {
	return &failure.Error{Status: failure.StatusModel, Message: "model: the answer does not fit " + from + ": " + schema.Text(faults),
		Hints: []string{"the endpoint may not support structured output; say in the prompt what the answer looks like"}}
}
