package rename

import (
	"strings"

	"toolpipe/mcp/builtin/code/lexis"
)

// bare marks the name where nothing qualifies it, for a target at the top of its file.
func (m *marker) bare(at int) {
	switch {
	case m.isKey(at):
	case m.isOwn, m.Related, m.importsName():
		m.unhidden(at)
	case m.is("Python", "JavaScript", "TypeScript", "Rust") && len(m.Links) == 0:
	default:
		for i := range m.Defs {
			if d := &m.Defs[i]; d.Name == m.Plan.Name && d.Scope == "" {
				return // it means that one
			}
		}
		m.mark(at, false, "no import says that it is this one")
	}
}

// importsName reports whether a file has the target by its name.
func (m *marker) importsName() bool { return m.hasName(m.Plan.Name) }

// unhidden marks a bare name, which is a use unless a function around has a parameter or a
// variable of the name.
func (m *marker) unhidden(at int) {
	if why := m.hides(at); why != "" {
		m.mark(at, false, why)
		return
	}
	m.mark(at, true, "")
}

// hides says what hides the target at an offset; "" for nothing.
func (m *marker) hides(at int) string {
	line := m.Line(at)
	for i := range m.Defs {
		d := &m.Defs[i]
		if !d.IsFunction || line < d.Start || line > d.End {
			continue
		}
		if !m.seen[d] {
			m.seen[d] = true
			for _, other := range m.words(m.Plan.Name) {
				if n := m.Line(other); n >= d.Line && n <= d.End && m.definitionAt(other) == nil && m.isBinding(other) {
					m.hidden[d] = true
				}
			}
		}
		if m.hidden[d] {
			return "the function " + d.Name + " has a parameter or a variable of the name"
		}
	}
	if m.isBinding(at) && !m.isDeclaration(at) {
		return "it may be another variable"
	}
	return m.shorthand(at)
}

// isDeclaration reports whether an offset is in a line that declares the target, such as a
// prototype.
func (m *marker) isDeclaration(at int) bool {
	return m.Related && m.is("C", "C++", "Objective-C") && strings.HasPrefix(m.behind(at), "(") && m.bracket(at) < 0
}

// shorthand says that an object of JavaScript has a property of the name, which a rename
// would change.
func (m *marker) shorthand(at int) string {
	open := m.bracket(at)
	if !m.is("JavaScript", "TypeScript") || open < 0 || m.Mask[open] != '{' {
		return ""
	}
	before, behind := m.before(at), strings.TrimLeft(m.behind(at), "\r\n")
	if !strings.HasSuffix(before, "{") && !strings.HasSuffix(before, ",") || !strings.HasPrefix(behind, ",") && !strings.HasPrefix(behind, "}") {
		return ""
	}
	head := m.before(open)
	if strings.HasSuffix(head, "export") || strings.HasSuffix(strings.ReplaceAll(head, " ", ""), "exports=") {
		return ""
	}
	return "the property of an object has the name"
}

// isKey reports whether a name is the name of an argument or of a property, and no use.
func (m *marker) isKey(at int) bool {
	open, before, behind := m.bracket(at), m.before(at), m.behind(at)
	isFirst := strings.HasSuffix(before, ",") || strings.HasSuffix(before, "{") || strings.HasSuffix(before, "(")
	switch {
	case open < 0 || !isFirst:
		return false
	case m.is("Python"):
		return m.Mask[open] == '(' && isAssigned(behind) && !m.isSignature(open)
	case m.is("JavaScript", "TypeScript"):
		return m.Mask[open] == '{' && (strings.HasPrefix(behind, ":") || strings.HasPrefix(behind, "(") && !strings.HasSuffix(before, "("))
	case m.is("Kotlin", "C#"):
		return m.Mask[open] == '(' && (isAssigned(behind) || strings.HasPrefix(behind, ":")) && !m.isSignature(open)
	case m.is("Java"):
		return m.Mask[open] == '(' && isAssigned(behind)
	case m.is("Rust"):
		return m.Mask[open] == '{' && strings.HasPrefix(behind, ":") && !strings.HasPrefix(behind, "::")
	}
	return false
}

func isAssigned(behind string) bool {
	return strings.HasPrefix(behind, "=") && !strings.HasPrefix(behind, "==") && !strings.HasPrefix(behind, "=>")
}

// bracket is the offset of the innermost bracket that is open at an offset; -1 for none.
func (m *marker) bracket(at int) int {
	depth := 0
	for i := at - 1; i >= max(0, at-maxLooked); i-- {
		switch m.Mask[i] {
		case ')', ']', '}':
			depth++
		case '(', '[', '{':
			if depth == 0 {
				return i
			}
			depth--
		}
	}
	return -1
}

// isSignature reports whether a round bracket opens the parameters of a function.
func (m *marker) isSignature(open int) bool {
	before := m.before(open)
	name := strings.TrimRightFunc(before, func(r rune) bool { return r >= 0x80 || isWord(byte(r)) })
	word := lastWord(name)
	return word == "def" || word == "function" || word == "fun" || word == "fn" || lastWord(before) == "function" || lastWord(before) == "lambda"
}

func lastWord(text string) string {
	text = strings.TrimRight(text, " \t\r\n*")
	end := len(text)
	for end > 0 && lexis.IsWord(text[end-1]) {
		end--
	}
	return text[end:]
}
