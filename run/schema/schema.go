// Package schema checks JSON values against JSON Schemas of the drafts 2020-12 and 7. It finds all
// faults with their positions, compares numbers exactly, and limits the time and memory that an
// untrusted schema can use. It never fetches a reference.
//
// Package run checks answers against --schema, and arguments of calls against the schemas of the
// tools.
package schema

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"toolpipe/stream/text/jsontext"
)

const (
	maxText    = 1 << 20 // bytes of a schema
	maxDepth   = 128     // nesting of a schema and of a value
	maxValue   = 64 << 20
	maxSteps   = 1 << 18 // of one check, about a microsecond each: an interrupted run ends in order within 4 s
	maxProgram = 1 << 18 // instructions of all patterns of a schema, 40 bytes each; the last pattern may exceed it
	maxChain   = 64      // consecutive references and alternatives at one position of a value

	stepsOfMatch = 100 // one step is this many bytes of text times instructions of the pattern
)

type Schema struct {
	// Unchecked lists the keywords that are not checked with their positions, for example "format
	// at /properties/date".
	Unchecked []string

	root     *node
	draft7   bool
	at       map[string]*node    // schemas of the document by JSON Pointer
	byName   map[string]*node    // named schemas by URI and anchor
	patterns map[string]*pattern // by text; nil if Go does not support it or it is too large
	program  int                 // instructions of the patterns
	inexact  bool                // there is such a pattern; it matches every value
	strict   bool                // a keyword makes a value fail because it matches another schema
	depends  bool                // a keyword depends on the parts that no other keyword evaluated
}

type node struct {
	path   string
	base   *url.URL           // for its references
	never  bool               // the schema is false
	raw    map[string][]byte  // values of its keywords
	below  map[string]*node   // subschemas, such as "not", "properties/a"
	lists  map[string][]*node // keywords with a list of schemas, such as "allOf"
	target *node              // of $ref
}

type pattern struct {
	*regexp.Regexp
	size int
}

// ErrMalformed is wrapped by the error for a text that is no schema in any draft.
var ErrMalformed = errors.New("not a JSON Schema")

// Compile reads a schema. The error says why it cannot be used.
func Compile(text []byte) (s *Schema, err error) {
	if len(text) > maxText {
		return nil, fmt.Errorf("the schema is larger than %d MiB", maxText>>20)
	}
	if err := jsontext.Check(text, jsontext.Options{Depth: maxDepth, DuplicateNames: true}); err != nil {
		return nil, err
	}
	text = bytes.TrimSpace(text)
	s = &Schema{at: map[string]*node{}, byName: map[string]*node{}, patterns: map[string]*pattern{}}
	draft := jsontext.Text(jsontext.Member(text, "$schema"))
	switch strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(draft, "http:"), "https:"), "#") {
	case "//json-schema.org/draft-07/schema", "//json-schema.org/draft-06/schema": // draft 6 is a subset of draft 7
		s.draft7 = true
	case "//json-schema.org/draft/2020-12/schema", "":
	default:
		return nil, errors.New("$schema names another draft than 2020-12 and 7")
	}
	// Relative references of a schema without an $id are relative to this URI.
	base := &url.URL{Scheme: "https", Host: "schema.invalid", Path: "/"}
	if s.root, err = s.parse(text, "", base); err != nil {
		return nil, err
	}
	s.byName[base.String()+"#"] = s.root
	slices.Sort(s.Unchecked)
	if s.inexact && s.strict {
		return nil, fmt.Errorf("%s cannot be checked, and not, if, oneOf or maxContains depends on it", strings.Join(s.Unchecked, ", "))
	}
	for _, path := range slices.Sorted(maps.Keys(s.at)) {
		n := s.at[path]
		if ref := n.raw["$ref"]; ref != nil {
			if n.target = s.target(n, jsontext.Text(ref)); n.target == nil {
				return nil, fmt.Errorf("$ref %s at %s leads to no schema of this document, and no reference is fetched", ref, shown(n.path))
			}
		}
	}
	return s, nil
}

func (s *Schema) parse(raw []byte, path string, base *url.URL) (*node, error) {
	n := &node{path: path, base: base, never: string(raw) == "false"}
	s.at[path] = n
	switch raw[0] {
	case 't', 'f':
		return n, nil
	case '{':
	default:
		return nil, fmt.Errorf("%w: the value at %s is no schema: a schema is an object, true or false", ErrMalformed, shown(path))
	}
	n.raw, n.below, n.lists = map[string][]byte{}, map[string]*node{}, map[string][]*node{}
	for name, v := range jsontext.Members(raw) {
		n.raw[jsontext.Unquote(name)] = v
	}
	if err := s.identify(n); err != nil {
		return nil, err
	}
	for _, keyword := range slices.Sorted(maps.Keys(n.raw)) {
		v := n.raw[keyword]
		ok, err := s.keyword(n, keyword, v)
		if err == nil && !ok {
			err = fmt.Errorf("%w: %s at %s cannot be %s", ErrMalformed, keyword, shown(path), clip(string(v)))
		}
		if err != nil {
			return nil, err
		}
	}
	return n, nil
}

func (s *Schema) identify(n *node) (err error) {
	id, bad := url.Parse(jsontext.Text(n.raw["$id"]))
	switch {
	case bad != nil || *id == (url.URL{}) || s.draft7 && n.raw["$ref"] != nil: // in draft 7, keywords beside $ref are ignored
	case id.Fragment != "": // an anchor in draft 7, and for generators of later drafts
		err = s.name(n, "$id", id.Fragment)
	default:
		n.base = n.base.ResolveReference(id)
		n.base.Fragment = ""
		err = s.name(n, "$id", "")
	}
	for _, keyword := range []string{"$anchor", "$dynamicAnchor"} {
		if anchor := jsontext.Text(n.raw[keyword]); anchor != "" && err == nil {
			err = s.name(n, keyword, anchor)
		}
	}
	return err
}

// name registers n under its base and an anchor. The same name for two schemas is an error, as JSON
// Schema recommends: a reference would be ambiguous.
func (s *Schema) name(n *node, keyword, anchor string) error {
	name := n.base.String() + "#" + anchor
	if same := s.byName[name]; same != nil && same != n {
		return fmt.Errorf("%w: %s %s appears at %s and at %s", ErrMalformed, keyword, clip(string(n.raw[keyword])), shown(same.path), shown(n.path))
	}
	s.byName[name] = n
	return nil
}

// keyword reads a keyword of n. ok is false for a value of the wrong type.
func (s *Schema) keyword(n *node, keyword string, v []byte) (ok bool, err error) {
	switch kind := v[0]; keyword {
	case "$dynamicRef": // its target depends on the path to it
		return false, errors.New("$dynamicRef is not followed")
	case "$ref", "$id", "$schema", "$anchor", "$dynamicAnchor":
		return kind == '"', nil
	case "uniqueItems":
		return kind == 't' || kind == 'f', nil
	case "minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains", "minProperties", "maxProperties":
		s.strict = s.strict || keyword == "maxContains"
		_, ok = count(v)
		return ok, nil
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf":
		d, ok := decimal(v)
		return ok && (keyword != "multipleOf" || len(d.Digits) > 0 && !d.Negative), nil
	case "pattern":
		if ok = kind == '"'; ok && s.pattern(jsontext.Text(v)) != nil {
			s.note(keyword, n)
			s.inexact = true
		}
		return ok, nil
	case "enum":
		return kind == '[', nil
	case "type":
		names, ok := typeNames(v)
		for _, name := range names {
			if !slices.Contains([]string{"null", "boolean", "integer", "number", "string", "array", "object"}, name) {
				return false, fmt.Errorf("%w: type at %s: there is no type %q", ErrMalformed, shown(n.path), name)
			}
		}
		return ok && len(names) > 0, nil
	case "required":
		return allTexts(v), nil
	case "const", "$vocabulary", "$comment", "title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly":
		return true, nil
	}
	return s.applicator(n, keyword, v)
}

// applicator reads a keyword that contains schemas. Any other keyword is noted as unchecked.
func (s *Schema) applicator(n *node, keyword string, v []byte) (ok bool, err error) {
	switch kind := v[0]; keyword {
	case "not", "if":
		s.strict = true
		return true, s.add(n, keyword, v)
	case "unevaluatedItems", "unevaluatedProperties":
		s.depends = true
		return true, s.add(n, keyword, v)
	case "then", "else", "additionalProperties", "additionalItems", "contains", "propertyNames":
		return true, s.add(n, keyword, v)
	case "items":
		switch {
		case kind != '[':
			return true, s.add(n, keyword, v)
		case !s.draft7:
			s.note(keyword+" as a list", n)
			return true, nil
		}
		fallthrough
	case "allOf", "anyOf", "oneOf", "prefixItems":
		s.strict = s.strict || keyword == "oneOf"
		for one := range jsontext.Elements(v) {
			below, err := s.parse(one, n.path+"/"+keyword+"/"+strconv.Itoa(len(n.lists[keyword])), n.base)
			if err != nil {
				return false, err
			}
			n.lists[keyword] = append(n.lists[keyword], below)
		}
		return kind == '[', nil
	case "properties", "patternProperties", "dependentSchemas", "dependentRequired", "dependencies", "$defs", "definitions":
		return s.named(n, keyword, v)
	}
	if !strings.HasPrefix(keyword, "x-") { // includes format and content…
		s.note(keyword, n)
	}
	return true, nil
}

// named reads a keyword that maps names to schemas or to lists of properties.
func (s *Schema) named(n *node, keyword string, v []byte) (ok bool, err error) {
	for literal, one := range jsontext.Members(v) {
		if keyword == "dependentRequired" || keyword == "dependencies" && one[0] == '[' {
			if !allTexts(one) {
				return false, nil
			}
			continue
		}
		name := jsontext.Unquote(literal)
		if keyword == "patternProperties" {
			if err := s.pattern(name); err != nil {
				return false, fmt.Errorf("patternProperties at %s: the pattern %s cannot be used: %v", shown(n.path), literal, err)
			}
		}
		if err := s.add(n, keyword+"/"+pointerStep(name), one); err != nil {
			return false, err
		}
	}
	return v[0] == '{', nil
}

func (s *Schema) add(n *node, step string, raw []byte) (err error) {
	n.below[step], err = s.parse(raw, n.path+"/"+step, n.base)
	return err
}

func (s *Schema) note(keyword string, n *node) {
	s.Unchecked = append(s.Unchecked, keyword+" at "+shown(n.path))
}

// pattern compiles a pattern of the document. It counts the compiled instructions, because a short
// pattern with repetitions can take megabytes.
func (s *Schema) pattern(text string) error {
	if s.program > maxProgram {
		return errors.New("all patterns together are too large")
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return err
	}
	s.program += len(program.Inst)
	compiled, err := regexp.Compile(text)
	if err == nil {
		s.patterns[text] = &pattern{compiled, len(program.Inst)}
	}
	return err
}

func allTexts(array []byte) bool {
	for v := range jsontext.Elements(array) {
		if v[0] != '"' {
			return false
		}
	}
	return array[0] == '['
}

func typeNames(v []byte) (names []string, ok bool) {
	if v[0] == '"' {
		return []string{jsontext.Unquote(v)}, true
	}
	return jsontext.Strings(v), allTexts(v)
}

func decimal(v []byte) (d jsontext.Decimal, ok bool) {
	if jsontext.IsNumber(v) {
		d, ok = jsontext.ParseDecimal(v)
	}
	return d, ok
}

func isWhole(d jsontext.Decimal) bool { return int64(len(d.Digits)) <= max(d.Exponent, 0) }

// count reads an integer, which may be written as 2.0.
func count(v []byte) (n int, ok bool) {
	d, ok := decimal(v)
	if !ok || !isWhole(d) || d.Negative || d.Exponent > 18 {
		return 0, false
	}
	f, _ := strconv.ParseFloat(string(v), 64)
	return int(min(f, math.MaxInt32)), true
}

// target finds the schema to which a reference of n leads; nil for none.
func (s *Schema) target(n *node, ref string) *node {
	u, err := url.Parse(ref)
	if err != nil {
		return nil
	}
	u = n.base.ResolveReference(u)
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	uri := u.String() + "#"
	if fragment != "" && fragment[0] != '/' {
		return s.byName[uri+fragment]
	}
	if of := s.byName[uri]; of != nil {
		return s.at[of.path+fragment]
	}
	return nil
}

// pointerStep escapes a name as a step of a JSON Pointer (RFC 6901).
func pointerStep(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
