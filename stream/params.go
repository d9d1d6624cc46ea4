package stream

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"toolpipe/stream/text/jsontext"
)

// AddParams adds params to r. An object that both a param and a field of r write to is merged.
// A param that contradicts a field of r, or would replace the conversation, is an error that
// begins with the param's name. If a param is null for the field with the schema of the
// answer, the schema is only in the prompt.
func (r *Request) AddParams(api string, params []Param) error {
	d, err := dialectFor(api, params)
	if err != nil {
		return err
	}
	for _, p := range params {
		if rest, without := d.names.withoutForm(p); without && r.Schema != nil {
			r.Params, p.Value = append(r.Params, Param{d.names.schema, json.RawMessage("null")}), rest
		}
		for _, f := range d.names.setBy(r, p.Name) {
			switch value := gjson.ParseBytes(p.Value); {
			case f.member == "":
				return fmt.Errorf("%s: %s is given twice", p.Name, f.what)
			case !value.IsObject():
				return fmt.Errorf("%s: is not an object, so %s cannot be added to it", p.Name, f.what)
			case value.Get(f.member).Exists():
				return fmt.Errorf("%s.%s: %s is given twice", p.Name, f.member, f.what)
			}
		}
		r.Params = append(r.Params, p)
	}
	return nil
}

// AddDefaults adds the params that neither a field nor a param of r replaces.
// A param that would replace the conversation is an error as for AddParams.
func (r *Request) AddDefaults(api string, params []Param) error {
	d, err := dialectFor(api, params)
	if err != nil {
		return err
	}
	var all []Param
	for _, p := range params {
		keep := !hasParam(r.Params, p.Name)
		if slices.Contains(d.names.maxTokens, p.Name) { // the limit may have two names
			keep = !slices.ContainsFunc(d.names.maxTokens, func(name string) bool { return hasParam(r.Params, name) })
		}
		for _, f := range d.names.setBy(r, p.Name) {
			keep = keep && f.member != "" && gjson.ParseBytes(p.Value).IsObject()
			p.Value = withoutMember(p.Value, f.member)
		}
		if keep {
			all = append(all, p)
		}
	}
	r.Params = append(all, r.Params...)
	return nil
}

// fieldNames holds the dialect's names for the fields of a Request. "text.format" is the member
// format of the object text, which may hold other members too.
type fieldNames struct {
	conversation []string // of the messages: no param may have this name
	maxTokens    []string
	effort       string
	schema       string
}

// setField is a value that a Request sets in a field: the member of the field's object, "" for
// all of the field, and the value in words.
type setField struct{ member, what string }

// setBy returns the values that r sets in the field of that name.
func (n *fieldNames) setBy(r *Request, field string) (all []setField) {
	add := func(set bool, name, what string) {
		if object, member, _ := strings.Cut(name, "."); set && object == field {
			all = append(all, setField{member, what})
		}
	}
	for _, name := range n.maxTokens {
		add(r.MaxTokens > 0, name, "the token limit")
	}
	add(r.Temperature != nil, "temperature", "the temperature")
	add(r.ReasoningEffort != "", n.effort, "the reasoning effort")
	add(r.Schema != nil && !schemaInPrompt(r), n.schema, "the schema of the answer")
	return all
}

// withoutForm reports whether a param sets the field with the schema of the answer to null, and
// returns the rest of its value.
func (n *fieldNames) withoutForm(p Param) (rest json.RawMessage, without bool) {
	field, member, _ := strings.Cut(n.schema, ".")
	value := gjson.ParseBytes(p.Value)
	if p.Name != field || value.Type == gjson.Null {
		return p.Value, p.Name == field
	}
	form := memberOf(value, member)
	return withoutMember(p.Value, member), form.Exists() && form.Type == gjson.Null
}

// schemaInPrompt reports whether a param asks for the schema of the answer in the prompt alone.
func schemaInPrompt(r *Request) bool { return slices.ContainsFunc(r.Params, isFormNull) }

// isFormNull reports whether a param is null for the field with the schema of the answer. If the
// field is a member of an object, AddParams has made this param.
func isFormNull(p Param) bool {
	return gjson.ParseBytes(p.Value).Type == gjson.Null && (p.Name == chatForm || p.Name == messagesForm || p.Name == responsesForm)
}

// The fields with the schema of the answer.
const (
	chatForm      = "response_format"
	messagesForm  = "output_config.format"
	responsesForm = "text.format"
)

// EndpointTools returns the types of the endpoint's tools that a param asks for. The error says
// that the param holds something else.
func (r *Request) EndpointTools() (types []string, err error) {
	for _, tool := range endpointTools(r) {
		types = append(types, tool.Get("type").Str)
		if !isEndpointTool(tool) {
			types = nil
			break
		}
	}
	if types == nil && hasParam(r.Params, "tools") {
		return nil, errors.New(`tools: an element is not a tool of the endpoint, such as {"type":"web_search"}; functions come from servers`)
	}
	return types, nil
}

// isEndpointTool reports whether an entry of the field tools is executed by the endpoint itself.
func isEndpointTool(tool gjson.Result) bool {
	kind := tool.Get("type").Str
	return kind == builtinFunction || kind != "" && kind != "function" && kind != "custom" && !tool.Get("input_schema").Exists() && !tool.Get("function").Exists()
}

// builtinFunction is the type of Moonshot's own tools.
const builtinFunction = "builtin_function"

// Echoes reports whether the result of a call is its own arguments: the model calls a
// builtin_function as if the client ran it, and the endpoint runs it when the arguments come back
// (Moonshot's documentation of $web_search).
func (r *Request) Echoes(name string) bool {
	return slices.ContainsFunc(endpointTools(r), func(tool gjson.Result) bool {
		return tool.Get("type").Str == builtinFunction && tool.Get("function.name").Str == name
	})
}

func endpointTools(r *Request) []gjson.Result {
	if list := paramOf(r, "tools"); list.IsArray() {
		return list.Array()
	}
	return nil
}

// paramOf returns the value of a param; if there are several, the last one counts.
func paramOf(r *Request, name string) (value gjson.Result) {
	for _, p := range r.Params {
		if p.Name == name {
			value = gjson.ParseBytes(p.Value)
		}
	}
	return value
}

// dialectFor returns the dialect, or an error for a param that would replace the conversation.
func dialectFor(api string, params []Param) (*dialect, error) {
	d, err := findDialect(api)
	for _, p := range params {
		if err == nil && slices.Contains(d.names.conversation, p.Name) {
			err = fmt.Errorf("%s: is the conversation, which comes from the input", p.Name)
		}
	}
	return d, err
}

func withoutMember(object []byte, name string) []byte {
	rest := []byte{'{'}
	gjson.ParseBytes(object).ForEach(func(key, value gjson.Result) bool {
		if key.Str != name {
			rest = jsontext.AppendMember(rest, key.Str, []byte(value.Raw))
		}
		return true
	})
	return append(rest, '}')
}
