package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"toolpipe/stream/text/jsontext"
)

// IsShort reports whether a text may be the short form of a schema. A single word is not: it names
// a file.
func IsShort(text string) bool {
	return strings.HasPrefix(text, "[]") || strings.ContainsAny(text, " \t\r\n,:")
}

// FromShort returns the JSON Schema of the short form, which is the one of the program llm: members
// separated by commas, or one on each line. A member is a name, a type if it is not a string, and
// after a colon a description. All members are required, and no others are allowed. After "[]" the
// schema is of an array of such objects.
func FromShort(text string) ([]byte, error) {
	members, isArray := strings.CutPrefix(strings.TrimSpace(text), "[]")
	members = strings.TrimSpace(members)
	separator := ","
	if strings.Contains(members, "\n") {
		separator = "\n"
	}
	var properties, required []string
	for member := range strings.SplitSeq(members, separator) {
		head, description, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(member), ","), ":")
		words := strings.Fields(head)
		if description = strings.TrimSpace(description); len(words) == 0 && description == "" {
			continue
		}
		name, kind, err := shortMember(words)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", clip(strings.TrimSpace(member)), err)
		}
		quoted := string(jsontext.Quoted(name))
		if slices.Contains(required, quoted) {
			return nil, fmt.Errorf("the name %q appears twice", clip(name))
		}
		property := quoted + `:{"type":"` + kind + `"`
		if description != "" {
			property += `,"description":` + string(jsontext.Quoted(description))
		}
		properties, required = append(properties, property+"}"), append(required, quoted)
	}
	if len(required) == 0 {
		return nil, errors.New("it names no member")
	}
	object := `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"required":[` + strings.Join(required, ",") + `],"additionalProperties":false}`
	if isArray {
		object = `{"type":"array","items":` + object + "}"
	}
	return []byte(object), nil
}

// shortMember reads the words before the colon of a member. kind is the type in JSON Schema.
func shortMember(words []string) (name, kind string, err error) {
	kinds := map[string]string{"str": "string", "int": "integer", "float": "number", "number": "number", "bool": "boolean"}
	switch words = append(words, "str"); {
	case len(words) == 1 || !isShortName(words[0]):
		return "", "", errors.New("a member begins with a name of letters, digits, _ and -")
	case len(words) > 3:
		return "", "", errors.New("only a name and a type may precede the colon of a description")
	case kinds[words[1]] == "":
		return "", "", fmt.Errorf("there is no type %q, only str, int, float, number and bool", clip(words[1]))
	}
	return words[0], kinds[words[1]], nil
}

func isShortName(s string) bool {
	for i, r := range s {
		if r != '_' && !unicode.IsLetter(r) && (i == 0 || r != '-' && !unicode.In(r, unicode.M, unicode.N)) {
			return false
		}
	}
	return true
}
