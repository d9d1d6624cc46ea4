package modes

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"

	"toolpipe/run/config"
	"toolpipe/run/failure"
	"toolpipe/run/input"
	"toolpipe/run/toolbox"
	"toolpipe/stream/text/jsontext"
)

// wordsObject builds the arguments of a call from words: key=value, key:=JSON and key=@FILE. The
// tool's schema decides the type of a value.
func wordsObject(ctx context.Context, t *toolbox.Tool, flag string, words []string) ([]byte, error) {
	object := []byte{'{'}
	for _, word := range words {
		key, value, ok := strings.Cut(word, "=")
		key, isJSON := strings.CutSuffix(key, ":")
		if !ok || key == "" {
			return nil, failure.UsageError([]string{flag + ` NAME path=notes.txt lines:=3, or NAME '{"path":"notes.txt","lines":3}'`},
				"%s: %q is not of the form key=value or key:=JSON, and no JSON object", flag, word)
		}
		if err := checkKey(t, flag, key); err != nil {
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
			text, err := config.ReadFile(ctx, flag+" "+key, path, input.MaxInput, config.PlainFile, nil)
			if err == nil && !utf8.Valid(text) {
				err = failure.Usage("%s: %s: %q is not UTF-8 text", flag, key, path)
			}
			if err != nil {
				return nil, err
			}
			literal = jsontext.Quoted(string(text))
		default:
			var fault string
			if literal, fault = typed(t, key, value); fault != "" {
				return nil, failure.UsageError([]string{key + ":=JSON gives a value of any type"}, "%s: %q does not fit the schema of the tool: %s", flag, word, fault)
			}
		}
		object = jsontext.AppendMember(object, key, literal)
	}
	return append(object, '}'), nil
}

// checkKey refuses a key that is not in the tool's schema, unless the schema describes additional
// properties or no properties.
func checkKey(t *toolbox.Tool, flag, key string) error {
	var known []string
	for name := range jsontext.Members(jsontext.Member(t.InputSchema, "properties")) {
		known = append(known, jsontext.Unquote(name))
	}
	more := jsontext.Member(t.InputSchema, "additionalProperties")
	allowsMore := jsontext.Kind(more) == '{' || jsontext.IsTrue(more) || jsontext.Member(t.InputSchema, "patternProperties") != nil
	if len(known) == 0 || allowsMore || slices.Contains(known, key) {
		return nil
	}
	hints := config.DidYouMean("", config.Nearest(key, known), "arguments: "+config.JoinWords(known))
	return failure.UsageError(hints, "%s: the tool has no argument %q", flag, key)
}

// typed converts the value of a key to JSON: a string if the schema allows a string, else the JSON
// text of value itself. fault says why it does not match the schema.
func typed(t *toolbox.Tool, key, value string) (literal []byte, fault string) {
	literal = jsontext.Quoted(value)
	fault = t.MisfitAt(key, literal)
	if own := []byte(strings.TrimSpace(value)); fault != "" && jsontext.Check(own, jsontext.Options{}) == nil {
		literal, fault = own, t.MisfitAt(key, own)
	}
	return literal, fault
}
