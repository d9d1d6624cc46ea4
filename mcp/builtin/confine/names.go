package confine

import (
	"path"
	"strings"
	"sync"
)

// A nameKind is a list of names of files and directories with the reason for them. Names are
// folded and separated by white space; * is any text. DIR/NAME is a name in a directory of
// that name, at any depth.
type nameKind struct {
	why, names string
	onlyFiles  bool
}

// A nameTable finds the kind of a name. Most lookups use a map, since a walk asks for every
// file. The maps are built on first use, not at start.
type nameTable struct {
	kinds    []nameKind
	once     sync.Once
	exact    map[string]*nameKind
	patterns []pattern
	parents  map[string]bool // the names DIR of all DIR/NAME
}

type pattern struct {
	text          string
	before, after string // the text before its first * and after its last, which is cheap to compare
	kind          *nameKind
}

func (t *nameTable) fill() {
	t.exact, t.parents = map[string]*nameKind{}, map[string]bool{}
	for i := range t.kinds {
		for rule := range strings.FieldsSeq(t.kinds[i].names) {
			if parent, _, under := strings.Cut(rule, "/"); under {
				t.parents[parent] = true
			}
			if strings.Contains(rule, "*") {
				before, after := rule[:strings.IndexByte(rule, '*')], rule[strings.LastIndexByte(rule, '*')+1:]
				t.patterns = append(t.patterns, pattern{rule, before, after, &t.kinds[i]})
			} else {
				t.exact[rule] = &t.kinds[i]
			}
		}
	}
}

// reason is the table's reason for a folded name in a directory named parent; "" for none.
// For the root of an area, entries that are only for files do not count.
func (t *nameTable) reason(parent, name string, root bool) string {
	if why := t.look(name, root); why != "" {
		return why
	}
	return reasonOf(parent, func(p string) string { return t.look(p+"/"+name, root) })
}

func (t *nameTable) look(name string, root bool) string {
	t.once.Do(t.fill)
	if kind := t.exact[name]; kind != nil && !(root && kind.onlyFiles) {
		return kind.why
	}
	for _, p := range t.patterns {
		if !strings.HasPrefix(name, p.before) || !strings.HasSuffix(name, p.after) || root && p.kind.onlyFiles {
			continue
		}
		if fits, _ := path.Match(p.text, name); fits {
			return p.kind.why
		}
	}
	return ""
}
