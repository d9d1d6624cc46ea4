package glob

import (
	"strings"
	"unicode/utf8"
)

// class reads the class at the beginning of a pattern, such as [a-z] or [!a-z], and reports
// whether it has a character. Its length is 0 if it is incomplete. No class has a slash.
func class(pattern string, c rune) (length int, has bool) {
	rest := pattern[1:]
	negated := strings.HasPrefix(rest, "!") || strings.HasPrefix(rest, "^")
	if negated {
		rest = rest[1:]
	}
	for first := true; first || !strings.HasPrefix(rest, "]"); first = false {
		if name, after, found := named(rest); found {
			has, rest = has || inNamed(c, name), after
			continue
		}
		from, after := member(rest)
		to := from
		if end, ends := strings.CutPrefix(after, "-"); ends && !strings.HasPrefix(end, "]") {
			to, after = member(end)
		}
		if after == "" { // every class ends in ]
			return 0, false
		}
		has, rest = has || from <= c && c <= to, after
	}
	return len(pattern) - len(rest) + 1, has != negated && c != '/'
}

// member reads a character of a class, which \ may precede.
func member(text string) (c rune, rest string) {
	text = strings.TrimPrefix(text, `\`)
	c, n := utf8.DecodeRuneInString(text)
	return c, text[n:]
}

// named reads a named class of POSIX, such as [:alpha:], in a class.
func named(text string) (name, rest string, found bool) {
	inner, is := strings.CutPrefix(text, "[:")
	if !is {
		return "", "", false
	}
	return strings.Cut(inner, ":]")
}

// inNamed reports whether an ASCII character is in a named class.
func inNamed(c rune, name string) bool {
	lower, upper, digit := 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9'
	switch name {
	case "lower":
		return lower
	case "upper":
		return upper
	case "digit":
		return digit
	case "alpha":
		return lower || upper
	case "alnum":
		return lower || upper || digit
	case "xdigit":
		return digit || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
	case "blank":
		return c == ' ' || c == '\t'
	case "space":
		return c == ' ' || '\t' <= c && c <= '\r'
	case "cntrl":
		return c < ' ' || c == 0x7f
	case "print":
		return ' ' <= c && c <= '~'
	case "graph":
		return '!' <= c && c <= '~'
	case "punct":
		return '!' <= c && c <= '~' && !lower && !upper && !digit
	}
	return false
}
