package approve

import (
	"bytes"
	"errors"
	"strconv"
	"toolpipe/stream/jsontext"
	"unicode"
	"unicode/utf8"
)

// readings are what a server may take an argument for where a number is
// expected. Many servers read more than JSON's numbers: strings that spell one
// ("0x3e8", "1,000", "１０００"), true as 1, null as 0. A deny must hold for
// whatever the server makes of the value.
type readings struct {
	numbers [4]jsontext.Decimal
	count   int
	unclear bool // it may be any number
	unit    bool // what follows may change its worth, as in "1k"
}

func (r *readings) add(literal []byte) {
	d, ok := jsontext.ParseDecimal(literal)
	if !ok {
		r.unclear = true
		return
	}
	r.numbers[r.count] = d
	r.count++
}

// any reports whether f holds for one of the numbers.
func (r *readings) any(f func(jsontext.Decimal) bool) bool {
	for _, n := range r.numbers[:r.count] {
		if f(n) {
			return true
		}
	}
	return false
}

// readings are those of the value at a node.
func (e *evaluation) readings(at int) (r readings) {
	switch e.document.nodes[at].kind {
	case '0':
		r.add(e.document.raw(at))
	case 't':
		r.add([]byte("1"))
	case 'f', 'n':
		r.add([]byte("0"))
	case '"':
		text := e.document.str(at)
		negative, rest := beforeNumber(text)
		switch c, _ := utf8.DecodeRune(rest); {
		case len(bytes.TrimSpace(text)) == 0:
			r.add([]byte("0"))
		case c == '∞':
			r.unclear = true
		case unicode.IsDigit(c) || c == '.' || c == ',' || isWord(rest, "nan", "inf", "infinity"):
			if e.spend(len(rest)) {
				r.spelled(negative, rest)
			}
		}
	}
	return r
}

// beforeNumber takes spaces, signs and currencies from the front of a text.
func beforeNumber(text []byte) (negative bool, rest []byte) {
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		switch {
		case c == '∞':
			return negative, text
		case unicode.Is(unicode.Pd, c) || c == '−' || c == '(':
			negative = true
		case !unicode.IsSpace(c) && !unicode.IsSymbol(c) && c != '#':
			return negative, text
		}
		text = text[n:]
	}
	return negative, nil
}

// spelled adds the numbers that a text may begin with, which begins with a
// digit, a point, a comma or a word for what is no number.
func (r *readings) spelled(negative bool, text []byte) {
	b, more := plainText(text)
	if b[0] == 'n' || b[0] == 'i' {
		r.unclear = true
		return
	}
	if len(b) > 2 && b[0] == '0' {
		if base := map[byte]int{'x': 16, 'o': 8, 'b': 2}[b[1]]; base != 0 && r.whole(negative, b[2:], base) {
			return
		}
	}
	end := len(b) - len(bytes.TrimLeft(b, "0123456789_,. "))
	mantissa, exponent, tail := bytes.TrimRight(b[:end], "_, "), []byte(nil), b[end:]
	if !bytes.ContainsAny(mantissa, "0123456789") {
		return
	}
	if i := exponentEnd(tail); i > 0 {
		exponent, tail = tail[:i], tail[i:]
	}
	r.unit = len(tail) > 0 && tail[0] >= 'a' || len(tail) == 0 && more
	r.decimals(negative, mantissa, exponent)
}

// decimals adds what a mantissa with separators may mean: grouping of digits,
// a comma as the point, the end of the number, or octal.
func (r *readings) decimals(negative bool, mantissa, exponent []byte) {
	add := func(point byte, drop string) {
		literal := make([]byte, 0, len(mantissa)+len(exponent)+1)
		if negative {
			literal = append(literal, '-')
		}
		for _, c := range mantissa {
			if c == point {
				c = '.'
			} else if bytes.IndexByte([]byte(drop), c) >= 0 {
				continue
			}
			literal = append(literal, c)
		}
		r.add(append(literal, exponent...))
	}
	if bytes.Count(mantissa, []byte(".")) <= 1 {
		add('.', "_, ")
	} else {
		add(0, "_,. ")
	}
	if bytes.Count(mantissa, []byte(",")) == 1 {
		add(',', "_. ")
	}
	if len(exponent) == 0 && mantissa[0] == '0' {
		r.whole(negative, mantissa, 8)
	}
	if i := bytes.IndexAny(mantissa, "_, "); i > 0 {
		mantissa, exponent = mantissa[:i], nil
		add('.', ".")
	}
}

// whole adds the whole number that digits spell, whatever comes behind it.
func (r *readings) whole(negative bool, digits []byte, base int) bool {
	digits = bytes.ReplaceAll(digits, []byte("_"), nil)
	end := bytes.IndexFunc(digits, func(c rune) bool {
		return c >= 'a' && int(c-'a')+10 >= base || c < '0' || c <= '9' && int(c-'0') >= base
	})
	if end < 0 {
		end = len(digits)
	}
	n, err := strconv.ParseUint(string(bytes.TrimLeft(digits[:end], "0")), base, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		r.unclear = true
	case end == 0:
		return false
	case negative:
		r.add(strconv.AppendUint([]byte("-"), n, 10))
	default:
		r.add(strconv.AppendUint(nil, n, 10))
	}
	return true
}

// exponentEnd is the length of the exponent that a text begins with.
func exponentEnd(text []byte) int {
	if len(text) < 2 || text[0] != 'e' {
		return 0
	}
	i := 1
	if text[1] == '+' || text[1] == '-' {
		i = 2
	}
	digits := len(text[i:]) - len(bytes.TrimLeft(text[i:], "0123456789"))
	if digits == 0 {
		return 0
	}
	return i + digits
}

// plainText returns the characters that text begins with and that a number may
// be made of, in ASCII and small letters; more tells that a letter follows.
func plainText(text []byte) (plain []byte, more bool) {
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		text = text[n:]
		switch {
		case c >= '！' && c <= '～': // the wide forms of ASCII
			c -= '！' - '!'
		case c == '٫':
			c = '.'
		case c == '٬':
			c = ','
		case c == '\'' || c == '’':
			c = '_'
		case unicode.IsSpace(c):
			c = ' '
		}
		if unicode.IsDigit(c) {
			c = digit(c)
		}
		if c < utf8.RuneSelf {
			c = unicode.ToLower(c)
		}
		if c >= utf8.RuneSelf || bytes.IndexByte([]byte("0123456789_,. +-abcdefinotxy"), byte(c)) < 0 {
			return plain, unicode.IsLetter(c)
		}
		plain = append(plain, byte(c))
	}
	return plain, false
}

// digit returns the ASCII form of a decimal digit. Those of a script stand in
// order, from its zero on.
func digit(c rune) rune {
	n := rune(0)
	for c >= utf8.RuneSelf && unicode.IsDigit(c-1) {
		c--
		n++
	}
	if c < utf8.RuneSelf {
		return c
	}
	return '0' + n%10
}

// isWord reports whether a text is one of some words, which are small, but for
// spaces and case.
func isWord(text []byte, words ...string) bool {
	text = bytes.TrimSpace(text)
	for _, w := range words {
		if bytes.EqualFold(text, []byte(w)) {
			return true
		}
	}
	return false
}

// mayBe reports whether the value at a node may be read as the truth value.
func (e *evaluation) mayBe(truth bool, at int) bool {
	if e.document.nodes[at].kind == '"' {
		text := e.document.str(at)
		switch {
		case isWord(text, "true", "t", "yes", "y", "on", "enabled"):
			return truth
		case isWord(text, "false", "f", "no", "n", "off", "disabled"):
			return !truth
		}
	}
	r := e.readings(at)
	return !r.unit && (r.unclear || r.any(func(n jsontext.Decimal) bool { return truth == (len(n.Digits) > 0) }))
}

// meansSame reports whether a scalar of the call may be read as what the scalar
// nodes[i] of a rule means.
func (e *evaluation) meansSame(a *document, i, j int) bool {
	switch text := a.scalar(i); {
	case a.nodes[i].kind == 'n', len(text) == 0:
		return false
	case text[0] == '-' || text[0] >= '0' && text[0] <= '9':
		return isNumber(text) && e.mayBeNumber(text, j)
	case len(text) == len("true") && isWord(text, "true"):
		return e.mayBe(true, j)
	case len(text) == len("false") && isWord(text, "false"):
		return e.mayBe(false, j)
	}
	return false
}

// mayBeNumber reports whether the value at a node may be read as the number
// that JSON writes like text.
func (e *evaluation) mayBeNumber(text []byte, at int) bool {
	want, ok := jsontext.ParseDecimal(text)
	r := e.readings(at)
	return !ok || r.unclear || r.any(func(n jsontext.Decimal) bool { return n.Compare(want) == 0 || near(n, want) })
}

// isNumber reports whether a text is a number as JSON writes it.
func isNumber(text []byte) bool {
	return jsontext.IsNumber(text) && text[len(text)-1] > ' ' && jsontext.Check(text, jsontext.Options{}) == nil
}
