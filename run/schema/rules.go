package schema

import (
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"toolpipe/stream/text/jsontext"
)

func (x *visit) any() {
	if want := x.n.raw["type"]; want != nil {
		names, _ := typeNames(want)
		is := typeOf(x.v)
		if fits := slices.Contains(names, is) || is == "integer" && slices.Contains(names, "number"); !fits && len(names) == 1 {
			x.fail("type", "has type %q, want %q", is, names[0])
		} else if !fits {
			x.fail("type", "has type %q, want one of %q", is, strings.Join(names, ", "))
		}
	}
	if list := x.n.raw["enum"]; list != nil {
		found := false
		for v := range jsontext.Elements(list) {
			found = found || x.same(v, x.v)
		}
		if !found {
			x.fail("enum", "is none of %s", jsontext.AppendCompact(nil, list))
		}
	}
	if want := x.n.raw["const"]; want != nil && !x.same(want, x.v) {
		x.fail("const", "is not %s", jsontext.AppendCompact(nil, want))
	}
}

// same reports whether two values are equal. It returns true if that is too much work.
func (x *visit) same(a, b []byte) bool {
	return !x.spend(1+min(len(a), len(b))/64) || jsontext.Same(a, b)
}

func typeOf(v []byte) string {
	switch v[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	if d, ok := decimal(v); ok && isWhole(d) {
		return "integer"
	}
	return "number"
}

func (x *visit) number() {
	if !jsontext.IsNumber(x.v) {
		return
	}
	d, ok := decimal(x.v)
	x.over = x.over || !ok
	for _, bound := range []struct {
		keyword, words string
		fits           func(order int, of jsontext.Decimal) bool
	}{
		{"minimum", "is less than ", func(order int, _ jsontext.Decimal) bool { return order >= 0 }},
		{"maximum", "is greater than ", func(order int, _ jsontext.Decimal) bool { return order <= 0 }},
		{"exclusiveMinimum", "is not greater than ", func(order int, _ jsontext.Decimal) bool { return order > 0 }},
		{"exclusiveMaximum", "is not less than ", func(order int, _ jsontext.Decimal) bool { return order < 0 }},
		{"multipleOf", "is not a multiple of ", func(_ int, of jsontext.Decimal) bool { return x.multiple(d, of) }},
	} {
		if want := x.n.raw[bound.keyword]; want != nil {
			if of, _ := decimal(want); !bound.fits(d.Compare(of), of) {
				x.fail(bound.keyword, "%s%s", bound.words, want)
			}
		}
	}
}

func (x *visit) multiple(a, b jsontext.Decimal) bool {
	const most = 2000 // digits
	zeros := (a.Exponent - int64(len(a.Digits))) - (b.Exponent - int64(len(b.Digits)))
	if x.over = x.over || max(zeros, -zeros) > most || len(a.Digits)+len(b.Digits) > most; x.over || len(a.Digits) == 0 {
		return true
	}
	whole := func(d jsontext.Decimal, zeros int64) *big.Int {
		n, _ := new(big.Int).SetString(string(d.Digits)+strings.Repeat("0", int(max(zeros, 0))), 10)
		return n
	}
	return new(big.Int).Mod(whole(a, zeros), whole(b, -zeros)).Sign() == 0
}

func (x *visit) text() {
	if x.v[0] != '"' {
		return
	}
	s := jsontext.Unquote(x.v)
	x.limit("minLength", "maxLength", utf8.RuneCountInString(s), "Unicode code points")
	want := jsontext.Text(x.n.raw["pattern"])
	if pattern := x.schema.patterns[want]; pattern != nil && !x.matches(pattern, s) {
		x.fail("pattern", "does not match regular expression %q", want)
	}
}

func (x *visit) limit(least, most string, n int, things string) {
	if bound, ok := count(x.n.raw[least]); ok && n < bound {
		x.fail(least, "contains %d %s, fewer than %d", n, things, bound)
	}
	if bound, ok := count(x.n.raw[most]); ok && n > bound {
		x.fail(most, "contains %d %s, more than %d", n, things, bound)
	}
}

func (x *visit) array() {
	if x.v[0] != '[' {
		return
	}
	x.limit("minItems", "maxItems", len(x.parts), "elements")
	if jsontext.IsTrue(x.n.raw["uniqueItems"]) {
		x.unique()
	}
	contained := x.n.below["contains"]
	if contained == nil {
		return
	}
	fitting := 0
	for _, p := range x.parts {
		x.trying++
		if x.check.visit(contained, p.value, "", 0, nil) {
			fitting++
			x.look(p)
		}
		x.trying--
	}
	if x.n.raw["minContains"] == nil && fitting == 0 {
		x.fail("contains", "contains no element that fits")
	}
	x.limit("minContains", "maxContains", fitting, "elements that fit")
}

// unique compares the elements with each other: numbers only with numbers of the same digits,
// strings only with equal strings.
func (x *visit) unique() {
	like := map[string][]part{}
	for _, p := range x.parts {
		key := typeOf(p.value)
		if d, ok := decimal(p.value); ok {
			key = string(d.Digits)
		} else if key == "string" {
			key = `"` + jsontext.Unquote(p.value)
		}
		for _, other := range like[key] {
			if x.same(other.value, p.value) {
				x.fail("uniqueItems", "the elements %s and %s are equal", other.step, p.step)
				return
			}
		}
		like[key] = append(like[key], p)
	}
}

func (x *visit) object() {
	if x.v[0] != '{' {
		return
	}
	x.limit("minProperties", "maxProperties", len(x.parts), "properties")
	x.require("required", x.n.raw["required"])
	for _, keyword := range []string{"dependentRequired", "dependencies", "dependentSchemas"} {
		for literal, names := range jsontext.Members(x.n.raw[keyword]) {
			name := jsontext.Unquote(literal)
			if !x.spend(1) {
				return
			}
			if needed := x.n.below[keyword+"/"+pointerStep(name)]; !x.has(name) {
				continue
			} else if needed != nil {
				x.must(x.here(needed))
			} else {
				x.require(keyword, names)
			}
		}
	}
	if names := x.n.below["propertyNames"]; names != nil {
		for _, p := range x.parts {
			x.must(x.check.visit(names, jsontext.Quoted(p.name), x.path, 0, nil))
		}
	}
}

// has reports whether the object has a member. members has sorted the parts by name.
func (x *visit) has(name string) bool {
	_, has := slices.BinarySearchFunc(x.parts, name, func(p part, name string) int { return strings.Compare(p.name, name) })
	return has
}

func (x *visit) require(keyword string, names []byte) {
	if !x.spend(len(names) / 16) {
		return
	}
	missing := slices.DeleteFunc(jsontext.Strings(names), x.has)
	if len(missing) > 0 {
		x.fail(keyword, "missing properties: %q", missing)
	}
}

func (x *visit) alternatives() {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		fitting := 0
		for _, n := range x.n.lists[keyword] {
			if x.fits(n) {
				fitting++
			}
		}
		switch {
		case x.n.raw[keyword] == nil:
		case fitting == 0:
			x.fail(keyword, "fits none of the alternatives")
		case fitting > 1 && keyword == "oneOf":
			x.fail(keyword, "fits more than one of the alternatives")
		}
	}
	if n := x.n.below["not"]; n != nil && x.fits(n) {
		x.fail("not", "is what the schema excludes")
	}
	if n := x.n.below["if"]; n != nil {
		next := "else"
		if x.fits(n) {
			next = "then"
		}
		if n := x.n.below[next]; n != nil {
			x.must(x.here(n))
		}
	}
}

func (x *visit) unevaluated() {
	keyword := map[byte]string{'{': "unevaluatedProperties", '[': "unevaluatedItems"}[x.v[0]]
	if n := x.n.below[keyword]; n != nil && !x.failed {
		for _, p := range x.parts {
			if !x.seen[p.step] {
				x.part(n, p)
			}
		}
	}
}
