package imports

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

// A Used is an import that a piece of code uses.
type Used struct {
	Statement string // that imports this name alone
	Local     string // the name by which the code has it
	Top       bool   // see Statement
	Line      int    // of the text that has the import, from 1
}

// Needed gives the imports of a text of Python or Go that a piece of code uses: those whose
// names stand in it as words, and not behind a dot. code is without comments and strings.
func Needed(l *lexis.Language, text, code []byte) (needed []Used) {
	s := newSource(l, text)
	for _, st := range Parse(l, text) {
		for _, single := range st.singles(l) {
			if Names(code, single.Local) {
				single.Top, single.Line = st.Top, s.lineOf(st.From)+1
				needed = append(needed, single)
			}
		}
	}
	return needed
}

// singles are the names that a statement brings, each with a statement of its own.
func (st *Statement) singles(l *lexis.Language) (all []Used) {
	switch {
	case l.Is("Go") && (st.Whole == "_" || st.Whole == "."):
	case l.Is("Go"):
		all = append(all, Used{Statement: strings.TrimSpace(st.Whole + ` "` + st.Module + `"`), Local: GoName(st)})
	case st.form == ofNames && st.Star:
	default:
		for _, n := range st.Names {
			u := Used{Statement: "import " + written([]Name{n}, " as "), Local: n.Local()}
			if u.Local, _, _ = strings.Cut(u.Local, "."); st.form == ofNames {
				u.Statement = "from " + st.Module + " " + u.Statement
			}
			all = append(all, u)
		}
	}
	return all
}

// GoName is the name by which a file of Go has a package. Where the import gives none it is
// guessed from the path, as the tools of Go do.
func GoName(st *Statement) string {
	if st.Whole != "" {
		return st.Whole
	}
	name := path.Base(st.Module)
	if isVersion(name) && strings.Contains(st.Module, "/") {
		name = path.Base(path.Dir(st.Module))
	}
	if before, version, found := strings.Cut(name, ".v"); found && isVersion("v"+version) {
		name = before
	}
	name = strings.TrimPrefix(name, "go-")
	return strings.ReplaceAll(strings.TrimSuffix(name, "-go"), "-", "_")
}

func isVersion(name string) bool {
	return len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == ""
}

// Body is the code of a text without comments, strings and import statements.
func Body(l *lexis.Language, text []byte) []byte {
	mask, _ := l.Scan(text)
	mask = bytes.Clone(mask)
	for _, st := range Parse(l, text) {
		for i := st.From; i < st.To; i++ {
			if mask[i] != '\n' {
				mask[i] = ' '
			}
		}
	}
	return mask
}

// Names reports whether a name stands in code as a word, and not behind a dot.
func Names(code []byte, name string) bool {
	for from := 0; name != ""; {
		i := bytes.Index(code[from:], []byte(name))
		if i < 0 {
			return false
		}
		at, end := from+i, from+i+len(name)
		begins := at == 0 || !lexis.IsWord(code[at-1]) && code[at-1] != '.'
		if begins && (end == len(code) || !lexis.IsWord(code[end])) {
			return true
		}
		from = at + 1
	}
	return false
}

// Remove removes statements of Go from a text by their names in it. A declaration whose last
// one goes is removed too.
func Remove(l *lexis.Language, text []byte, locals []string) []byte {
	for _, st := range slices.Backward(parseGo(newSource(l, text))) {
		if !slices.Contains(locals, GoName(&st)) {
			continue
		}
		s := newSource(l, text)
		from, to := s.lineOf(st.From), s.behind(&st)
		code := func(n int) string {
			if n < 0 || n >= s.lines() {
				return ""
			}
			return strings.TrimSpace(s.line(s.mask, n))
		}
		if st.block && code(from-1) == "import (" && code(to) == ")" {
			from, to = from-1, to+1
		}
		opens := from == 0 || code(from-1) == "" || code(from-1) == "import ("
		switch {
		case opens && to < s.lines() && s.isBlank(to):
			to++
		case code(to) == ")" && from > 0 && s.isBlank(from-1):
			from--
		}
		text = slices.Concat(text[:s.starts[from]], text[s.starts[min(to, s.lines())]:])
	}
	return text
}

// Without is a text of Python whose statement "from a import b, c" is without one of its names.
// A statement goes with its last name.
func Without(l *lexis.Language, text []byte, st *Statement, name string) []byte {
	s := newSource(l, text)
	first, last := s.lineOf(st.From), s.behind(st)
	at := slices.IndexFunc(st.Names, func(n Name) bool { return n.Name == name })
	if at < 0 {
		return text
	}
	if len(st.Names) == 1 {
		if st.alone {
			return slices.Concat(text[:s.starts[first]], text[s.starts[last]:])
		}
		return text
	}
	from, to := st.Names[at].At, st.list[1]
	if at+1 < len(st.Names) {
		to = st.Names[at+1].At
	} else {
		from = st.Names[at-1].At + len(st.Names[at-1].Name)
		if alias := st.Names[at-1].Alias; alias != "" {
			from += strings.Index(string(text[from:to]), alias) + len(alias)
		}
		to = st.Names[at].At + len(name)
		if alias := st.Names[at].Alias; alias != "" {
			to += strings.Index(string(text[to:st.list[1]]), alias) + len(alias)
		}
	}
	return slices.Concat(text[:from], text[to:])
}
