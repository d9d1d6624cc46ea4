package approve

import (
	"bytes"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	globs "toolpipe/stream/text/glob"
	"toolpipe/stream/text/jsontext"
)

// testKinds maps the name of each test to the function that makes it from its value in a
// policy, d.nodes[at]. problem says what is wrong with the value; "" for nothing.
func testKinds() map[string]func(d *document, at int) (t test, problem string) {
	return map[string]func(d *document, at int) (t test, problem string){
		"equals": equalsTest, "one_of": oneOfTest, "glob": globTest, "regex": regexTest,
		"range": rangeTest, "under": underTest, "words": wordsTest, absentTest: absent,
	}
}

// absentTest passes if the argument is missing; the code that looks up the argument checks
// that. Wide, null counts as absent, as it does for many tools.
const absentTest = "absent"

func absent(d *document, at int) (test, string) {
	if d.nodes[at].kind != 't' {
		return nil, "absent is true"
	}
	return func(*evaluation, int, bool) bool { return false }, ""
}

// typesOf returns the JSON types that a test applies to, in the letters of typeOf. d.nodes[at]
// is the value of the test.
func typesOf(kind string, d *document, at int) (types string) {
	switch kind {
	case "equals":
		return string(d.typeOf(at))
	case "one_of":
		for i := range d.children(at) {
			types += string(d.typeOf(i))
		}
		return types
	case "range":
		return "0"
	case "words":
		return `["`
	case absentTest:
		return `"0tn`
	}
	return `"`
}

func testNames() string { return strings.Join(slices.Sorted(maps.Keys(testKinds())), ", ") }

func equalsTest(d *document, at int) (test, string) { return equalsAny(d, []int{at}), "" }

func oneOfTest(d *document, at int) (test, string) {
	if d.nodes[at].kind != '[' || d.nodes[at].next == at+1 {
		return nil, "one_of is an array of values"
	}
	return equalsAny(d, slices.Collect(d.children(at))), ""
}

func equalsAny(d *document, values []int) test {
	return func(e *evaluation, at int, wide bool) bool {
		return slices.ContainsFunc(values, func(v int) bool {
			return d.typeOf(v) == e.document.typeOf(at) && e.equal(d, v, at, wide)
		})
	}
}

// equal reports whether a.nodes[i], a policy's value, equals nodes[j] of the arguments: strings
// by their characters, numbers by their value, objects in any order of their members. Wide, a
// scalar of another type is equal, and so is a number that cannot be compared.
func (e *evaluation) equal(a *document, i, j int, wide bool) bool {
	b := &e.document
	if !e.spendOnValue(j) {
		return false
	}
	if a.typeOf(i) != b.typeOf(j) {
		return wide && isScalar(b.nodes[j].kind)
	}
	switch a.nodes[i].kind {
	case '"':
		return bytes.Equal(a.str(i), b.str(j))
	case '0':
		p, known := jsontext.ParseDecimal(a.raw(i))
		return known && isNumber(b.raw(j), wide, func(q jsontext.Decimal) bool { return p.Compare(q) == 0 }) || !known && wide
	case '{':
		return e.equalObjects(a, i, j, wide)
	case '[':
		return e.equalArrays(a, i, j, wide)
	}
	return a.nodes[i].kind == b.nodes[j].kind
}

func (e *evaluation) equalArrays(a *document, i, j int, wide bool) bool {
	b := &e.document
	q := j + 1
	for p := range a.children(i) {
		if q == b.nodes[j].next || !e.equal(a, p, q, wide) {
			return false
		}
		q = b.nodes[q].next
	}
	return q == b.nodes[j].next
}

func (e *evaluation) equalObjects(a *document, i, j int, wide bool) bool {
	b := &e.document
	members := 0
	for p := range a.children(i) {
		members++
		found := false
		key := a.key(p)
		for q := range b.children(j) {
			if !e.spendOnKey(q) {
				return false
			}
			if bytes.Equal(key, b.key(q)) {
				found = e.equal(a, p, q, wide)
				break
			}
		}
		if !found {
			return false
		}
	}
	for range b.children(j) {
		members--
	}
	return members == 0
}

// globTest matches a pattern with the complete text of a value. Narrow, * and ? match neither a
// slash nor a control character, ** also matches slashes, and a pattern with a wildcard does
// not match a path with a ".." element: a rule that allows the path * must not allow "../../x".
// Only ** alone matches every text.
func globTest(d *document, at int) (test, string) {
	if d.nodes[at].kind != '"' {
		return nil, "glob is a string with * and ?"
	}
	pattern := string(d.str(at))
	wildcards := strings.ContainsAny(pattern, "*?")
	stars := pattern != "" && strings.Trim(pattern, "*") == ""
	return func(e *evaluation, at int, wide bool) bool {
		mode := globs.Element
		if wide {
			mode = globs.Any
		}
		if e.document.nodes[at].kind != '"' {
			return false
		}
		text := e.document.str(at)
		switch {
		case stars && (wide || len(pattern) > 1):
			return true
		case !wide && wildcards && goesUp(text):
			return false
		}
		return globs.Match(pattern, string(text), mode, e.budget.spend)
	}, ""
}

// goesUp reports whether a path has an element "..".
func goesUp(path []byte) bool {
	return strings.Contains("/"+strings.ReplaceAll(string(path), `\`, "/")+"/", "/../")
}

const maxPattern = 4096

func regexTest(d *document, at int) (test, string) {
	if d.nodes[at].kind != '"' {
		return nil, "regex is a string"
	}
	pattern := string(d.str(at))
	if len(pattern) > maxPattern {
		return nil, "a regex may have at most 4096 bytes"
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, strings.TrimPrefix(err.Error(), "error parsing regexp: ") + " (the syntax is RE2's)"
	}
	program, _ := syntax.Compile(parsed.Simplify()) // Compile accepts every result of Parse
	re, err := regexp.Compile(`\A(?:` + pattern + `)\z`)
	if err != nil {
		return nil, err.Error()
	}
	return func(e *evaluation, at int, wide bool) bool {
		return e.document.nodes[at].kind == '"' && e.match(re, len(program.Inst), e.document.str(at))
	}, ""
}

func rangeTest(d *document, at int) (test, string) {
	const wrong = "range is [min, max], two numbers, either of them null"
	var bounds []*jsontext.Decimal // nil for null
	for i := range d.children(at) {
		switch d.nodes[i].kind {
		case 'n':
			bounds = append(bounds, nil)
		case '0':
			n, ok := jsontext.ParseDecimal(d.raw(i))
			if !ok {
				return nil, "the exponent of a bound is too large"
			}
			bounds = append(bounds, &n)
		default:
			return nil, wrong
		}
	}
	if len(bounds) != 2 || d.nodes[at].kind != '[' {
		return nil, wrong
	}
	low, high := bounds[0], bounds[1]
	if low != nil && high != nil && low.Compare(*high) > 0 {
		return nil, "a range with min above max matches nothing"
	}
	return func(e *evaluation, at int, wide bool) bool {
		if e.document.nodes[at].kind != '0' {
			return false
		}
		return isNumber(e.document.raw(at), wide, func(n jsontext.Decimal) bool {
			return (low == nil || low.Compare(n) <= 0) && (high == nil || high.Compare(n) >= 0)
		})
	}, ""
}

// isNumber reports whether f holds for the number of an argument. Wide, it is enough that f
// holds for the double that most servers read: for them 999.99999999999999999999 is 1000. Wide,
// a number that cannot be read passes.
func isNumber(literal []byte, wide bool, f func(jsontext.Decimal) bool) bool {
	n, ok := jsontext.ParseDecimal(literal)
	if !ok || f(n) {
		return ok || wide
	}
	double, err := strconv.ParseFloat(string(literal), 64)
	if !wide || err != nil { // the error means that the number is beyond all doubles
		return false
	}
	n, _ = jsontext.ParseDecimal(strconv.AppendFloat(nil, double, 'g', -1, 64))
	return f(n)
}

func underTest(d *document, at int) (test, string) {
	if d.nodes[at].kind != '"' || d.nodes[at].end-d.nodes[at].start == 2 {
		return nil, `under is the path of a directory; "." is the directory of the tool`
	}
	dir := string(d.str(at))
	if _, err := resolvePath("/", dir, true); err != nil {
		return nil, "under is a plain path: no ~, no URL, nothing under /proc"
	}
	return isUnder(dir), ""
}

func isUnder(dir string) test {
	return func(e *evaluation, at int, wide bool) bool {
		if e.document.nodes[at].kind != '"' {
			return false
		}
		path := string(e.document.str(at))
		return e.spend((1+strings.Count(path, "/"))*fileSteps) && e.under(dir, path, wide)
	}
}

func wordsTest(d *document, at int) (test, string) {
	positions, ok := d.wordLists(at)
	if !ok {
		return nil, "words is an array with a string, or an array of strings, for each position"
	}
	return func(e *evaluation, at int, wide bool) bool { return e.isWords(at, positions, wide) }, ""
}

// wordLists reads an array with a string, or an array of strings, for each position.
func (d *document) wordLists(at int) (positions [][]string, ok bool) {
	for i := range d.children(at) {
		var words []string
		switch d.nodes[i].kind {
		case '"':
			words = []string{string(d.str(i))}
		case '[':
			for j := range d.children(i) {
				if d.nodes[j].kind != '"' {
					return nil, false
				}
				words = append(words, string(d.str(j)))
			}
		}
		if len(words) == 0 {
			return nil, false
		}
		positions = append(positions, words)
	}
	return positions, d.nodes[at].kind == '['
}

// isWords reports whether the value at a node is an array with one string for each position,
// each in the list of its position. Wide, a scalar of another type passes at any position.
func (e *evaluation) isWords(at int, positions [][]string, wide bool) bool {
	d := &e.document
	if d.nodes[at].kind != '[' {
		return false
	}
	n := 0
	for i := range d.children(at) {
		if n == len(positions) || !e.spend(len(positions[n])) || !e.spendOnValue(i) {
			return false
		}
		switch kind := d.nodes[i].kind; {
		case kind == '"' && slices.Contains(positions[n], string(d.str(i))), kind != '"' && isScalar(kind) && wide:
			n++
		default:
			return false
		}
	}
	return n == len(positions)
}
