// Package schema checks JSON values against JSON Schemas of the drafts 2020-12
// and 7. It wraps github.com/google/jsonschema-go, which stops at the first
// error and does not say where in the value that is: this package finds the
// place and the keyword of each error, and keeps schemas of strangers from using
// up time, stack or memory. No reference is ever fetched.
//
// Package run checks answers against --schema and the arguments of calls against
// the schemas of the tools.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"

	jsonschema "github.com/google/jsonschema-go/jsonschema"

	"toolpipe/stream/jsontext"
)

const (
	maxText  = 1 << 20 // bytes of a schema
	maxDepth = 128     // nesting of a schema and of a value
	maxValue = 64 << 20
	maxSteps = 1 << 19 // what one check may cost, see meter
	maxChain = 64      // references and alternatives that follow one another at one place of a value
)

// Schema is a compiled schema.
type Schema struct {
	// Unchecked names the keywords that are not checked and their places, such
	// as "format at /properties/date".
	Unchecked []string

	root     *node
	resolved *jsonschema.Resolved
	at       map[string]*node // the schemas in root, by their JSON Pointers
	below    map[*node][]child
	base     map[*node]base     // what references in a schema are relative to
	byURI    map[string]*node   // the schemas with an $id, and root
	anchors  map[string][]*node // by name
	probes   *probes            // nil: not made yet
}

// base is the schema with an $id around another one, or root.
type base struct {
	uri  *url.URL
	path string // of that schema
}

// node is one schema of a document; this file alone knows the library.
type node = jsonschema.Schema

// ErrMalformed is in the error about a text that no draft takes for a schema.
var ErrMalformed = errors.New("not a JSON Schema")

// Compile reads a schema. The error says why values cannot be checked against it.
func Compile(text []byte) (s *Schema, err error) {
	defer recovered(&err)
	if len(text) > maxText {
		return nil, fmt.Errorf("the schema is larger than %d MiB", maxText>>20)
	}
	if err := jsontext.Check(text, jsontext.Options{Depth: maxDepth, DuplicateNames: true}); err != nil {
		return nil, err
	}
	s = &Schema{root: new(node), at: map[string]*node{}, below: map[*node][]child{}, base: map[*node]base{}, byURI: map[string]*node{}, anchors: map[string][]*node{}}
	name := jsontext.Text(jsontext.Member(bytes.TrimSpace(text), "$schema"))
	if name != "" && draft(name) == "" {
		return nil, errors.New("$schema names another draft than 2020-12 and 7")
	}
	if err := json.Unmarshal(text, s.root); err != nil {
		return nil, fmt.Errorf("%w: %s", ErrMalformed, notRead(err))
	}
	s.root.Schema = draft(name)
	uri, err := url.Parse(baseURI)
	if err != nil {
		return nil, err
	}
	s.byURI[baseURI] = s.root
	s.index("", s.root, base{uri: uri})
	if err := s.types(); err != nil {
		return nil, err
	}
	if err := s.leaveOut(); err != nil {
		return nil, err
	}
	fetch := func(*url.URL) (*node, error) { return nil, errors.New("no reference is fetched") }
	s.resolved, err = s.root.Resolve(&jsonschema.ResolveOptions{BaseURI: baseURI, Loader: fetch})
	if err != nil {
		return nil, err
	}
	slices.Sort(s.Unchecked)
	return s, nil
}

// notRead says in the words of JSON Schema why the library could not read one.
func notRead(err error) string {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	if keyword := wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:]; keyword != "" {
		return fmt.Sprintf("%s cannot be of the type %s", keyword, wrong.Value)
	}
	return "the type " + wrong.Value + " stands where a schema should be, which is an object, true or false"
}

// types refuses a type that there is not, such as "any": no value has it.
func (s *Schema) types() error {
	known := []string{"null", "boolean", "object", "array", "number", "string", "integer"}
	for _, path := range slices.Sorted(maps.Keys(s.at)) {
		n := s.at[path]
		names := n.Types
		if n.Type != "" {
			names = []string{n.Type}
		}
		if names != nil && len(names) == 0 {
			return fmt.Errorf("%w: type at %s: the list is empty", ErrMalformed, shown(path))
		}
		for _, name := range names {
			if !slices.Contains(known, name) {
				return fmt.Errorf("%w: type at %s: there is no type %q", ErrMalformed, shown(path), name)
			}
		}
	}
	return nil
}

// baseURI is what relative references of a schema without an $id stand for.
const baseURI = "https://schema.invalid/"

// draft returns the name of a draft as the library knows it, "" for one that it
// does not know. Draft 6 is a part of draft 7, and many schemas leave out the
// number sign at the end.
func draft(name string) string {
	switch strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(name, "http:"), "https:"), "#") {
	case "//json-schema.org/draft-07/schema", "//json-schema.org/draft-06/schema":
		return "http://json-schema.org/draft-07/schema#"
	case "//json-schema.org/draft/2020-12/schema":
		return "https://json-schema.org/draft/2020-12/schema"
	}
	return ""
}

// recovered turns a panic of the library into an error.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the schema cannot be used: %v", p)
	}
}

// index fills the tables for n, which stands at path, and the schemas below it.
func (s *Schema) index(path string, n *node, b base) {
	id, err := url.Parse(n.ID)
	switch {
	case n.ID == "" || err != nil || s.isDraft7() && n.Ref != "": // in draft 7, only $ref counts beside $ref
	case s.isDraft7() && id.Fragment != "":
		s.anchors[id.Fragment] = append(s.anchors[id.Fragment], n)
	default:
		b = base{b.uri.ResolveReference(id), path}
		s.byURI[b.uri.String()] = n
	}
	for _, name := range []string{n.Anchor, n.DynamicAnchor} {
		if name != "" {
			s.anchors[name] = append(s.anchors[name], n)
		}
	}
	s.at[path], s.base[n], s.below[n] = n, b, children(n)
	for _, c := range s.below[n] {
		s.index(path+c.path, c.schema, b)
	}
}

// leaveOut takes out what the library would check wrongly: patterns that Go does
// not have, a multipleOf such as 0.01, since it divides floating-point numbers,
// and numbers that a floating-point number does not hold. Without a keyword more
// values fit, or fewer below a negation or a choice of exactly one: a schema
// that has both is not used at all.
func (s *Schema) leaveOut() error {
	left, strict := false, false
	for _, n := range s.at { // before anything is taken out
		strict = strict || n.Not != nil && !isFalse(n) || n.If != nil || n.OneOf != nil || n.MaxContains != nil
	}
	for path, n := range s.at {
		note := func(keyword string) { s.Unchecked = append(s.Unchecked, keyword+" at "+shown(path)) }
		drop := func(keyword string) { note(keyword); left = true }
		if _, err := regexp.Compile(n.Pattern); err != nil {
			drop("pattern")
			n.Pattern = ""
		}
		for pattern := range n.PatternProperties {
			if _, err := regexp.Compile(pattern); err != nil {
				return fmt.Errorf("patternProperties at %s: the pattern %q is not one that Go has", shown(path), pattern)
			}
		}
		if m := n.MultipleOf; m != nil && (*m*(1<<20) != math.Trunc(*m*(1<<20)) || *m < 1 || inexact(*m)) {
			drop("multipleOf")
			n.MultipleOf = nil
		}
		for name, bound := range map[string]**float64{"minimum": &n.Minimum, "maximum": &n.Maximum, "exclusiveMinimum": &n.ExclusiveMinimum, "exclusiveMaximum": &n.ExclusiveMaximum} {
			if *bound != nil && inexact(**bound) {
				drop(name)
				*bound = nil
			}
		}
		if slices.ContainsFunc(n.Enum, inexact) {
			drop("enum")
			n.Enum = nil
		}
		if n.Const != nil && inexact(*n.Const) {
			drop("const")
			n.Const = nil
		}
		for name, there := range map[string]bool{
			"format": n.Format != "", "contentEncoding": n.ContentEncoding != "", "contentMediaType": n.ContentMediaType != "", "contentSchema": n.ContentSchema != nil,
			"items as a list": n.ItemsArray != nil && !s.isDraft7(), "dependencies": n.DependencySchemas != nil && !s.isDraft7() || n.DependencyStrings != nil && !s.isDraft7(),
		} {
			if there {
				note(name)
			}
		}
		for name := range n.Extra {
			if !strings.HasPrefix(name, "x-") {
				note(name)
			}
		}
	}
	if left && strict {
		slices.Sort(s.Unchecked)
		return fmt.Errorf("%s cannot be checked, and not, if or oneOf depends on it", strings.Join(s.Unchecked, ", "))
	}
	return nil
}

func (s *Schema) isDraft7() bool { return strings.Contains(s.root.Schema, "draft-07") }

// isFalse reports whether n is the schema that no value fits.
func isFalse(n *node) bool { return n != nil && n.Not != nil && reflect.ValueOf(*n.Not).IsZero() }

// inexact reports whether a value of a schema holds a number that may not be the
// one that was written.
func inexact(v any) bool {
	switch v := v.(type) {
	case float64:
		return math.Abs(v) >= 1<<53
	case []any:
		return slices.ContainsFunc(v, inexact)
	case map[string]any:
		for _, e := range v {
			if inexact(e) {
				return true
			}
		}
	}
	return false
}

// Check checks a JSON value and returns what does not fit. The error says why
// the value cannot be checked.
func (s *Schema) Check(text []byte) (faults []Fault, err error) {
	defer recovered(&err)
	if len(text) > maxValue {
		return nil, fmt.Errorf("the value is larger than %d MiB", maxValue>>20)
	}
	if err := jsontext.Check(text, jsontext.Options{Depth: maxDepth, LoneSurrogates: true}); err != nil {
		return []Fault{{Message: "is not JSON: " + err.Error()}}, nil
	}
	v, err := decode(text)
	if err != nil {
		return nil, err
	}
	m := meter{schema: s, left: maxSteps}
	if !m.visit(s.root, v, 0) {
		return nil, errors.New("the check would take too long")
	}
	if err := s.resolved.Validate(v); err != nil {
		return s.locate(v, err), nil
	}
	return nil, nil
}

// decode returns the value of a JSON text. Whole numbers stay exact, as far as
// Go has a type for them.
func decode(text []byte) (v any, err error) {
	d := json.NewDecoder(strings.NewReader(string(text)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	return numbers(v)
}

func numbers(v any) (_ any, err error) {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		return v.Float64()
	case []any:
		for i := range v {
			if v[i], err = numbers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for name := range v {
			if v[name], err = numbers(v[name]); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// targets returns the schemas that a reference of n may lead to: the one at a
// pointer, or all with the anchor, wherever they are.
func (s *Schema) targets(n *node, ref string) []*node {
	if ref == "" {
		return nil
	}
	u, err := url.Parse(ref)
	if err != nil {
		return nil
	}
	u = s.base[n].uri.ResolveReference(u)
	fragment := u.Fragment
	u.Fragment, u.RawFragment = "", ""
	document := s.byURI[u.String()]
	switch {
	case document == nil:
		return nil
	case fragment == "":
		return []*node{document}
	case fragment[0] != '/':
		return s.anchors[fragment]
	}
	path := fragment
	if u.String() != baseURI {
		path = s.base[document].path + fragment
	}
	if target := s.at[path]; target != nil {
		return []*node{target}
	}
	return nil
}

// probes checks one schema of a document by itself, with the references of the
// document. Member k of probe's value is checked against schema k alone.
type probes struct {
	resolved *jsonschema.Resolved
	names    map[*node]string
}

func (s *Schema) newProbes() (*probes, error) {
	document, key := s.root.CloneSchemas(), "definitions"
	definitions := document.Definitions // the library takes only one of definitions and $defs
	if definitions == nil {
		definitions, key = map[string]*node{}, "$defs"
		maps.Copy(definitions, document.Defs)
		document.Defs = definitions
	}
	p := &probes{names: map[*node]string{}}
	probe := &node{Schema: s.root.Schema, Properties: map[string]*node{}}
	for _, n := range s.at {
		name := fmt.Sprintf("toolpipe-%d", len(p.names))
		p.names[n] = name
		definitions[name] = s.local(n)
		probe.Properties[name] = &node{Ref: baseURI + "#/" + key + "/" + name}
	}
	load := func(*url.URL) (*node, error) { return document, nil }
	var err error
	p.resolved, err = probe.Resolve(&jsonschema.ResolveOptions{BaseURI: "https://probe.invalid/", Loader: load})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// check returns the error of v against n alone.
func (p *probes) check(n *node, v any) error {
	return p.resolved.Validate(map[string]any{p.names[n]: v})
}
