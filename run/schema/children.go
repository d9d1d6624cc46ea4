package schema

import (
	"maps"
	"slices"
	"strconv"
	"strings"
)

// place says which part of a value a schema below another one is about.
type place uint8

const (
	nowhere    place = iota // a definition, which only references lead to
	inPlace                 // the value itself
	inMember                // the member of that name
	inMembers               // members
	inNames                 // the names of members
	inElement               // the element of that number
	inElements              // elements
)

// child is a schema directly below another one.
type child struct {
	schema *node
	path   string // from the one above, as a JSON Pointer
	in     place
	name   string
	number int
}

// children returns the schemas directly below n.
func children(n *node) (all []child) {
	for _, one := range []child{
		{n.Not, "/not", inPlace, "", 0}, {n.If, "/if", inPlace, "", 0}, {n.Then, "/then", inPlace, "", 0}, {n.Else, "/else", inPlace, "", 0},
		{n.AdditionalProperties, "/additionalProperties", inMembers, "", 0}, {n.UnevaluatedProperties, "/unevaluatedProperties", inMembers, "", 0},
		{n.PropertyNames, "/propertyNames", inNames, "", 0}, {n.Items, "/items", inElements, "", 0}, {n.AdditionalItems, "/additionalItems", inElements, "", 0},
		{n.Contains, "/contains", inElements, "", 0}, {n.UnevaluatedItems, "/unevaluatedItems", inElements, "", 0},
		{n.ContentSchema, "/contentSchema", nowhere, "", 0},
	} {
		if one.schema != nil {
			all = append(all, one)
		}
	}
	for _, list := range []struct {
		key     string
		schemas []*node
		in      place
	}{
		{"/allOf/", n.AllOf, inPlace}, {"/anyOf/", n.AnyOf, inPlace}, {"/oneOf/", n.OneOf, inPlace},
		{"/prefixItems/", n.PrefixItems, inElement}, {"/items/", n.ItemsArray, inElement},
	} {
		for i, s := range list.schemas {
			if s != nil {
				all = append(all, child{s, list.key + strconv.Itoa(i), list.in, "", i})
			}
		}
	}
	for _, table := range []struct {
		key     string
		schemas map[string]*node
		in      place
	}{
		{"/properties/", n.Properties, inMember}, {"/patternProperties/", n.PatternProperties, inMembers},
		{"/dependentSchemas/", n.DependentSchemas, inPlace}, {"/dependencies/", n.DependencySchemas, inPlace},
		{"/$defs/", n.Defs, nowhere}, {"/definitions/", n.Definitions, nowhere},
	} {
		for _, name := range slices.Sorted(maps.Keys(table.schemas)) {
			if s := table.schemas[name]; s != nil {
				all = append(all, child{s, table.key + pointerStep(name), table.in, name, 0})
			}
		}
	}
	return all
}

// pointerStep returns a name as a step of a JSON Pointer (RFC 6901).
func pointerStep(name string) string {
	return strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
}
