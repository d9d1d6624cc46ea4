package approve

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// egressNamed is the outcome for a call that sends only to destinations that the user named.
const egressNamed = "named"

// names reports whether c names a destination and the user's words name all of its
// destinations. Keys match in any case, as in many servers. An undeclared argument that looks
// like a destination may be one, so it makes the result false.
func (g *Gate) names(c *Call) bool {
	if g.Words == "" || !c.Sends.Known || len(c.Sends.Paths) == 0 || !c.Labels.Has(Sends) {
		return false
	}
	e := &evaluation{budget: newBudget(context.Background())}
	e.call = c
	d, found := e.arguments(), false
	declared := make([]bool, len(d.nodes))
	for _, effect := range []Labels{Reads, Writes, Sends} {
		areNamed := func(at int) bool {
			for j := at; j < d.nodes[at].next; j++ {
				declared[j] = true
				kind, text := d.nodes[j].kind, d.raw(j)
				if kind == '"' {
					text = d.str(j)
				}
				isOne := effect == Sends && isScalar(kind) && kind != 'n'
				found = found || isOne
				switch {
				case j > at && isDestination(string(d.key(j))):
					return false
				case isOne && (kind != '"' && kind != '0' || !isNamed(g.Words, strings.Trim(string(text), " \t\r\n"))):
					return false
				}
			}
			return true
		}
		for _, path := range c.of(effect).Paths {
			if !e.all(path.segments, 0, true, areNamed) {
				return false
			}
		}
	}
	for at := 1; at < len(d.nodes); at++ {
		if !declared[at] && (isDestination(string(d.key(at))) || d.nodes[at].kind == '"' && isDestination(string(d.str(at)))) {
			return false
		}
	}
	return found
}

// isNamed reports whether words name a destination: it is in quotes, or it looks like a
// destination and is a complete word. A URL is named by its scheme, its host and a path that
// leads to it. The case of letters does not matter. A destination that is not ASCII is never
// named: other letters may look the same.
func isNamed(words, destination string) bool {
	if destination == "" || strings.ContainsFunc(destination, func(r rune) bool { return r > unicode.MaxASCII || r < ' ' }) {
		return false
	}
	if u, err := url.Parse(destination); err == nil && u.Scheme != "" && u.Host != "" {
		return slices.ContainsFunc(strings.Fields(words), func(word string) bool { return leadsTo(trimmed(word), u) })
	}
	lower, wanted, formed := strings.ToLower(words), strings.ToLower(destination), isDestination(destination)
	for from := 0; ; {
		i := strings.Index(lower[from:], wanted)
		if i < 0 {
			return false
		}
		i += from
		before, after := lower[:i], lower[i+len(wanted):]
		if isQuoted(before, after) || formed && isWhole(before, after) && (!isPhone(destination) || isWholePhone(before, after)) {
			return true
		}
		from = i + 1
	}
}

// isQuoted reports whether the text between before and after fills a pair of quotes. An
// apostrophe in a word is no quote.
func isQuoted(before, after string) bool {
	for _, quotes := range [...]string{`""`, "''", "``", "“”", "„“", "‘’", "«»"} {
		_, n := utf8.DecodeRuneInString(quotes)
		left, opened := strings.CutSuffix(before, quotes[:n])
		right, closed := strings.CutPrefix(after, quotes[n:])
		if opened && closed {
			last, first := around(left, right, "")
			return !isLetterOrDigit(last) && !isLetterOrDigit(first)
		}
	}
	return false
}

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// isWhole reports whether the text between before and after is not part of a longer word. A
// dot, a dash or a colon ends it only if no letter or digit follows: "bob@example.com" is not
// in "bob@example.com.evil.org", but it is in "write to bob@example.com."
func isWhole(before, after string) bool {
	last, first := around(before, after, ".-:")
	goesOn := func(r rune) bool { return isLetterOrDigit(r) || strings.ContainsRune(`@_%+=&#/\~`, r) }
	return !goesOn(last) && !goesOn(first)
}

const betweenDigits = " ().-/" // of a phone number

func isWholePhone(before, after string) bool {
	last, first := around(before, after, betweenDigits)
	return last != '+' && !unicode.IsDigit(last) && !unicode.IsDigit(first)
}

// around returns the characters that are nearest to the text between before and after, without
// those in skipped; utf8.RuneError for none.
func around(before, after, skipped string) (last, first rune) {
	last, _ = utf8.DecodeLastRuneInString(strings.TrimRight(before, skipped))
	first, _ = utf8.DecodeRuneInString(strings.TrimLeft(after, skipped))
	return last, first
}

// isDestination reports whether a text looks like a destination or a list of them: an address,
// a host, a URL, a path, @name, #channel, a phone number or an account number. A text that only
// mentions an address does not. In a text of one line, one element that is an address or a URL
// is enough: servers accept a list with other elements in it.
func isDestination(text string) bool {
	text = strings.Map(folded, text)
	oneLine := !strings.ContainsAny(strings.TrimSpace(text), "\r\n")
	all, found := true, false
	for part := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune(",;\r\n", r) }) {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		found = true
		element := bareElement(part)
		if oneLine && isAddress(element) {
			return true
		}
		isNone := func(word string) bool { return !hasForm(word) }
		all = all && len(element) <= maxPath && (isPhone(element) || !slices.ContainsFunc(strings.Fields(element), isNone))
	}
	return found && all
}

// folded maps a character as readers of host names do (UTS #46): full-width characters become
// ASCII, and invisible characters disappear.
func folded(r rune) rune {
	switch {
	case r >= '！' && r <= '～':
		return r - '！' + '!'
	case r == '。' || r == '｡':
		return '.'
	case unicode.Is(unicode.Cf, r):
		return -1
	}
	return r
}

// bareElement strips from an element of an address list what RFC 5322 allows around the
// address: a name and angle brackets, a comment, the name of a group.
func bareElement(part string) string {
	if _, rest, ok := strings.Cut(part, "<"); ok {
		if address, _, ok := strings.Cut(rest, ">"); ok {
			return strings.TrimSpace(address)
		}
	}
	if _, rest, ok := strings.Cut(part, ": "); ok {
		part = rest
	}
	if address, _, ok := strings.Cut(part, " ("); ok && strings.HasSuffix(part, ")") {
		part = address
	}
	return strings.TrimSpace(part)
}

func isAddress(word string) bool {
	if len(word) > maxPath || strings.ContainsFunc(word, unicode.IsSpace) {
		return false
	}
	at := strings.LastIndexByte(word, '@')
	return at > 0 && isHost(strings.Trim(word[at+1:], "[]")) || strings.Contains(word, "://")
}

// hasForm reports whether a word is an address, a host, perhaps with a port or a path, a URL, a
// path, @name, #channel or an account number.
func hasForm(word string) bool {
	host, port, _ := strings.Cut(word, ":")
	_, noPort := strconv.ParseUint(port, 10, 16)
	switch {
	case len(word) < 2:
		return false
	case strings.ContainsAny(word, `@/\`), word[0] == '#', word[0] == '~':
		return true
	case noPort == nil && strings.ContainsFunc(host, unicode.IsLetter):
		return true
	}
	_, err := netip.ParseAddrPort(word)
	return err == nil || isIBAN(word) || isHost(strings.Trim(word, "[]")) || slices.ContainsFunc(strings.Split(word, ":"), func(part string) bool {
		return isHost(part) || isPhone(part) // example.com:path, tel:+15551234567
	})
}

// isIBAN reports whether a word looks like an account number (ISO 13616).
func isIBAN(word string) bool {
	const letters, digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789"
	return len(word) >= 15 && len(word) <= 34 &&
		strings.Trim(word[:2], letters) == "" && strings.Trim(word[2:4], digits) == "" && strings.Trim(word[4:], letters+digits) == ""
}

// isHost reports whether a word is an IP address or a host name with a dot in it.
func isHost(word string) bool {
	if _, err := netip.ParseAddr(word); err == nil {
		return true
	}
	labels := strings.Split(strings.TrimSuffix(word, "."), ".")
	for _, label := range labels {
		if label == "" || strings.ContainsFunc(label, func(r rune) bool { return !isLetterOrDigit(r) && !unicode.IsMark(r) && r != '-' && r != '_' }) {
			return false
		}
	}
	top := []rune(labels[len(labels)-1])
	return len(labels) > 1 && len(top) > 1 && unicode.IsLetter(top[0])
}

// isPhone reports whether a text is a phone number: at most 15 digits (E.164), perhaps in
// groups. Without a plus the last group needs three digits, which excludes 2026-01-31.
func isPhone(text string) bool {
	groups := strings.FieldsFunc(strings.TrimPrefix(text, "+"), func(r rune) bool { return strings.ContainsRune(betweenDigits, r) })
	digits := strings.Join(groups, "")
	if len(digits) < 7 || len(digits) > 15 || strings.Trim(digits, "0123456789") != "" {
		return false
	}
	return text[0] == '+' || len(groups[len(groups)-1]) > 2
}

func trimmed(word string) string {
	return strings.Trim(word, `.,;:!?"'()[]<>{}“”„‘’«»`+"`")
}

// leadsTo reports whether word, which the user wrote, names u: the same scheme and host, a path
// that u's path begins with, and the same query and fragment if u has them.
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
