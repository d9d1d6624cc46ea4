package approve

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// egressNamed is what becomes of a call that sends only to where the user has said.
const egressNamed = "named"

// names reports whether every destination of c, of which there is one at least, stands in
// the user's own words.
func (g *Gate) names(c *Call) bool {
	if g.Words == "" || !c.Sends.Known || len(c.Sends.Paths) == 0 || !c.Labels.Has(Sends) {
		return false
	}
	e := &evaluation{budget: newBudget(context.Background())}
	e.call = c
	d, found := e.arguments(), false
	for _, path := range c.Sends.Paths {
		named := e.all(path.segments, 0, false, func(at int) bool {
			for j := at; j < d.nodes[at].next; j++ {
				switch n := d.nodes[j]; {
				case n.kind == '"' || n.kind == '0':
					found = true
					if !isNamed(g.Words, strings.TrimSpace(string(d.scalar(j)))) {
						return false
					}
				case isScalar(n.kind) && n.kind != 'n':
					return false
				}
			}
			return true
		})
		if !named {
			return false
		}
	}
	return found
}

// isNamed reports whether a destination stands in words as a whole: an address, a number or
// a name without a part of it before or behind; a URL by its scheme, host and a path that
// leads to it. Letters count in any case. Of what is not ASCII nothing is named: other
// letters may look the same.
func isNamed(words, destination string) bool {
	if destination == "" || strings.ContainsFunc(destination, func(r rune) bool { return r > unicode.MaxASCII || r < ' ' }) {
		return false
	}
	if u, err := url.Parse(destination); err == nil && u.Scheme != "" && u.Host != "" {
		return slices.ContainsFunc(strings.Fields(words), func(word string) bool { return leadsTo(trimmed(word), u) })
	}
	lower, wanted := strings.ToLower(words), strings.ToLower(destination)
	for from := 0; ; {
		i := strings.Index(lower[from:], wanted)
		if i < 0 {
			return false
		}
		i += from
		before := func(s string, n int) string { return s[:len(s)-n] }
		behind := func(s string, n int) string { return s[n:] }
		if endsWord(lower[:i], utf8.DecodeLastRuneInString, before) && endsWord(lower[i+len(wanted):], utf8.DecodeRuneInString, behind) {
			return true
		}
		from = i + 1
	}
}

// trimmed is a word of a sentence without the signs around it.
func trimmed(word string) string { return strings.Trim(word, `.,;:!?"'()[]<>{}`+"`") }

// endsWord reports whether a destination may end where a text goes on, whose characters
// next takes off. A point or a dash ends it only if no letter follows: "bob@example.com" does
// not stand in "bob@example.com.evil.org", but in "write to bob@example.com."
func endsWord(text string, next func(string) (rune, int), rest func(string, int) string) bool {
	for text != "" {
		r, n := next(text)
		switch {
		case unicode.IsLetter(r), unicode.IsDigit(r), strings.ContainsRune(`@_%+=&#/\~`, r):
			return false
		case !strings.ContainsRune(".-:", r):
			return true
		}
		text = rest(text, n)
	}
	return true
}

// leadsTo reports whether the user, who has written word, has named u: the same scheme and
// host, a path that begins with the one named, and no query that was not.
func leadsTo(word string, u *url.URL) bool {
	said, err := url.Parse(word)
	if err != nil || !strings.EqualFold(said.Scheme, u.Scheme) || !strings.EqualFold(said.Host, u.Host) || u.User != nil {
		return false
	}
	if u.RawQuery != said.RawQuery && u.RawQuery != "" || u.Fragment != "" && u.Fragment != said.Fragment {
		return false
	}
	path, below := u.EscapedPath(), strings.TrimSuffix(said.EscapedPath(), "/")
	if goesUp([]byte(path)) || strings.Contains(path, "%") && path != said.EscapedPath() {
		return false
	}
	return path == below || strings.HasPrefix(path, below+"/")
}
