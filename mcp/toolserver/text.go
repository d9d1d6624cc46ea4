package toolserver

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
)

var ByteOrderMark = []byte("\xEF\xBB\xBF")

const (
	// MaxText is the longest text that a tool answers, in bytes: a little less than a model
	// is shown uncut.
	MaxText    = 240 << 10
	MaxListed  = 5000      // entries in a listing
	MaxCounted = 256 << 20 // bytes in which lines are counted, so that a huge file does not delay a call
	ReadChunk  = 64 << 10  // bytes that a tool reads from a file at once

	MaxPattern      = 4096 // of a regular expression or glob
	maxInstructions = 2048 // of a compiled regular expression
)

// LooksBinary reports whether a file with this beginning is not text.
func LooksBinary(b []byte) bool { return bytes.IndexByte(b[:min(len(b), 32<<10)], 0) >= 0 }

// CompilePattern compiles an expression in which ^ and $ match at the ends of lines. A match takes
// at most the product of the text's length and the number of instructions. Repetitions can
// make the number of instructions a thousand times the length of the expression, so both are
// limited. tree is the parsed expression.
func CompilePattern(expression string, ignoreCase bool) (re *regexp.Regexp, tree *syntax.Regexp, err error) {
	switch {
	case expression == "":
		return nil, nil, errors.New("the pattern is empty; it would match every line")
	case len(expression) > MaxPattern:
		return nil, nil, fmt.Errorf("the pattern has %d bytes, at most %d are allowed", len(expression), MaxPattern)
	}
	flags, prefix := syntax.Perl&^syntax.OneLine, "(?m)"
	if ignoreCase {
		flags, prefix = flags|syntax.FoldCase, "(?mi)"
	}
	tree, err = syntax.Parse(expression, flags)
	if err == nil {
		if PatternSteps(tree) > maxInstructions {
			return nil, nil, fmt.Errorf("pattern %q is too large: its repetitions make more than %d steps", expression, maxInstructions)
		}
		re, err = regexp.Compile(prefix + expression)
	}
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		return nil, nil, fmt.Errorf("pattern %q is not an RE2 regular expression: %s: %q", expression, e.Code, e.Expr)
	}
	return re, tree, err
}

// InsideLine compiles the tree of an expression, which it changes, for a text without line ends
// that begins inside a line: ^ matches nowhere in it.
func InsideLine(tree *syntax.Regexp) (*regexp.Regexp, error) {
	withoutBegin(tree)
	return regexp.Compile(tree.String())
}

func withoutBegin(re *syntax.Regexp) {
	if re.Op == syntax.OpBeginLine || re.Op == syntax.OpBeginText {
		re.Op = syntax.OpNoMatch
	}
	for _, sub := range re.Sub {
		withoutBegin(sub)
	}
}

// PatternSteps estimates the number of instructions of a compiled expression.
func PatternSteps(re *syntax.Regexp) int {
	n := max(1, len(re.Sub))
	if re.Op == syntax.OpLiteral {
		n = len(re.Rune)
	}
	for _, sub := range re.Sub {
		n += PatternSteps(sub)
	}
	if re.Op == syntax.OpRepeat {
		n *= max(1, re.Min, re.Max)
	}
	return n
}
