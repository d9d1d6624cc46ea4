package toolbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"toolpipe/approve"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/schema"
	"toolpipe/stream/text/escape"
	"toolpipe/stream/text/jsontext"
)

const maxFormFields = 50

// askOnTerminal asks the person at the terminal a server's questions: one form at a time, each field
// by itself. The answers are sent after the person saw all of them and said yes. Otherwise the form
// is declined, or cancelled if nobody answers.
func askOnTerminal(terminal *approve.Terminal, server string) wire.AskFunc {
	return func(ctx context.Context, asked wire.Form) (string, []byte) {
		if jsontext.Check(asked.Schema, jsontext.Options{}) != nil { // a duplicate property would be asked for twice
			return "cancel", nil
		}
		fields := formFields(asked.Schema)
		if len(fields) > maxFormFields {
			return "cancel", nil
		}
		var content []byte
		send := false
		err := terminal.Form(ctx, func(form *approve.Form) (err error) {
			content, send, err = fillForm(form, server, asked.Message, fields)
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

// A formField is one property of a form, which is a flat object of string, number, integer, boolean, or
// a list of choices.
type formField struct {
	name, kind  string
	description string
	choices     []string
	schema      []byte
	fallback    []byte // the default as JSON; nil: none
	required    bool
}

// fillForm asks for every field, then whether content may be sent. Words of the server appear only
// in the lines, never in the heading.
func fillForm(form *approve.Form, server, message string, fields []formField) (content []byte, send bool, err error) {
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
			content = jsontext.AppendMember(content, f.name, v)
		}
	}
	content = append(content, '}')
	send, err = form.Confirm("this would be sent to the tool server "+server, append(lines, string(content)))
	return content, send, err
}

// fillField asks for a field until the answer fits its type, at most five times. An empty line
// gives the default, or omits the field.
func fillField(form *approve.Form, heading string, lines []string, f formField) ([]byte, error) {
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
	return nil, errors.New("no answer fits")
}

func (f *formField) describe() string {
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

// parse converts a typed answer to JSON; why says why it does not fit the schema.
func (f *formField) parse(s string) (v []byte, why string) {
	boolean := ""
	switch strings.ToLower(s) {
	case "y", "yes", "true":
		boolean = "true"
	case "n", "no", "false":
		boolean = "false"
	}
	switch {
	case s == "" && f.fallback != nil:
		return f.fallback, ""
	case s == "" && !f.required:
		return nil, ""
	case f.kind == "array":
		for word := range strings.SplitSeq(s, ",") {
			v = event.AppendString(append(v, ','), strings.TrimSpace(word))
		}
		v[0] = '['
		v = append(v, ']')
	case f.kind == "boolean" && boolean != "":
		v = []byte(boolean)
	case f.kind != "string" && jsontext.Check([]byte(s), jsontext.Options{}) == nil:
		v = []byte(s)
	default:
		v = event.AppendString(nil, s)
	}
	if compiled, err := schema.Compile(f.schema); err == nil {
		if faults, _ := compiled.Check(v); len(faults) > 0 {
			return nil, strconv.Quote(s) + " " + faults[0].Message
		}
	}
	return v, ""
}

func formFields(form []byte) (fields []formField) {
	required := jsontext.Strings(jsontext.Member(form, "required"))
	for key, property := range jsontext.Members(jsontext.Member(form, "properties")) {
		text := func(keyword string) string { return jsontext.Text(jsontext.Member(property, keyword)) }
		name := jsontext.Unquote(key)
		fields = append(fields, formField{
			name:        name,
			schema:      property,
			kind:        cmp.Or(text("type"), "string"),
			description: strings.TrimSpace(text("title") + " " + text("description")),
			choices:     append(formChoices(property), formChoices(jsontext.Member(property, "items"))...),
			fallback:    jsontext.Member(property, "default"),
			required:    slices.Contains(required, name),
		})
	}
	return fields
}

// formChoices are the values that a schema allows: an enum, or the const of each alternative.
func formChoices(schema []byte) (all []string) {
	for _, keyword := range []string{"enum", "oneOf", "anyOf"} {
		for value := range jsontext.Elements(jsontext.Member(schema, keyword)) {
			if constant := jsontext.Member(value, "const"); constant != nil {
				value = constant
			}
			all = append(all, jsontext.Text(value))
		}
	}
	return all
}

// HostPatience is how long the user of a host may take for an answer. Some hosts never answer
// (gleanwork/glean-plugins-vnext#39).
const HostPatience = 5 * time.Minute

// AskHost asks the user of a host a server's questions, prefixed with the server's name; nil if ask
// is nil. hide takes the secrets out of the message.
func AskHost(ask toolserver.Asker, server string, hide func(string) string) wire.AskFunc {
	if ask == nil {
		return nil
	}
	return func(ctx context.Context, form wire.Form) (string, []byte) {
		limited, cancel := context.WithTimeout(ctx, HostPatience)
		defer cancel()
		form = safeForm(form)
		form.Message = hide("Server " + server + " asks: " + form.Message)
		answer, err := ask(limited, form)
		if err != nil {
			return "cancel", nil
		}
		return answer.Action, answer.Content
	}
}

// safeForm escapes a server's form, because the host of --serve may show its words unchanged: the
// message, and names and strings of the schema. A string of the schema may be an answer that the
// host returns, such as the default. So a string is changed only if it contains characters that no
// such answer needs: control characters other than tabs and line ends, and characters that change
// the direction of text.
func safeForm(form wire.Form) wire.Form {
	form.Message = safeText(form.Message)
	var schema []byte
	for rest := form.Schema; ; {
		from := bytes.IndexByte(rest, '"')
		if from < 0 {
			form.Schema = append(schema, rest...)
			return form
		}
		end := jsontext.LiteralEnd(rest, from)
		schema = jsontext.AppendQuoted(append(schema, rest[:from]...), safeText(jsontext.Unquote(rest[from:end])))
		rest = rest[end:]
	}
}

func safeText(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) && !strings.ContainsRune("\t\r\n", r) || unicode.Is(unicode.Bidi_Control, r)
	}) {
		return escape.Escape(text)
	}
	return text
}
