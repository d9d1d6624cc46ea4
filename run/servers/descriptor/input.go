package descriptor

import (
	"cmp"
	"slices"
	"strings"

	"toolpipe/run/document"
)

// inputKeys are the keys of an input of server.json. The last three are for people.
const inputKeys = "name type value default valueHint isRequired isSecret isRepeated format choices variables description placeholder title"

// An input is a value that server.json fixes, has a default for, or leaves to the user.
type input struct {
	at        document.Value
	fields    fields
	name      string // as it is called in notes
	variable  string // that holds what the user gives
	value     string // fixed, {NAME} in it is one of variables; "" for none
	standard  string // the default; "" for none
	format    string
	choices   []string
	variables []document.Member
	flags
}

type flags struct{ required, secret, repeated bool }

// input reads an input. Its name is that of the key, and the variable with its value is called after it.
func (r *reader) input(v document.Value, key string) (in input, err error) {
	in.at = v
	if in.fields, err = r.fields(v, inputKeys); err != nil {
		return in, err
	}
	if f, ok := in.fields["choices"]; ok {
		if in.choices, err = f.Words(); err != nil {
			return in, err
		}
	}
	if f, ok := in.fields["variables"]; ok {
		in.variables = f.Members()
	}
	in.name = cmp.Or(key, in.fields.text("name"), in.fields.text("valueHint"), "argument")
	in.variable = inputVariable(strings.TrimLeft(in.name, "-"))
	return in, in.fields.fill(map[string]any{
		"isRequired": &in.required, "isSecret": &in.secret, "isRepeated": &in.repeated,
		"value": &in.value, "default": &in.standard, "format": &in.format,
	})
}

// resolve returns the values of an input: one, or several of one that is repeated. Without a value there is
// none, and it is noted as left out, or as missing.
func (r *reader) resolve(in input) (all []Text, err error) {
	if in.value != "" {
		return r.filled(in)
	}
	given, err := r.given(in.at, in.variable, in.secret, in.repeated)
	switch {
	case err != nil:
		return nil, err
	case len(given) > 0:
	case in.standard != "":
		return literals(in.standard), nil
	case in.required:
		return r.lack(in.variable), nil
	default:
		r.leaveOut(in.name, in.variable)
	}
	for _, value := range given {
		if len(in.choices) > 0 && !slices.Contains(in.choices, value) {
			return nil, in.at.Errorf("the variable %s holds none of: %s", in.variable, strings.Join(in.choices, ", "))
		}
		if value, err = r.checked(in.at, in.variable, value, in.format); err != nil {
			return nil, err
		}
		all = append(all, Text{value, "${" + in.variable + "}"})
	}
	return all, nil
}

// filled is the fixed value of an input with its variables filled in; none if one of them has no value
// and neither it nor the input is required.
func (r *reader) filled(in input) ([]Text, error) {
	values := map[string]Text{}
	for _, m := range in.variables {
		if !strings.Contains(in.value, "{"+m.Key+"}") {
			continue
		}
		inner, err := r.input(m.Value, m.Key)
		if err != nil {
			return nil, err
		}
		inner.name = in.name
		inner.flags = flags{inner.required || in.required, inner.secret || in.secret, false}
		found, err := r.resolve(inner)
		if err != nil || len(found) == 0 {
			return nil, err
		}
		values[m.Key] = found[0]
	}
	return []Text{fill(in.value, values)}, nil
}

// fill replaces each {NAME} of values in a text, in one pass. Any other stays as it is, as the format says.
func fill(s string, values map[string]Text) Text {
	var plain, shown []string
	for name, t := range values {
		plain, shown = append(plain, "{"+name+"}", t.Value), append(shown, "{"+name+"}", t.Shown)
	}
	return Text{strings.NewReplacer(plain...).Replace(s), strings.NewReplacer(shown...).Replace(s)}
}

// arguments are the words of runtimeArguments or packageArguments. A named one is two words, which more programs
// take than --name=value.
func (r *reader) arguments(list document.Value) (words []Text, err error) {
	if list.Doc == nil {
		return nil, nil
	}
	if list.Kind() != '[' {
		return nil, list.Errorf("%s is not a list", list.Short())
	}
	for _, v := range list.Elements() {
		in, err := r.input(v, "")
		if err != nil {
			return nil, err
		}
		name := in.fields.text("name")
		switch kind := cmp.Or(in.fields.text("type"), map[bool]string{true: "positional", false: "named"}[name == ""]); {
		case kind == "positional":
			name = ""
		case kind != "named":
			return nil, v.Errorf("an argument of type %q is unknown; positional and named are known", kind)
		case name == "":
			return nil, v.Errorf("a named argument has no name")
		case in.isSwitch():
			words = append(words, literal(name))
			continue
		}
		values, err := r.resolve(in)
		if err != nil {
			return nil, err
		}
		for _, value := range values {
			if name != "" {
				words = append(words, literal(name))
			}
			words = append(words, value)
		}
	}
	return words, nil
}

// isSwitch reports whether a named argument has no value: nothing but its name is written, or the value is empty.
// With a description VS Code asks for a value.
func (in *input) isSwitch() bool {
	_, written := in.fields["value"]
	for key := range in.fields {
		if key != "name" && key != "type" && key != "isRequired" && !written {
			return false
		}
	}
	return in.value == "" && in.standard == ""
}

// pairs are the values of environmentVariables or headers, by their names, in order.
func (r *reader) pairs(list document.Value, variable func(name string) string) (names []string, all map[string]Text, err error) {
	all = map[string]Text{}
	if list.Doc == nil {
		return nil, all, nil
	}
	if list.Kind() != '[' {
		return nil, nil, list.Errorf("%s is not a list", list.Short())
	}
	for _, v := range list.Elements() {
		in, err := r.input(v, "")
		if err != nil {
			return nil, nil, err
		}
		name := in.fields.text("name")
		if name == "" {
			return nil, nil, v.Errorf("it has no name")
		}
		in.variable, in.repeated = variable(name), false
		values, err := r.resolve(in)
		if err != nil {
			return nil, nil, err
		}
		if len(values) > 0 {
			names, all[name] = append(names, name), values[0]
		}
	}
	return names, all, nil
}
