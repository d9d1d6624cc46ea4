package protected

import (
	"path"
	"slices"
	"strings"
	"sync"

	"toolpipe/stream/text/glob"
)

// A kind is a list of names of files and directories with the reason for them. Names are
// separated by white space, compared folded, and * and ? are as in package glob. DIR/NAME is a
// name in a directory of that name, at any depth. /DIR/NAME is an absolute path.
type kind struct {
	why, names string
	onlyFiles  bool // .envs or proj.key may be any directory: a root may have the name, and a sandbox does not hide it
	inHome     bool // DIR/NAME is only in a home directory; elsewhere the name is an ordinary one
	mayBeRoot  bool // a root may have the name
	toolsOnly  bool // programs in a sandbox need it
}

// A scope is where the first name of a rule counts.
type scope int

const (
	anywhere scope = iota
	inHome         // in a home directory
	inSystem       // in /
	scopes
)

// maxDirs limits the directories of a rule.
const maxDirs = 4

// A rule is one name of a kind.
type rule struct {
	*kind
	scope         scope
	text          string   // as it is written
	dirs          []string // the names above the last, folded
	last          string   // the last name, folded
	before, after string   // the text before its first * or ? and after its last, which is cheap to compare
	next          *rule    // with the same last name
}

// isPattern reports whether a name has * or ?.
func isPattern(name string) bool { return strings.ContainsAny(name, "*?") }

// isIn reports whether the names of dir end with the directories of the rule.
func (r *rule) isIn(dir string) bool {
	for _, name := range slices.Backward(r.dirs) {
		if !matches(path.Base(dir), name) {
			return false
		}
		dir = path.Dir(dir)
	}
	return true
}

// matches reports whether a form of a name matches a folded pattern.
func matches(name, pattern string) bool {
	return reasonOf(name, func(form string) string {
		if glob.Match(pattern, form, glob.Paths, nil) {
			return form
		}
		return ""
	}) != ""
}

// A table finds the kind of a name. Most lookups use a map, since a walk asks for every file.
// The maps are built on first use, not at start.
type table struct {
	kinds    []kind
	once     sync.Once
	rules    []rule
	exact    map[string]*rule             // by the last name
	patterns [scopes][maxDirs + 1][]*rule // whose last name is a pattern, by the number of directories
	literal  map[string][]*rule           // without a pattern, by their directory
	ways     map[string]bool              // the directories above the last names, such as .config and .config/gh, and /etc
	wild     []string                     // the patterns among them
}

func (t *table) fill() {
	count := 0
	for i := range t.kinds {
		count += len(strings.Fields(t.kinds[i].names))
	}
	t.rules = make([]rule, 0, count) // never moved, because others point into it
	t.exact, t.literal, t.ways = make(map[string]*rule, count), map[string][]*rule{}, map[string]bool{}
	for i := range t.kinds {
		kind := &t.kinds[i]
		for text := range strings.FieldsSeq(kind.names) {
			t.rules = append(t.rules, rule{kind: kind, text: text})
			r := &t.rules[len(t.rules)-1]
			folded := Fold(text)
			t.addWays(r, folded)
			folded, absolute := strings.CutPrefix(folded, "/")
			switch {
			case absolute:
				r.scope = inSystem
			case kind.inHome:
				r.scope = inHome
			}
			r.last = path.Base(folded)
			if folded != r.last {
				r.dirs = strings.Split(path.Dir(folded), "/")
			}
			if isPattern(r.last) {
				r.before, r.after = r.last[:strings.IndexAny(r.last, "*?")], r.last[strings.LastIndexAny(r.last, "*?")+1:]
				t.patterns[r.scope][len(r.dirs)] = append(t.patterns[r.scope][len(r.dirs)], r)
			} else {
				r.next, t.exact[r.last] = t.exact[r.last], r
			}
		}
	}
}

func (t *table) addWays(r *rule, folded string) {
	way := ""
	for i := range len(folded) {
		if folded[i] != '/' {
			continue
		}
		if way = folded[:max(i, 1)]; i == 0 {
			continue
		}
		if !isPattern(way) {
			t.ways[way] = true
		} else if !slices.Contains(t.wild, way) {
			t.wild = append(t.wild, way)
		}
	}
	if !isPattern(folded) {
		t.literal[way] = append(t.literal[way], r)
	}
}

// leads reports whether there are names of the table in a directory.
func (t *table) leads(way string) bool {
	t.once.Do(t.fill)
	return t.ways[way] || slices.ContainsFunc(t.wild, func(pattern string) bool { return glob.Match(pattern, way, glob.Paths, nil) })
}

// A use decides which rules count: the rules with a scope if their first name is in the directory
// top, and of these the rules of a kind.
type use struct {
	scope func(s scope, top string) bool
	kind  func(k *kind) bool
}

// reason is the table's reason for a folded name in a directory; "" for none.
func (t *table) reason(dir, name string, use use) string {
	t.once.Do(t.fill)
	var tops [maxDirs + 1]string
	for i := range tops {
		tops[i], dir = dir, path.Dir(dir)
	}
	for r := t.exact[name]; r != nil; r = r.next {
		if use.kind(r.kind) && use.scope(r.scope, tops[len(r.dirs)]) && r.isIn(tops[0]) {
			return r.why
		}
	}
	for s, byDirs := range t.patterns {
		for i, rules := range byDirs {
			if len(rules) == 0 || !use.scope(scope(s), tops[i]) {
				continue
			}
			for _, r := range rules {
				if strings.HasPrefix(name, r.before) && strings.HasSuffix(name, r.after) && use.kind(r.kind) &&
					glob.Match(r.last, name, glob.Paths, nil) && r.isIn(tops[0]) {
					return r.why
				}
			}
		}
	}
	return ""
}
