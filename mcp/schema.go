package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

const (
	maxSchema      = 256 << 10
	maxSchemaNodes = 10_000
	maxSchemaDepth = 64
)

// emptySchema is for tools that take no arguments, or have no schema.
const emptySchema = `{"type":"object","properties":{}}`

// OfferedSchema is the tool schema that a model sees: raw itself if every provider accepts
// it, otherwise a copy. The root of the copy is an object with properties, without a
// composition such as anyOf. The note is one line with the parts left out, for the tool's
// description. raw is nil or valid JSON.
func OfferedSchema(raw json.RawMessage) (schema json.RawMessage, note string) {
	if jsontext.Kind(raw) != '{' {
		return json.RawMessage(emptySchema), ""
	}
	var keep, dropped []string
	typed, shaped, sound := false, false, true
	for name, value := range jsontext.Members(raw) {
		switch n := jsontext.Unquote(name); {
		case n == "type" && jsontext.Text(value) == "object" && !typed:
			typed = true
		case n == "properties" && jsontext.Kind(value) == '{' && !shaped:
			shaped = true
		case n == "required" && jsontext.Kind(value) == '[':
		case n == "type" || n == "properties" || n == "required":
			sound = false
			continue
		case slices.Contains(compositions, n):
			sound = false
			dropped = append(dropped, string(name)+":"+string(jsontext.AppendCompact(nil, value)))
			continue
		}
		keep = append(keep, string(name)+":"+string(value))
	}
	if sound && typed && shaped {
		return raw, ""
	}
	if !shaped {
		keep = append([]string{`"properties":{}`}, keep...)
	}
	if !typed {
		keep = append([]string{`"type":"object"`}, keep...)
	}
	if len(dropped) > 0 {
		rest := strings.Fields(readable.Cut(strings.Join(dropped, ","), 1000, "…"))
		note = "The arguments must also match: {" + strings.Join(rest, " ") + "}"
	}
	return json.RawMessage("{" + strings.Join(keep, ",") + "}"), note
}

// compositions are the keywords that providers refuse at the root.
var compositions = []string{"anyOf", "oneOf", "allOf", "not", "if", "then", "else"}

type schemaWalk struct {
	root    string // its $id
	nodes   int
	headers []paramHeader
	misuse  string // the fault in the x-mcp-header annotations; "" if they are right
}

// walkSchema returns an error for a schema that is too large or refers to another document;
// no document is ever fetched.
func walkSchema(raw []byte) (*schemaWalk, error) {
	w := &schemaWalk{root: jsontext.Text(jsontext.Member(raw, "$id"))}
	if len(raw) > maxSchema {
		return w, fmt.Errorf("its schema has %d bytes, the limit is %d", len(raw), maxSchema)
	}
	return w, w.schema(raw, 0, []string{})
}

// schema checks one subschema. path is its path through properties; nil if the path has other
// keywords.
func (w *schemaWalk) schema(raw []byte, depth int, path []string) error {
	if w.nodes++; w.nodes > maxSchemaNodes {
		return fmt.Errorf("its schema has more than %d parts", maxSchemaNodes)
	}
	if depth > maxSchemaDepth {
		return fmt.Errorf("its schema is nested more than %d deep", maxSchemaDepth)
	}
	w.header(raw, path)
	for name, value := range jsontext.Members(raw) {
		if err := w.keyword(jsontext.Unquote(name), value, depth+1, path); err != nil {
			return err
		}
	}
	return nil
}

func (w *schemaWalk) keyword(name string, value []byte, depth int, path []string) error {
	switch name {
	case "enum", "const", "default", "examples", "example": // data, not schemas
		return nil
	case "$ref", "$dynamicRef", "$recursiveRef":
		if jsontext.Kind(value) == '"' && !w.local(jsontext.Unquote(value)) {
			return fmt.Errorf("its schema refers to another document: %q", jsontext.Unquote(value))
		}
		return nil
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		for key, sub := range jsontext.Members(value) {
			var to []string
			if name == "properties" && path != nil {
				to = append(path[:len(path):len(path)], jsontext.Unquote(key))
			}
			if err := w.schema(sub, depth, to); err != nil {
				return err
			}
		}
		return nil
	}
	if jsontext.Kind(value) == '{' {
		return w.schema(value, depth, nil)
	}
	for sub := range jsontext.Elements(value) {
		if jsontext.Kind(sub) == '{' || jsontext.Kind(sub) == '[' {
			if err := w.keyword("", sub, depth+1, nil); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *schemaWalk) local(ref string) bool {
	if ref == "" || ref[0] == '#' {
		return true
	}
	document, _, _ := strings.Cut(ref, "#")
	return w.root != "" && document == strings.TrimSuffix(w.root, "#")
}
