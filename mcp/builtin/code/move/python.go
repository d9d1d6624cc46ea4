package move

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"toolpipe/mcp/builtin/code/imports"
)

// python moves between two modules.
func (m *Move) python() (*Result, error) {
	code := m.mask(m.Code)
	needed := imports.Needed(m.Language, m.Old, code)
	for _, st := range slices.Backward(imports.Parse(m.Language, m.New)) {
		isOld := m.absolute(st.Module, m.To) == m.dotted(m.From)
		if isOld && slices.ContainsFunc(st.Names, func(n imports.Name) bool { return n.Name == m.Name && n.Alias == "" }) {
			m.New = imports.Without(m.Language, m.New, &st, m.Name) // it had what it gets
		}
	}
	needed = slices.DeleteFunc(needed, func(u imports.Used) bool { // what the other file defines itself
		module, names, isFrom := strings.Cut(strings.TrimPrefix(u.Statement, "from "), " import ")
		return isFrom && names == u.Local && m.absolute(module, m.From) == m.dotted(m.To)
	})
	if err := m.checkNew(needed); err != nil {
		return nil, err
	}
	r := &Result{Left: m.Left, New: m.appended(m.New, 2)}
	if err := r.bring(m, needed); err != nil {
		return nil, err
	}
	return r, r.link(m, code)
}

// bring adds the imports that the definition needs.
func (r *Result) bring(m *Move, needed []imports.Used) error {
	for _, st := range imports.Parse(m.Language, m.Old) {
		if st.Top && st.Module == "__future__" {
			for _, n := range st.Names {
				needed = append(needed, imports.Used{Statement: "from __future__ import " + n.Name, Top: true, Line: 1})
			}
		}
		if st.Star {
			r.Notes = append(r.Notes, fmt.Sprintf("%s has all names of %s; whether %s takes one of them is not known", m.From, st.Module, m.Name))
		}
	}
	for _, u := range needed {
		if !u.Top {
			r.Notes = append(r.Notes, fmt.Sprintf("%s:%d imports %s under a condition or in a block, and is not copied", m.From, u.Line, u.Local))
			continue
		}
		if err := r.add(m, m.relocated(u.Statement)); err != nil {
			return err
		}
		if u.Local != "" && !m.uses(u.Local) {
			r.Notes = append(r.Notes, fmt.Sprintf("%s uses %s no more, which it imports in line %d", m.From, u.Local, u.Line))
		}
	}
	return nil
}

// uses reports whether what is left of the old file has a name, in code or as a string.
func (m *Move) uses(name string) bool {
	return imports.Names(imports.Body(m.Language, m.Left), name) || bytes.Contains(m.Left, []byte(`"`+name+`"`)) || bytes.Contains(m.Left, []byte(`'`+name+`'`))
}

// link has each of the modules import from the other one what it uses of it, unless both
// would.
func (r *Result) link(m *Move, code []byte) error {
	var own []string // definitions of the old file that the code uses
	for _, name := range m.Others {
		uses := bytes.ReplaceAll(code, []byte("def "+name), nil) // a method of the name is another one
		if name != m.Name && imports.Names(uses, name) && !slices.Contains(own, name) {
			own = append(own, name)
		}
	}
	back, err := m.module(m.From, m.To)
	if err != nil {
		return err
	}
	there, err := m.module(m.To, m.From)
	if err != nil {
		return err
	}
	wants := m.uses(m.Name) || m.imports(m.Left, m.From, m.To)
	if wants && (len(own) > 0 || m.imports(m.New, m.To, m.From)) {
		why := "imports it already"
		if len(own) > 0 {
			why = "would need " + strings.Join(own, ", ") + " of it"
		}
		return fmt.Errorf("%s would import %s, which %s: a cycle", m.From, m.To, why)
	}
	for _, name := range own {
		if err := r.add(m, "from "+back+" import "+name); err != nil {
			return err
		}
	}
	if m.uses(m.Name) {
		r.Left, _, err = imports.Add(m.Language, r.Left, "from "+there+" import "+m.Name)
	}
	return err
}

func (r *Result) add(m *Move, statement string) (err error) {
	r.New, _, err = imports.Add(m.Language, r.New, statement)
	return err
}

// imports reports whether a module imports another one at its top.
func (m *Move) imports(text []byte, from, other string) bool {
	for _, st := range imports.Parse(m.Language, text) {
		if !st.Top {
			continue
		}
		names := []string{m.absolute(st.Module, from)}
		for _, n := range st.Names {
			names = append(names, m.absolute(st.Module, from)+"."+n.Name, n.Name)
		}
		if slices.Contains(names, m.dotted(other)) {
			return true
		}
	}
	return false
}

// dotted is the name of a module from the base; "" for one that is not below it.
func (m *Move) dotted(file string) string {
	name := strings.TrimSuffix(strings.TrimSuffix(file, ".py"), ".pyi")
	name = strings.TrimSuffix(name, "/__init__")
	if m.Base != "." && m.Base != "" {
		below, found := strings.CutPrefix(name, m.Base+"/")
		if !found {
			return ""
		}
		name = below
	}
	return strings.ReplaceAll(name, "/", ".")
}

// absolute is the name of a module without dots at its begin, as a file imports it.
func (m *Move) absolute(module, from string) string {
	rest := strings.TrimLeft(module, ".")
	dots := len(module) - len(rest)
	if dots == 0 {
		return module
	}
	dir := path.Dir(from)
	for range dots - 1 {
		dir = path.Dir(dir)
	}
	package_ := strings.TrimPrefix(m.dotted(dir+"/x.py"), ".")
	package_ = strings.TrimSuffix(strings.TrimSuffix(package_, "x"), ".")
	return strings.Trim(package_+"."+rest, ".")
}

// relative is the name of a module as a file imports it with dots at its begin.
func (m *Move) relative(absolute, from string) string {
	module := strings.Split(absolute, ".")
	dir := strings.Split(strings.TrimSuffix(strings.TrimSuffix(m.dotted(path.Dir(from)+"/x.py"), "x"), "."), ".")
	if dir[0] == "" {
		dir = nil
	}
	same := 0
	for same < min(len(module), len(dir)) && module[same] == dir[same] {
		same++
	}
	return strings.Repeat(".", len(dir)-same+1) + strings.Join(module[same:], ".")
}

// module is the name of a module as another file imports it: with dots at its begin where the
// old file imports others so.
func (m *Move) module(file, from string) (string, error) {
	name := m.dotted(file)
	valid := !strings.ContainsFunc(name, func(r rune) bool { return r < 0x80 && r != '.' && r != '_' && !strings.ContainsRune(letters, r) })
	if name == "" || !valid {
		return "", fmt.Errorf("%s has no name as a module below %q", file, m.Base)
	}
	for _, st := range imports.Parse(m.Language, m.Old) {
		if strings.HasPrefix(st.Module, ".") {
			return m.relative(name, from), nil
		}
	}
	return name, nil
}

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// relocated is a statement of the old file as the other file writes it.
func (m *Move) relocated(statement string) string {
	rest, isFrom := strings.CutPrefix(statement, "from .")
	if !isFrom {
		return statement
	}
	module, names, _ := strings.Cut("."+rest, " ")
	return "from " + m.relative(m.absolute(module, m.From), m.To) + " " + names
}

// Updated is the text of a file that imports the definition by its name from the old module,
// with the import from the new one.
func (m *Move) Updated(file string, text []byte, st *imports.Statement) ([]byte, error) {
	name := slices.IndexFunc(st.Names, func(n imports.Name) bool { return n.Name == m.Name })
	if name < 0 || !st.Top {
		return nil, fmt.Errorf("the import is under a condition or in a block")
	}
	module := m.dotted(m.To)
	if strings.HasPrefix(st.Module, ".") {
		module = m.relative(module, file)
	}
	statement := "from " + module + " import " + m.Name
	if alias := st.Names[name].Alias; alias != "" {
		statement += " as " + alias
	}
	edited, _, err := imports.Add(m.Language, imports.Without(m.Language, text, st, m.Name), statement)
	return edited, err
}
