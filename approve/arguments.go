package approve

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"sync"

	"toolpipe/stream/text/readable"
)

// argumentTests is the "arguments" object of a policy rule. The rule matches if all its tests
// pass.
//
// A rule that allows is matched narrow; a rule that denies or asks is matched wide. So
// arguments that servers may read in several ways are never allowed and always denied. Narrow,
// a test passes if there is a value at its path and every value there passes; and every scalar,
// empty array and empty object of the arguments must have a test on it or on a value around it.
// Wide, it is enough that one value at the path passes, or one value inside it; keys match in
// any case; a scalar passes if the test is for other JSON types; and a test that cannot be
// decided passes.
type argumentTests struct {
	tests  []argumentTest
	path   *placeTest // the test of the paths, in a rule about effects; nil: none
	others bool       // "others":"any": narrow, values without a test do not matter
}

type argumentTest struct {
	path     []segment
	kind     string // as the policy names it
	test     test
	types    string // the JSON types that the test applies to, see document.typeOf
	under    string // the directory of an under test; "" for another test
	glob     string // the pattern of a glob test; "" for another test
	optional bool   // the argument may be missing
	text     string // as written in the policy
}

// A test decides about the value e.document.nodes[at].
type test func(e *evaluation, at int, wide bool) bool

// A segment is one step of an argument path.
type segment struct {
	key   string
	index int  // of an array's element; -1 if key is not a number
	any   bool // every element
}

// An evaluation is the state of the decision about one call. Its memory is reused for the next
// call.
type evaluation struct {
	budget
	call     *Call
	document document // the result of arguments
	covered  []bool   // the values that a test looked at, while a rule is matched narrow
	lifted   bool     // a rule matched that lifts the decision of Egress
	lexical  bool     // paths are compared by their text, without the file system
	explains bool     // somebody asks for the reason
	why      string   // why the current rule does not match

	places      map[string]string // see Verdict.Places
	directories *sync.Map         // where the directories of rules were at their first lookup, in all evaluations
}

// begin starts the decision about another call, with a full budget.
func (e *evaluation) begin(ctx context.Context, c *Call) {
	e.budget, e.call, e.places, e.lifted, e.explains = newBudget(ctx), c, nil, false, false
	e.document.nodes = e.document.nodes[:0]
}

// refuse returns false: the current rule does not match. It calls why only if somebody asks for
// the reason.
func (e *evaluation) refuse(why func() string) bool {
	if e.explains {
		e.why = why()
	}
	return false
}

func (e *evaluation) shown(at int) string {
	return readable.Cut(string(e.document.raw(at)), 60, "...")
}

// arguments returns the parsed arguments of the call. They are parsed when the first rule needs
// them: a megabyte of small values takes a hundred megabytes.
func (e *evaluation) arguments() *document {
	if len(e.document.nodes) == 0 {
		e.document.parse(e.call.Arguments)
	}
	return &e.document
}

// spendOnValue pays for reading the value at a node, without the values inside it.
func (e *evaluation) spendOnValue(at int) bool {
	n, length := &e.document.nodes[at], 0
	if isScalar(n.kind) {
		length = n.end - n.start
	}
	return e.spend(valueSteps + length/bytesPerStep)
}

// spendOnKey pays for comparing the key of a node.
func (e *evaluation) spendOnKey(at int) bool {
	n := &e.document.nodes[at]
	return e.spend(valueSteps + (n.keyEnd-n.keyStart)/bytesPerStep)
}

func (a *argumentTests) matchNarrow(e *evaluation) bool {
	d := e.arguments()
	if !e.spend(len(d.nodes)) {
		return false
	}
	if !a.others {
		e.covered = append(e.covered[:0], make([]bool, len(d.nodes))...)
	}
	cover := func(at int) {
		for j := at; j < d.nodes[at].next && !a.others; j++ {
			e.covered[j] = true
		}
	}
	if a.path != nil && !a.path.matchNarrow(e, cover) {
		return false
	}
	for i := range a.tests {
		t := &a.tests[i]
		found := false
		passed := e.all(t.path, 0, false, func(at int) bool {
			found = true
			cover(at)
			return e.spendOnValue(at) && t.test(e, at, false) || t.fails(e, at)
		})
		switch {
		case !passed:
			return false
		case !found && !t.optional && t.kind != absentTest:
			return t.fails(e, 0)
		}
	}
	for i := 1; i < len(d.nodes) && !a.others; i++ {
		if d.nodes[i].next == i+1 && !e.covered[i] {
			return e.refuse(func() string { return "argument " + d.pathOf(i) + " has no test" })
		}
	}
	return true
}

// fails refuses the call because the argument fails the test. at is 0 if the argument is
// missing.
func (t *argumentTest) fails(e *evaluation, at int) bool {
	return e.refuse(func() string {
		name := Path{t.path}.String()
		switch {
		case at == 0:
			return "argument " + name + " is absent"
		case t.kind == absentTest:
			return "argument " + name + " is there"
		}
		return "argument " + name + ": " + e.shown(at) + " fails " + t.text
	})
}

func (a *argumentTests) matchWide(e *evaluation) bool {
	return (a.path == nil || a.path.matchWide(e)) && a.testsMatchWide(e)
}

// testsMatchWide is matchWide without the test of paths.
func (a *argumentTests) testsMatchWide(e *evaluation) bool {
	d := e.arguments()
	for i := range a.tests {
		t := &a.tests[i]
		first, found := 0, false
		nonePassed := e.all(t.path, 0, true, func(at int) bool {
			first, found = cmp.Or(first, at), found || d.nodes[at].kind != 'n'
			return !t.passesWide(e, at)
		})
		missing := !found && (t.optional || t.kind == absentTest)
		if nonePassed && !missing {
			return t.fails(e, first)
		}
	}
	return true
}

// passesWide reports whether nodes[at], or a value inside it, passes the test wide. A scalar
// passes if the test is for another type, because a server may convert it to that type. For the
// scalars in a list or an object, equal and isWords apply the same rule.
func (t *argumentTest) passesWide(e *evaluation, at int) bool {
	d := &e.document
	for j := at; j < d.nodes[at].next; j++ {
		ofOtherType := isScalar(d.nodes[j].kind) && strings.IndexByte(t.types, d.typeOf(j)) < 0 &&
			(j == at || !strings.ContainsAny(t.types, "{["))
		if e.spendOnValue(j) && (ofOtherType || t.test(e, j, true)) {
			return true
		}
	}
	return false
}

// all reports whether f holds for all values at path, which starts from nodes[at]. It stops at
// the first value for which f is false.
func (e *evaluation) all(path []segment, at int, wide bool, f func(at int) bool) bool {
	if len(path) == 0 {
		return f(at)
	}
	d, s, n := &e.document, &path[0], 0
	for child := range d.children(at) {
		if !e.spendOnKey(child) {
			return false
		}
		var fits bool
		switch {
		case s.any:
			fits = true
		case d.nodes[at].kind == '[':
			fits = n == s.index
		default:
			key := string(d.key(child))
			fits = key == s.key || wide && strings.EqualFold(key, s.key)
		}
		n++
		if fits && !e.all(path[1:], child, wide, f) {
			return false
		}
	}
	return true
}

// parsePath reads an argument path: keys joined by dots, * for any element, a number for an
// array's element, a backslash before a literal character. problem says what is wrong with the
// path; "" for nothing.
func parsePath(text string) (path []segment, problem string) {
	var key strings.Builder
	escaped, star := false, false
	for i := 0; i <= len(text); i++ {
		switch {
		case i == len(text) || text[i] == '.':
			s := segment{key: key.String(), index: -1}
			s.any = star && s.key == "*"
			if n, _ := strconv.Atoi(s.key); !escaped && strconv.Itoa(n) == s.key {
				s.index = n
			}
			if s.key == "" {
				return nil, "an empty key in a path"
			}
			if star && !s.any {
				return nil, `* means a complete element of a path; a key with a star is written \*`
			}
			path = append(path, s)
			key.Reset()
			escaped, star = false, false
		case text[i] == '\\' && i+1 == len(text):
			return nil, `a \ at the end of a path escapes nothing`
		case text[i] == '\\':
			i++
			key.WriteByte(text[i])
			escaped = true
		default:
			star = star || text[i] == '*'
			key.WriteByte(text[i])
		}
	}
	return path, ""
}
