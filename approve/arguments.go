package approve

import (
	"context"
	"strconv"
	"strings"
)

// argumentTests is what a policy rule asks of a call's arguments. All tests
// must hold.
//
// A rule is read in one of two ways. Narrow, to allow: a test holds when there
// is a value at its path and every value there passes; and every leaf of the
// arguments must have a test on it or on what it is in. Wide, to deny: one
// value at the path, or inside a value there, is enough; keys may differ in
// case; and a test that cannot be decided holds.
type argumentTests struct {
	tests  []argumentTest
	others bool // "others":"any": leaves without a test do not matter
}

type argumentTest struct {
	path  []segment
	test  test
	under string // the directory of an under test; "" for another test
}

// test decides about the value e.document.nodes[at].
type test func(e *evaluation, at int, wide bool) bool

// segment is one step of an argument path.
type segment struct {
	key   string
	index int  // of an array's element; -1 when key is not a number
	any   bool // every element
}

// evaluation is the state of deciding one call; its memory is used again.
type evaluation struct {
	work
	document document
	call     *Call
	parsed   bool
	lexical  bool // no file system: examples
	covered  []bool
	places   map[string]string // where the paths that under tests looked at lead; "" when that cannot be told
	first    map[string]string // where the directories of rules were at first; for all evaluations
}

// begin starts on another call, with the work of a decision.
func (e *evaluation) begin(ctx context.Context, c *Call) {
	e.work, e.call, e.parsed, e.places = newWork(ctx), c, false, nil
}

// parse parses the arguments once.
func (e *evaluation) parse() {
	if !e.parsed {
		e.document.parse(e.call.Arguments)
		e.parsed = true
	}
}

// read takes the work of reading the value at a node, not what is inside of it.
func (e *evaluation) read(at int) bool {
	n, length := &e.document.nodes[at], 0
	if isScalar(n.kind) {
		length += n.end - n.start
	}
	return e.spend(readSteps + length/readAtOnce)
}

// matchesArguments reports whether r, which speaks of e.call's tool, matches
// its arguments.
func (r *Rule) matchesArguments(e *evaluation, narrow bool) bool {
	if r.arguments == nil {
		return true
	}
	e.parse()
	if narrow {
		return r.arguments.allow(e)
	}
	return r.arguments.restrict(e, nil)
}

func (a *argumentTests) allow(e *evaluation) bool {
	d := &e.document
	if !e.spend(len(d.nodes)) {
		return false
	}
	if !a.others {
		e.covered = append(e.covered[:0], make([]bool, len(d.nodes))...)
	}
	for i := range a.tests {
		t := &a.tests[i]
		found := false
		ok := e.find(t.path, 0, false, func(at int) bool {
			found = true
			if !a.others {
				for j := at; j < d.nodes[at].next; j++ {
					e.covered[j] = true
				}
			}
			return e.read(at) && t.test(e, at, false)
		})
		if !ok || !found {
			return false
		}
	}
	for i := 1; i < len(d.nodes) && !a.others; i++ {
		if d.nodes[i].next == i+1 && !e.covered[i] {
			return false
		}
	}
	return true
}

// restrict reads wide; the test given is taken as one that holds.
func (a *argumentTests) restrict(e *evaluation, given *argumentTest) bool {
	d := &e.document
	for i := range a.tests {
		t := &a.tests[i]
		if t == given {
			continue
		}
		none := e.find(t.path, 0, true, func(at int) bool {
			for j := at; j < d.nodes[at].next; j++ {
				if e.read(j) && t.test(e, j, true) {
					return false
				}
			}
			return true
		})
		if none {
			return false
		}
	}
	return true
}

// find calls f with each value at path, which starts from nodes[at], and
// returns false as soon as f does.
func (e *evaluation) find(path []segment, at int, wide bool, f func(at int) bool) bool {
	if len(path) == 0 {
		return f(at)
	}
	d, s, n := &e.document, &path[0], 0
	for child := range d.children(at) {
		if !e.spend(readSteps + (d.nodes[child].keyEnd-d.nodes[child].keyStart)/readAtOnce) {
			return false
		}
		var here bool
		switch {
		case s.any:
			here = true
		case d.nodes[at].kind == '[':
			here = n == s.index
		default:
			key := d.key(child)
			here = string(key) == s.key || wide && strings.EqualFold(string(key), s.key)
		}
		n++
		if here && !e.find(path[1:], child, wide, f) {
			return false
		}
	}
	return true
}

// parsePath reads an argument path: keys joined by dots, * for any element, a
// number for an array's element, a backslash before a character that is meant
// as such. What is wrong with it, if anything, is the second result.
func parsePath(text string) (path []segment, problem string) {
	var key strings.Builder
	escaped, star := false, false
	end := func() string {
		s := segment{key: key.String(), index: -1}
		s.any = star && s.key == "*"
		if n, err := strconv.Atoi(s.key); err == nil && !escaped && n >= 0 && strconv.Itoa(n) == s.key {
			s.index = n
		}
		switch {
		case s.key == "":
			return "an empty key in a path"
		case star && !s.any:
			return `* stands for a whole element of a path; a key with a star is written \*`
		}
		path = append(path, s)
		key.Reset()
		escaped, star = false, false
		return ""
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 == len(text):
			return nil, `a \ at the end of a path escapes nothing`
		case c == '\\':
			i++
			key.WriteByte(text[i])
			escaped = true
		case c == '.':
			if problem := end(); problem != "" {
				return nil, problem
			}
		default:
			star = star || c == '*'
			key.WriteByte(c)
		}
	}
	if problem := end(); problem != "" {
		return nil, problem
	}
	return path, ""
}
