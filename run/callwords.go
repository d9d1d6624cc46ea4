package run

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/stream/jsontext"
)

// wordsObject makes the arguments of a call of words: key=value, key:=JSON and
// key=@FILE. A value gets the type that the tool's schema gives its key.
func wordsObject(ctx context.Context, flag string, words []string, schema []byte) ([]byte, error) {
	object := []byte{'{'}
	for i, word := range words {
		key, value, ok := strings.Cut(word, "=")
		key, isJSON := strings.CutSuffix(key, ":")
		if !ok || key == "" {
			return nil, failure.UsageError([]string{flag + ` NAME path=notes.txt lines:=3, or NAME '{"path":"notes.txt","lines":3}'`},
				"%s: %q is not of the form key=value or key:=JSON, and no JSON object", flag, word)
		}
		property, err := findProperty(flag, schema, key)
		if err != nil {
			return nil, err
		}
		var literal []byte
		switch path, isFile := strings.CutPrefix(value, "@"); {
		case isJSON:
			literal = []byte(value)
			if err := jsontext.Check(literal, jsontext.Options{}); err != nil {
				return nil, failure.Usage("%s: %s:= is not JSON: %v", flag, key, err)
			}
		case isFile:
			text, err := config.ReadFile(ctx, flag+" "+key, path, input.MaxInput, config.PlainFile)
			if err == nil && !utf8.Valid(text) {
				err = failure.Usage("%s: %s: %q is not UTF-8 text", flag, key, path)
			}
			if err != nil {
				return nil, err
			}
			literal = jsontext.Quoted(string(text))
		default:
			types := propertyTypes(schema, property, 0)
			if literal = typed(value, types); literal == nil {
				return nil, failure.UsageError([]string{key + ":=JSON gives a value of any type"}, "%s: %s: %q is not of the type %s", flag, key, value, strings.Join(types, " or "))
			}
		}
		if i > 0 {
			object = append(object, ',')
		}
		object = append(jsontext.AppendQuoted(object, key), ':')
		object = append(object, literal...)
	}
	return append(object, '}'), nil
}

// findProperty is the schema of a property. A key that is none is an error, unless
// the schema describes further ones or none at all.
func findProperty(flag string, schema []byte, key string) ([]byte, error) {
	var known []string
	for name, property := range jsontext.Members(jsontext.Member(schema, "properties")) {
		if jsontext.Unquote(name) == key {
			return property, nil
		}
		known = append(known, jsontext.Unquote(name))
	}
	more := jsontext.Member(schema, "additionalProperties")
	if len(known) == 0 || jsontext.Kind(more) == '{' || jsontext.IsTrue(more) || jsontext.Member(schema, "patternProperties") != nil {
		return nil, nil
	}
	hints := []string{"arguments: " + config.JoinWords(known)}
	if near := config.Nearest(key, known); near != "" {
		hints = slices.Insert(hints, 0, "did you mean "+near+"?")
	}
	return nil, failure.UsageError(hints, "%s: the tool has no argument %q", flag, key)
}

// propertyTypes are the JSON types that a schema allows; none if it does not say.
func propertyTypes(root, schema []byte, depth int) (types []string) {
	if kind := jsontext.Member(schema, "type"); jsontext.Kind(kind) == '[' {
		types = jsontext.Strings(kind)
	} else if kind != nil {
		types = []string{jsontext.Text(kind)}
	}
	if len(types) > 0 || depth > 8 {
		return types
	}
	if path, ok := strings.CutPrefix(jsontext.Text(jsontext.Member(schema, "$ref")), "#/"); ok {
		return propertyTypes(root, jsontext.Member(root, strings.Split(path, "/")...), depth+1)
	}
	for _, keyword := range []string{"anyOf", "oneOf", "allOf"} {
		for each := range jsontext.Elements(jsontext.Member(schema, keyword)) {
			types = append(types, propertyTypes(root, each, depth+1)...)
		}
	}
	values := cmp.Or(string(jsontext.Member(schema, "enum")), "["+string(jsontext.Member(schema, "const"))+"]")
	for value := range jsontext.Elements([]byte(values)) {
		types = append(types, typeOf(value)...)
	}
	return types
}

// typeOf are the types of a JSON value.
func typeOf(literal []byte) []string {
	switch kind := jsontext.Kind(literal); {
	case kind == '{':
		return []string{"object"}
	case kind == '[':
		return []string{"array"}
	case kind == '"':
		return []string{"string"}
	case kind == 'n':
		return []string{"null"}
	case kind == 't' || kind == 'f':
		return []string{"boolean"}
	case !strings.ContainsAny(string(literal), ".eE"):
		return []string{"integer", "number"}
	}
	return []string{"number"}
}

// typed is value as JSON of one of the types, a string if that is allowed or no
// type is named, nil if it is of none.
func typed(value string, types []string) []byte {
	if len(types) == 0 || slices.Contains(types, "string") {
		return jsontext.Quoted(value)
	}
	literal := []byte(strings.TrimSpace(value))
	if jsontext.Check(literal, jsontext.Options{}) == nil {
		for _, one := range typeOf(literal) {
			if slices.Contains(types, one) {
				return literal
			}
		}
	}
	return nil
}
