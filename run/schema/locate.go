package schema

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Fault is one thing about a value that does not fit its schema.
type Fault struct {
	Path    string // of the part of the value, as a JSON Pointer; "" is the whole
	Keyword string // that it does not fit; "" where the text is not JSON
	Message string
}

func (f Fault) String() string {
	s := shown(f.Path) + ": "
	if f.Keyword != "" {
		s += f.Keyword + ": "
	}
	return s + f.Message
}

// Text joins faults to one line.
func Text(faults []Fault) string {
	var all []string
	for _, f := range faults {
		all = append(all, f.String())
	}
	return strings.Join(all, "; ")
}

// shown is a JSON Pointer for people.
func shown(path string) string {
	if path == "" {
		return "(the whole)"
	}
	return clip(path)
}

const maxFaults = 10

// locator finds the faults of a value that does not fit.
type locator struct {
	*Schema
	found []Fault
	left  int // probes of one schema that may still be made
}

// locate returns the faults of v, of which the library said err.
func (s *Schema) locate(v any, err error) []Fault {
	if s.probes == nil {
		var perr error
		if s.probes, perr = s.newProbes(); perr != nil {
			return []Fault{fault("", nil, err)}
		}
	}
	l := &locator{Schema: s, left: maxSteps / len(s.at)} // each costs as much as there are schemas
	l.visit(s.root, v, "")
	if len(l.found) == 0 {
		return []Fault{fault("", nil, err)}
	}
	return l.found
}

// local returns a copy of n without the keywords that visit follows.
func (s *Schema) local(n *node) *node {
	c := n.CloneSchemas()
	c.Defs, c.Definitions, c.ID, c.Anchor, c.DynamicAnchor = nil, nil, "", "", ""
	c.AllOf = nil
	if len(s.targets(n, n.Ref)) == 1 {
		c.Ref = ""
	}
	if n.UnevaluatedProperties == nil && n.UnevaluatedItems == nil { // these depend on the others
		c.Properties, c.PatternProperties, c.AdditionalProperties = nil, nil, nil
		c.Items, c.ItemsArray, c.PrefixItems, c.AdditionalItems = nil, nil, nil, nil
	}
	return c
}

// visit adds the faults of v against n, first those of its parts.
func (l *locator) visit(n *node, v any, path string) {
	if len(l.found) >= maxFaults {
		return
	}
	before := len(l.found)
	if targets := l.targets(n, n.Ref); len(targets) == 1 {
		l.visit(targets[0], v, path)
	}
	if n.Ref != "" && l.isDraft7() { // the other keywords do not count there
		return
	}
	for _, one := range n.AllOf {
		l.visit(one, v, path)
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			l.member(n, name, v[name], path+"/"+pointerStep(name))
		}
	case []any:
		for i, e := range v {
			l.element(n, i, e, path+"/"+strconv.Itoa(i))
		}
	}
	depends := n.UnevaluatedProperties != nil || n.UnevaluatedItems != nil
	if len(l.found) >= maxFaults || depends && len(l.found) > before {
		return
	}
	if l.left--; l.left < 0 {
		return
	}
	if err := l.probes.check(n, v); err != nil {
		l.add(fault(path, n, err))
	}
}

// member visits the schemas of n that are about its member e.
func (l *locator) member(n *node, name string, e any, path string) {
	known := n.Properties[name] != nil
	if known {
		l.visit(n.Properties[name], e, path)
	}
	for _, pattern := range slices.Sorted(maps.Keys(n.PatternProperties)) {
		if ok, _ := regexp.MatchString(pattern, name); ok {
			known = true
			l.visit(n.PatternProperties[pattern], e, path)
		}
	}
	switch additional := n.AdditionalProperties; {
	case known || additional == nil:
	case isFalse(additional):
		message := "no property is allowed"
		if len(n.Properties) > 0 {
			message = "is none of " + strings.Join(slices.Sorted(maps.Keys(n.Properties)), ", ")
		}
		l.add(Fault{path, "additionalProperties", clip(message)})
	default:
		l.visit(additional, e, path)
	}
}

// element visits the schema of n that is about its element i.
func (l *locator) element(n *node, i int, e any, path string) {
	list, rest := n.PrefixItems, n.Items
	if l.isDraft7() && n.ItemsArray != nil {
		list, rest = n.ItemsArray, n.AdditionalItems
	}
	switch {
	case i < len(list):
		l.visit(list[i], e, path)
	case rest != nil:
		l.visit(rest, e, path)
	}
}

// add keeps a fault, once: two schemas may find the same.
func (l *locator) add(f Fault) {
	if len(l.found) < maxFaults && !slices.Contains(l.found, f) {
		l.found = append(l.found, f)
	}
}

// fault reads the library's error about a value and the schema n: the keyword
// and a text follow the names of the schemas that led there.
func fault(path string, n *node, err error) Fault {
	text := err.Error()
	for {
		rest, ok := strings.CutPrefix(text, "validating ")
		if _, after, more := strings.Cut(rest, ": "); ok && more {
			text = after
			continue
		}
		break
	}
	keyword, message, ok := strings.Cut(text, ": ")
	switch {
	case n != nil && isFalse(n):
		return Fault{path, "false", "nothing is allowed here"}
	case !ok:
		return Fault{path, "schema", clip(text)}
	case n == nil:
		n = &node{}
	}
	return Fault{path, keyword, clip(worded(keyword, message, n))}
}

// worded returns the library's message about a keyword of n in plain words,
// without the value, which the library writes in the syntax of Go.
func worded(keyword, message string, n *node) string {
	from := func(words string) string { return message[max(strings.LastIndex(message, words), 0):] }
	number := func(words string, f *float64) string {
		if f == nil { // the keyword is of a schema below n
			return message
		}
		return words + strconv.FormatFloat(*f, 'g', -1, 64)
	}
	switch keyword {
	case "type":
		return from("has type")
	case "minLength", "maxLength":
		return from("contains")
	case "pattern":
		return from("does not match")
	case "enum":
		if list, err := json.Marshal(n.Enum); err == nil && n.Enum != nil {
			return "is none of " + string(list)
		}
	case "const":
		if value, err := json.Marshal(n.Const); err == nil && n.Const != nil {
			return "is not " + string(value)
		}
	case "minimum":
		return number("is less than ", n.Minimum)
	case "maximum":
		return number("is greater than ", n.Maximum)
	case "exclusiveMinimum":
		return number("is not greater than ", n.ExclusiveMinimum)
	case "exclusiveMaximum":
		return number("is not less than ", n.ExclusiveMaximum)
	case "multipleOf":
		return number("is not a multiple of ", n.MultipleOf)
	case "anyOf":
		return "fits none of the alternatives"
	case "oneOf":
		if strings.HasPrefix(message, "did not") {
			return "fits none of the alternatives"
		}
		return "fits more than one of the alternatives"
	case "not":
		return "is what the schema excludes"
	}
	return message
}

// clip shortens a text in its middle: the library prints whole values, and says
// behind them what was wrong.
func clip(s string) string {
	const head, tail = 60, 140
	if len(s) <= head+tail {
		return s
	}
	from, to := head, len(s)-tail
	for !utf8.RuneStart(s[from]) {
		from--
	}
	for !utf8.RuneStart(s[to]) {
		to++
	}
	return s[:from] + " … " + s[to:]
}
