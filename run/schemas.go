package run

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/face"
	"toolpipe/run/failure"
	"toolpipe/run/schema"
	"toolpipe/stream"
	"toolpipe/stream/text/jsontext"
)

// answerSchema compiles the schema of an answer, nil if there is none; from is the
// flag that gives it. What of it cannot be checked is a warning, for the endpoint may
// still hold to it; a mistake in it is an error, for nobody would see that answers go
// unchecked.
func answerSchema(from string, text json.RawMessage, warn config.Warner) (*schema.Schema, error) {
	if text == nil {
		return nil, nil
	}
	s, err := schema.Compile(text)
	switch {
	case errors.Is(err, schema.ErrMalformed):
		return nil, failure.Usage("%s: %v", from, err)
	case err != nil:
		warn("schema_unchecked", "", from+": the answer is only checked to be JSON: "+err.Error())
		s, _ = schema.Compile([]byte("true"))
	case len(s.Unchecked) > 0:
		warn("schema_unchecked", "", from+": not checked: "+face.JoinFew(s.Unchecked))
	}
	return s, nil
}

// checkAnswer checks the last turn's text against the schema. When it does not
// fit, the model is told why, once, and takes another turn; then it is an error.
func (l *loop) checkAnswer(ctx context.Context) (again bool, err error) {
	if l.schema == nil {
		return false, nil
	}
	faults, err := l.schema.Check(bytes.TrimSpace(l.text))
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil {
		return false, l.emit(&event.Warning{Code: "schema_unchecked", Message: l.schemaFrom + ": the answer is not checked: " + err.Error()})
	}
	if len(faults) == 0 {
		return false, nil
	}
	text := schema.Text(faults)
	if l.told {
		return false, unfit(l.schemaFrom, faults)
	}
	if l.outOfTokens() {
		return false, l.tokenLimit()
	}
	l.told = true
	l.request.Messages = append(l.request.Messages, stream.Message{Role: stream.User, Parts: []stream.Part{{
		Text: prefix + "The answer does not fit the JSON Schema that was asked for: " + text + ". Answer again with one JSON value that fits it, and nothing else.",
	}}})
	return true, l.emit(&event.Warning{Code: "answer_invalid", Message: "the answer does not fit " + l.schemaFrom + ", and the model is asked once more: " + text})
}

// unfit is the error of an answer that does not fit its schema.
func unfit(from string, faults []schema.Fault) error {
	return &failure.Error{Status: failure.StatusModel, Message: "model: the answer does not fit " + from + ": " + schema.Text(faults),
		Hints: []string{"the endpoint may not support structured output; say in the prompt what the answer looks like"}}
}

// needBlock is the error of an answer that has no block to print: prose must not
// take its place, since the output may go to a shell.
func needBlock(answer []byte, language string) error {
	if _, ok := event.FencedBlock(answer, language); ok {
		return nil
	}
	what := "no fenced block"
	if language != "" {
		what += " of the language " + strconv.Quote(language)
	}
	return &failure.Error{Status: failure.StatusModel, Message: "model: the answer has " + what, Hints: []string{"-o text shows the answer; the prompt can ask for one fenced block"}}
}

// misfit says what of canonical arguments does not fit the tool's schema, "" for
// nothing. A schema that cannot be used is not held against the call.
func (t *tool) misfit(args []byte) string {
	return schema.Text(t.faults(withoutNulls(args, jsontext.Strings(jsontext.Member(t.InputSchema, "required")))))
}

// misfitAt is misfit for the value of one argument, whatever the others are.
func (t *tool) misfitAt(key string, value []byte) string {
	faults := t.faults(append(jsontext.AppendMember([]byte{'{'}, key, value), '}'))
	return schema.Text(slices.DeleteFunc(faults, func(f schema.Fault) bool { return f.Path == "" }))
}

func (t *tool) faults(args []byte) []schema.Fault {
	t.compile.Do(func() { t.schema, _ = schema.Compile(t.InputSchema) })
	if t.schema == nil {
		return nil
	}
	faults, _ := t.schema.Check(args)
	return faults
}

// withoutNulls returns arguments without the members that are null and not
// required: many models write null for a parameter that they leave out, and MCP
// has clients send no header for it (SEP-2243).
func withoutNulls(args []byte, required []string) []byte {
	kept, left := []byte("{"), false
	for name, value := range jsontext.Members(args) {
		if string(value) == "null" && !slices.Contains(required, jsontext.Unquote(name)) {
			left = true
			continue
		}
		kept = jsontext.AppendMember(kept, jsontext.Unquote(name), value)
	}
	if !left {
		return args
	}
	return append(kept, '}')
}
