package invocation

import (
	"context"
	"encoding/json"
	"errors"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/schema"
)

// AnswerSchema compiles the schema for the answer; nil if there is none. from is its flag. A part
// that cannot be checked is only a warning, because the endpoint may still enforce it. A mistake is
// an error, because otherwise answers would silently stay unchecked.
func AnswerSchema(from string, text json.RawMessage, warn config.Warner) (*schema.Schema, error) {
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
		warn("schema_unchecked", "", from+": not checked: "+config.JoinFew(s.Unchecked))
	}
	return s, nil
}

// Schema is the schema of --schema, compiled and as text; nil without the flag. It needs no model.
func (v *Invocation) Schema(ctx context.Context) (*schema.Schema, json.RawMessage, error) {
	text, err := readSchema(ctx, v.Config)
	if err != nil {
		return nil, nil, err
	}
	s, err := AnswerSchema("--schema", text, v.Warn)
	return s, text, err
}
