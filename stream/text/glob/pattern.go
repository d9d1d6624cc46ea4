package glob

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// A Pattern matches paths relative to a directory, as in gitignore(5): * ? [a-z] [!a-z] within
// a name, ** as a complete name for any number of names, \ before a literal character. A
// pattern without a slash matches the last name of a path. A slash at the beginning only
// prevents that. A slash at the end matches only directories.
type Pattern struct {
	text     string
	tail     string // literal text at the end of text, which is cheap to compare
	NameOnly bool   // only the last name of a path counts
	DirsOnly bool
}

// New makes a pattern. An incomplete class or escape matches nothing; Expand finds it.
func New(text string) Pattern {
	text, dirs := strings.CutSuffix(text, "/")
	p := Pattern{NameOnly: !strings.Contains(text, "/"), DirsOnly: dirs, text: strings.TrimPrefix(text, "/")}
	p.tail = p.text[strings.LastIndexAny(p.text, `*?]\/`)+1:]
	if strings.HasSuffix(p.text, `\`+p.tail) {
		p.tail = ""
	}
	return p
}

// Matches reports whether the pattern matches a path, whose last name is name. With NameOnly,
// path is not used.
func (p *Pattern) Matches(path, name string, isDir bool) bool {
	if p.NameOnly {
		path = name
	}
	switch {
	case p.DirsOnly && !isDir, !strings.HasSuffix(path, p.tail):
		return false
	case len(p.tail) == len(p.text):
		return len(path) == len(p.text)
	}
	return Match(p.text, path, Paths, nil)
}

// elementLen is the length of the first element of a pattern: a class, an escape or a
// character. It is 0 if the element is incomplete.
func elementLen(text string) int {
	switch text[0] {
	case '[':
		n, _ := class(text, 0)
		return n
	case '\\':
		_, n := utf8.DecodeRuneInString(text[1:])
		return min(n, 1) + n
	}
	_, n := utf8.DecodeRuneInString(text)
	return n
}

const (
	maxAlternatives = 256
	maxExpanded     = 64 << 10 // bytes of all alternatives together
)

// Expand replaces each {a,b} of a pattern by its alternatives. It expands the outer braces
// first, so that braces inside one alternative do not multiply the others. It returns an error
// for an incomplete pattern.
func Expand(pattern string) (all []string, err error) {
	var cuts []int // the bytes around each alternative of the first braces
	end, depth := 0, 0
	for n := 0; end < len(pattern); end += n {
		if n = elementLen(pattern[end:]); n == 0 {
			return nil, fmt.Errorf("%q is not complete ([ needs ], a final \\ a character)", pattern[end:])
		}
		switch pattern[end] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 1 && (pattern[end] == '{' && cuts == nil || pattern[end] == ',') || depth == 0 && cuts != nil {
			cuts = append(cuts, end)
		}
		depth = max(0, depth)
		if depth == 0 && cuts != nil {
			break
		}
	}
	switch {
	case depth > 0:
		return nil, errors.New("{ without }")
	case cuts == nil:
		return []string{pattern}, nil
	}
	size := 0
	for i, cut := range cuts[1:] {
		more, err := Expand(pattern[:cuts[0]] + pattern[cuts[i]+1:cut] + pattern[end+1:])
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
		if size += len(pattern) * len(more); len(all) > maxAlternatives || size > maxExpanded {
			return nil, fmt.Errorf("more than %d alternatives, or %d bytes in all of them", maxAlternatives, maxExpanded)
		}
	}
	return all, nil
}
