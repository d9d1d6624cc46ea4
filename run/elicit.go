package run

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"toolpipe/approve"
	"toolpipe/run/config"
	"toolpipe/run/event"
)

// maxFields is how many questions a form may ask.
const maxFields = 50

// elicit puts a server's questions to the person at the terminal (--elicit ask),
// one form at a time and each field by itself. The answers are sent when the person
// has seen all of them and said yes. Otherwise the form is declined, or cancelled
// when nobody answers.
func elicit(terminal *approve.Terminal, server string) func(context.Context, string, json.RawMessage) (string, json.RawMessage) {
	return func(ctx context.Context, message string, schema json.RawMessage) (string, json.RawMessage) {
		fields, err := formFields(schema)
		if err != nil || len(fields) > maxFields {
			return "cancel", nil
		}
		var content []byte
		send := false
		err = terminal.Form(ctx, func(form *approve.Form) (err error) {
			content, send, err = fillForm(form, server, message, fields)
			return err
		})
		switch {
		case err != nil:
			return "cancel", nil
		case !send:
			return "decline", nil
		}
		return "accept", content
	}
}

// field is one property of a form: a flat object of string, number, integer,
// boolean, or a list of choices.
type field struct {
	name, kind  string
	description string
	choices     []string
	fallback    []byte // the default as JSON; nil: none
	required    bool
}

// fillForm asks for every field, then whether content may be sent. The words of the
// server stand only in the lines, never in the heading.
func fillForm(form *approve.Form, server, message string, fields []field) (content []byte, send bool, err error) {
	heading := "the tool server " + server + " asks you; this approves no tool call, ^D sends nothing"
	lines := []string{message}
	content = []byte{'{'}
	for _, f := range fields {
		v, err := fillField(form, heading, append(lines, f.describe()), f)
		if err != nil {
			return nil, false, err
		}
		lines = nil
		if v != nil {
			if len(content) > 1 {
				content = append(content, ',')
			}
			content = append(append(event.AppendString(content, f.name), ':'), v...)
		}
	}
	content = append(content, '}')
	send, err = form.Confirm("this would be sent to the tool server "+server, append(lines, string(content)))
	return content, send, err
}

// fillField asks for a field until the answer fits its type, at most five times. An
// empty line gives the default, or leaves the field out.
func fillField(form *approve.Form, heading string, lines []string, f field) ([]byte, error) {
	for range 5 {
		line, err := form.Ask(heading, lines)
		if err != nil {
			return nil, err
		}
		v, why := f.parse(strings.TrimSpace(line))
		if why == "" {
			return v, nil
		}
		lines = []string{why, f.describe()}
	}
	return nil, approve.ErrNoAnswer
}

func (f *field) describe() string {
	s := f.name + " (" + f.kind
	if len(f.choices) > 0 {
		s += ": " + config.JoinWords(f.choices)
	}
	if f.fallback != nil {
		s += ", default " + string(f.fallback)
	} else if !f.required {
		s += ", may be left empty"
	}
	return strings.TrimSpace(s + ") " + f.description)
}

// parse makes JSON of a typed answer; why tells why it does not fit.
func (f *field) parse(s string) (v []byte, why string) {
	switch {
	case s == "" && f.fallback != nil:
		return f.fallback, ""
	case s == "" && !f.required:
		return nil, ""
	case f.kind == "array":
		v = []byte{'['}
		for i, w := range strings.Split(s, ",") {
			if w = strings.TrimSpace(w); !slices.Contains(f.choices, w) {
				return nil, strconv.Quote(w) + " is not one of: " + config.JoinWords(f.choices)
			}
			if i > 0 {
				v = append(v, ',')
			}
			v = event.AppendString(v, w)
		}
		return append(v, ']'), ""
	case len(f.choices) > 0 && !slices.Contains(f.choices, s):
		return nil, strconv.Quote(s) + " is not one of: " + config.JoinWords(f.choices)
	case f.kind == "boolean":
		switch strings.ToLower(s) {
		case "y", "yes", "true":
			return []byte("true"), ""
		case "n", "no", "false":
			return []byte("false"), ""
		}
		return nil, "yes or no"
	case f.kind == "number" && !config.IsNumber(s):
		return nil, "not a number"
	case f.kind == "integer":
		if _, err := strconv.ParseInt(s, 10, 64); err != nil {
			return nil, "not a whole number"
		}
	case f.kind != "number":
		return event.AppendString(nil, s), ""
	}
	return []byte(s), ""
}

func formFields(schema json.RawMessage) ([]field, error) {
	doc, err := config.ParseDocument("the form", schema)
	if err != nil {
		return nil, err
	}
	var required []string
	if v, ok := doc.Get("required"); ok {
		if required, err = v.Words(); err != nil {
			return nil, err
		}
	}
	props, _ := doc.Get("properties")
	if props.Doc == nil {
		return nil, nil
	}
	var fields []field
	for _, m := range props.Members() {
		f := field{name: m.Key, kind: "string", required: slices.Contains(required, m.Key)}
		for _, p := range m.Members() {
			switch p.Key {
			case "type":
				f.kind = p.Text()
			case "title", "description":
				f.description = strings.TrimSpace(f.description + " " + p.Text())
			case "default":
				f.fallback = p.Raw()
			case "enum", "oneOf", "anyOf":
				f.choices = choices(p.Value)
			case "items":
				for _, key := range []string{"enum", "anyOf", "oneOf"} {
					if c, ok := p.Get(key); ok {
						f.choices = choices(c)
					}
				}
			}
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// choices are the values of an enum, or the const of each alternative.
func choices(v config.Value) []string {
	var all []string
	for _, e := range v.Elements() {
		if c, ok := e.Get("const"); ok {
			e = c
		}
		all = append(all, e.Text())
	}
	return all
}
