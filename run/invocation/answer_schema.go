package invocation

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/document"
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
	text, err := ReadSchema(ctx, v.Config)
	if err != nil {
		return nil, nil, err
	}
	s, err := AnswerSchema("--schema", text, v.Warn)
	return s, text, err
}

// ReadSchema returns the JSON Schema of --schema, in which the value is JSON, the name of a file, or
// the short form. It is nil without --schema.
func ReadSchema(ctx context.Context, c *config.Config) (json.RawMessage, error) {
	name, value, data := "--schema", c.Schema, []byte(c.Schema)
	if value == "" {
		return nil, nil
	}
	if !strings.HasPrefix(strings.TrimLeft(value, " \t\r\n"), "{") {
		var err error
		if schema.IsShort(value) && !config.Exists(value) {
			if data, err = schema.FromShort(value); err != nil {
				err = failure.Usage("--schema: %v", err)
			}
		} else {
			name = value
			data, err = config.ReadFile(ctx, "--schema", value, 1<<20, config.PlainFile, nil)
		}
		if f, ok := errors.AsType[*failure.Error](err); ok {
			f.Hints = append(f.Hints, `JSON or its file: --schema '{"type":"object"}', --schema schema.json`,
				"the short form: --schema 'name, length_km number, note: one sentence'")
		}
		if err != nil {
			return nil, err
		}
	}
	doc, err := document.Parse(name, data)
	if err != nil {
		return nil, err
	}
	if doc.Kind() != '{' {
		return nil, doc.Errorf("a JSON Schema for an answer is an object")
	}
	return doc.Raw(), nil
}
