package rename

import (
	"slices"
	"strings"
)

// isBinding reports whether a name, where it stands, may be declared there: as a parameter, or
// as a variable that gets its value.
func (m *marker) isBinding(at int) bool {
	if _, isMember := m.qualifier(at); isMember {
		return false
	}
	switch {
	case m.is("Python"):
		return m.bindsPython(at)
	case m.is("JavaScript", "TypeScript"):
		return m.bindsScript(at)
	}
	return m.bindsTyped(at)
}

// line is the code of the line around an offset, before it and behind it.
func (m *marker) line(at int) (before, behind string) {
	n := m.Line(at)
	end := len(m.Mask)
	if n < len(m.starts) {
		end = m.starts[n]
	}
	return string(m.Mask[m.starts[n-1]:at]), string(m.Mask[at+len(m.Plan.Name) : end])
}

func (m *marker) bindsPython(at int) bool {
	before, behind := m.line(at)
	rest := strings.TrimSpace(behind)
	word := lastWord(before)
	switch {
	case slices.Contains([]string{"as", "import", "def", "class", "for", "lambda"}, word), strings.HasPrefix(rest, ":="):
		return true
	case word == "global" || word == "nonlocal":
		return false
	}
	if i := strings.LastIndex(" "+before, " lambda "); i >= 0 && !strings.Contains(before[i:], ":") {
		return true
	}
	if i := strings.LastIndex(" "+before, " for "); i >= 0 && !strings.Contains(before[i:], " in ") && strings.Contains(behind, " in ") {
		return true
	}
	open := m.bracket(at)
	if open >= 0 && m.Mask[open] == '(' && m.isSignature(open) {
		return !strings.HasSuffix(m.before(at), ":") && !strings.HasSuffix(m.before(at), "=") && !strings.HasSuffix(m.before(at), "|")
	}
	if open >= 0 && m.Line(open) == m.Line(at) && !strings.Contains(behind, ")") {
		return false
	}
	if open >= 0 && (m.Mask[open] == '{' || m.Line(open) != m.Line(at)) {
		return false
	}
	isStart := strings.Trim(before, " \t,()[]*"+wordBytes) == ""
	target := strings.TrimLeft(rest, " \t,()[]*."+wordBytes)
	isTarget := isAssigned(target) || len(target) > 1 && target[1] == '=' && strings.IndexByte("+-*/%&|^@", target[0]) >= 0
	if open >= 0 && !strings.Contains(rest, ")") {
		return false
	}
	return isStart && (isTarget && !strings.HasPrefix(rest, ".") && !strings.HasPrefix(rest, "[") && !strings.HasPrefix(rest, "(") || strings.HasPrefix(rest, ":") && open < 0 && strings.TrimSpace(before) == "")
}

const wordBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

func (m *marker) bindsScript(at int) bool {
	before, behind := m.before(at), m.behind(at)
	word := lastWord(before)
	switch {
	case slices.Contains([]string{"let", "const", "var", "function", "class", "enum", "interface", "type", "namespace"}, word), strings.HasPrefix(behind, "=>"):
		return true
	case word == "as" && !strings.Contains(lineOf(before), "import"):
		return false
	}
	open := m.bracket(at)
	for open >= 0 {
		head := m.before(open)
		shut := m.shut(open)
		tail := ""
		if shut >= 0 {
			tail = strings.TrimLeft(string(m.Mask[shut+1:min(len(m.Mask), shut+1+maxLooked)]), " \t\r\n")
		}
		inPattern := m.Mask[open] != '(' && slices.Contains([]string{"let", "const", "var"}, lastWord(head))
		isDefault := strings.HasSuffix(before, "=") || strings.HasSuffix(before, ":")
		isHead := m.Mask[open] == '(' && (strings.HasPrefix(tail, "=>") || (strings.HasPrefix(tail, "{") || strings.HasPrefix(tail, ":")) && !slices.Contains([]string{"if", "while", "for", "switch", "with"}, lastWord(head)))
		switch {
		case (inPattern || isHead) && !isDefault:
			return true
		case m.Mask[open] == '{' && !strings.HasSuffix(head, "(") && !strings.HasSuffix(head, ",") && !strings.HasSuffix(head, "{") && !strings.HasSuffix(head, "["):
			return false // a block
		}
		open = m.bracket(open)
	}
	return false
}

func lineOf(text string) string { return text[strings.LastIndexByte(text, '\n')+1:] }

// shut is the offset of the bracket that closes the one at an offset; -1 for none.
func (m *marker) shut(open int) int {
	depth := 0
	for i := open; i < min(len(m.Mask), open+maxLooked); i++ {
		switch m.Mask[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// noTypes are the words behind which a name is no declaration.
const noTypes = "return else new throw throws case await yield goto do in is as instanceof delete sizeof typeof not and or co_return co_yield co_await if while match move unsafe extends implements super default when out using import package assert break continue crate pub impl dyn where"

// bindsTyped is for languages in which a declaration has a type or a word before its name.
func (m *marker) bindsTyped(at int) bool {
	before, behind := m.before(at), m.behind(at)
	word := lastWord(before)
	isCall := strings.HasPrefix(behind, "(") || strings.HasPrefix(behind, "::") || strings.HasPrefix(behind, "!")
	switch {
	case m.is("Rust"):
		isOf := strings.HasPrefix(behind, ":") && !strings.HasPrefix(behind, "::")
		return slices.Contains([]string{"let", "mut", "ref", "static", "const"}, word) || isOf || strings.HasPrefix(behind, "=>") ||
			!isCall && (strings.HasSuffix(before, "|") || strings.HasPrefix(behind, "|") || strings.HasPrefix(behind, "@"))
	case m.is("Kotlin"):
		return slices.Contains([]string{"val", "var"}, word) || strings.HasPrefix(behind, ":") && !strings.HasPrefix(behind, "::") || strings.HasPrefix(behind, "->")
	case word != "" && strings.HasSuffix(strings.TrimRight(before, " \t\r\n"), word):
		return !slices.Contains(strings.Fields(noTypes), word) && word[0] > '9' && !m.isDirective(at)
	case strings.HasPrefix(behind, "->"):
		return true // a parameter of a function of Java
	}
	return !isCall && (strings.HasSuffix(before, ">") || strings.HasSuffix(before, "*") || strings.HasSuffix(before, "&") || strings.HasSuffix(before, "]"))
}

// isDirective reports whether an offset is in a line such as #ifdef.
func (m *marker) isDirective(at int) bool {
	before, _ := m.line(at)
	return strings.HasPrefix(strings.TrimSpace(before), "#")
}
