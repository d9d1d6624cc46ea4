package files

import (
	"bytes"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"toolpipe/mcp/toolserver"
)

// matcher finds the lines that match a regular expression. A match never crosses the end of
// its line.
type matcher struct {
	literals []literal      // every matching line has one of them; nil if none are known
	line     *regexp.Regexp // matches one line at a time
	longest  int            // bytes of a line that are matched together
}

const (
	maxSteps = 64 << 20 // instructions times bytes that are matched together: about a second
	maxLine  = 1 << 20  // upper limit for longest
)

func newMatcher(expression string, ignoreCase bool) (*matcher, error) {
	re, tree, err := toolserver.CompilePattern(expression, ignoreCase)
	if err != nil {
		return nil, err
	}
	m := &matcher{line: re, literals: required(tree.Simplify())}
	if len(m.literals) > maxLiterals {
		m.literals = nil
	}
	m.longest = min(maxLine, max(toolserver.ReadChunk, maxSteps/toolserver.PatternSteps(tree)))
	return m, nil
}

type literal struct {
	text string
	fold bool // letters match in either case; text is in lower case
}

const maxLiterals = 8

// required returns literals, each as long as possible; every match has at least one of them.
// It is nil if none are known.
func required(re *syntax.Regexp) []literal {
	switch re.Op {
	case syntax.OpLiteral:
		if n := literalOf(re); n.text != "" && !strings.Contains(n.text, "\n") {
			return []literal{n}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpConcat:
		var best []literal
		for _, sub := range re.Sub {
			if n := required(sub); shortest(n) > shortest(best) {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all []literal
		for _, sub := range re.Sub {
			n := required(sub)
			if n == nil {
				return nil
			}
			all = append(all, n...)
		}
		return all
	}
	return nil
}

// literalOf returns the literal of an expression. If case does not matter, it is the longest
// part without non-ASCII characters, k and s: k and s fold to the Kelvin sign and the long s
// too.
func literalOf(re *syntax.Regexp) literal {
	if re.Flags&syntax.FoldCase == 0 {
		return literal{text: string(re.Rune)}
	}
	longest := ""
	parts := strings.FieldsFunc(strings.ToLower(string(re.Rune)), func(r rune) bool { return r >= 0x80 || r == 'k' || r == 's' })
	for _, part := range parts {
		if len(part) > len(longest) {
			longest = part
		}
	}
	return literal{longest, true}
}

// shortest is the length of the shortest literal, 0 if there are none.
func shortest(all []literal) int {
	if len(all) == 0 {
		return 0
	}
	return len(slices.MinFunc(all, func(a, b literal) int { return len(a.text) - len(b.text) }).text)
}

// matches reports whether a line matches. crlf means that lines end in CR LF. A carriage
// return at the end belongs to the line's end; in a file without CR LF it may also belong to
// the line.
func (m *matcher) matches(line []byte, crlf bool) bool {
	if !m.mayMatch(line) {
		return false
	}
	inner, cut := bytes.CutSuffix(line, []byte("\r"))
	return m.line.Match(inner) || cut && !crlf && m.line.Match(line)
}

// mayMatch is false if no line of a text matches. ToLower may turn another character into a
// letter of a literal; then the regular expression decides.
func (m *matcher) mayMatch(text []byte) bool {
	return m.literals == nil || slices.ContainsFunc(m.literals, func(n literal) bool {
		return bytes.Contains(text, []byte(n.text)) || n.fold && bytes.Contains(bytes.ToLower(text), []byte(n.text))
	})
}
