package approve

import (
	"bytes"
	"errors"
	"math"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"toolpipe/stream/text/jsontext"
)

// readings are the numbers that a server may read from an argument where it
// expects a number. Many servers read more than JSON's numbers: strings that
// spell a number ("0x3e8", "1,000", "１０００"), true as 1, null as 0. A deny
// must hold whatever number the server reads.
type readings struct {
	numbers   []jsontext.Decimal
	anyNumber bool // it may be read as any number
	scaled    bool // a unit behind the number may change its value, as in "1k"
}

// mayMean reports whether a server may read nodes[j] of the arguments as
// a.nodes[i], a policy's value. Both are scalars.
func (e *evaluation) mayMean(a *document, i, j int) bool {
	switch text := a.scalar(i); {
	case len(text) == 0:
		return false
	case text[0] == '-' || text[0] >= '0' && text[0] <= '9':
		return isNumber(text) && e.mayMeanNumber(text, j)
	case len(text) == len("true") && isOneOf(text, "true"):
		return e.mayMeanBool(true, j)
	case len(text) == len("false") && isOneOf(text, "false"):
		return e.mayMeanBool(false, j)
	}
	return false
}

// mayMeanNumber reports whether a server may read the value at a node as a
// number, given by its JSON text.
func (e *evaluation) mayMeanNumber(text []byte, at int) bool {
	want, ok := jsontext.ParseDecimal(text)
	r := e.readings(at)
	return !ok || r.anyNumber || slices.ContainsFunc(r.numbers, func(n jsontext.Decimal) bool { return n.Compare(want) == 0 || near(n, want) })
}

// mayMeanBool reports whether a server may read the value at a node as want.
func (e *evaluation) mayMeanBool(want bool, at int) bool {
	if e.document.nodes[at].kind == '"' {
		text := e.document.str(at)
		switch {
		case isOneOf(text, "true", "t", "yes", "y", "on", "enabled"):
			return want
		case isOneOf(text, "false", "f", "no", "n", "off", "disabled"):
			return !want
		}
	}
	r := e.readings(at)
	return !r.scaled && (r.anyNumber || slices.ContainsFunc(r.numbers, func(n jsontext.Decimal) bool { return want == (len(n.Digits) > 0) }))
}

// readings returns the numbers that a server may read from the value at a node.
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
		negative, rest := trimSign(text)
		switch c, _ := utf8.DecodeRune(rest); {
		case len(trimSpace(text)) == 0:
			r.add([]byte("0"))
		case c == '∞':
			r.anyNumber = true
		case unicode.IsDigit(c) || c == '.' || c == ',' || isOneOf(rest, "nan", "inf", "infinity"):
			if e.spend(len(rest)) {
				r.addSpelled(negative, rest)
			}
		}
	}
	return r
}

// add adds the number of a JSON literal.
func (r *readings) add(literal []byte) {
	d, ok := jsontext.ParseDecimal(literal)
	if !ok {
		r.anyNumber = true
		return
	}
	r.numbers = append(r.numbers, d)
}

// trimSign cuts white space, signs and currency symbols from the front of a
// text; negative reports a minus sign or a parenthesis, as accountants write.
func trimSign(text []byte) (negative bool, rest []byte) {
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		switch {
		case c == '∞':
			return negative, text
		case unicode.Is(unicode.Pd, c) || c == '−' || c == '(':
			negative = true
		case !isSpace(c) && !unicode.IsSymbol(c) && c != '#':
			return negative, text
		}
		text = text[n:]
	}
	return negative, nil
}

// addSpelled adds the numbers that a server may read from the front of text,
// which begins with a digit, a point or a comma, or is "nan", "inf" or the like.
func (r *readings) addSpelled(negative bool, text []byte) {
	b, letterFollows := asciiNumber(text)
	if b[0] == 'n' || b[0] == 'i' {
		r.anyNumber = true
		return
	}
	if len(b) > 2 && b[0] == '0' {
		if b[1] == 'x' && isHexFloat(b[2:]) {
			r.anyNumber = true
			return
		}
		if base := map[byte]int{'x': 16, 'o': 8, 'b': 2}[b[1]]; base != 0 && r.addWhole(negative, b[2:], base) {
			return
		}
	}
	end := len(b) - len(bytes.TrimLeft(b, "0123456789_,. "))
	mantissa, tail := bytes.TrimRight(b[:end], "_, "), b[end:]
	if !bytes.ContainsAny(mantissa, "0123456789") {
		return
	}
	exponent := tail[:exponentEnd(tail)]
	tail = tail[len(exponent):]
	r.scaled = len(tail) > 0 && tail[0] >= 'a' || len(tail) == 0 && letterFollows
	r.addSeparated(negative, mantissa, exponent)
}

// addSeparated adds the numbers that a mantissa with separators may be: a
// separator groups digits, is the decimal point, or ends the number. Digits
// after a leading zero may be octal.
func (r *readings) addSeparated(negative bool, mantissa, exponent []byte) {
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
		r.addWhole(negative, mantissa, 8)
	}
	if i := bytes.IndexAny(mantissa, "_, "); i > 0 {
		mantissa, exponent = mantissa[:i], nil
		add('.', ".")
	}
}

// addWhole adds the whole number at the front of digits, in the given base, and
// reports whether there is one.
func (r *readings) addWhole(negative bool, digits []byte, base int) bool {
	digits = bytes.ReplaceAll(digits, []byte("_"), nil)
	digits = digits[:len(digits)-len(bytes.TrimLeft(digits, "0123456789abcdef"[:base]))]
	n, err := strconv.ParseUint(string(bytes.TrimLeft(digits, "0")), base, 64)
	switch {
	case errors.Is(err, strconv.ErrRange):
		r.anyNumber = true
	case len(digits) == 0:
		return false
	case negative:
		r.add(strconv.AppendUint([]byte("-"), n, 10))
	default:
		r.add(strconv.AppendUint(nil, n, 10))
	}
	return true
}

// exponentEnd returns the length of the exponent at the front of text, 0 for none.
func exponentEnd(text []byte) int {
	digits, ok := bytes.CutPrefix(text, []byte("e"))
	if !ok {
		return 0
	}
	if len(digits) > 0 && (digits[0] == '+' || digits[0] == '-') {
		digits = digits[1:]
	}
	rest := bytes.TrimLeft(digits, "0123456789")
	if len(rest) == len(digits) {
		return 0
	}
	return len(text) - len(rest)
}

// isHexFloat reports whether text begins with hexadecimal digits and a point or
// a binary exponent, which C and Go read.
func isHexFloat(text []byte) bool {
	rest := bytes.TrimLeft(text, "0123456789abcdef_")
	return len(rest) > 0 && (rest[0] == '.' || rest[0] == 'p' && len(rest) < len(text))
}

// asciiNumber returns the characters at the front of text that a number may be
// made of, as ASCII in lower case. letterFollows reports a letter behind them.
func asciiNumber(text []byte) (number []byte, letterFollows bool) {
	for len(text) > 0 {
		c, n := utf8.DecodeRune(text)
		text = text[n:]
		switch {
		case c >= '！' && c <= '～': // the full-width forms of ASCII
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
		if c >= utf8.RuneSelf || bytes.IndexByte([]byte("0123456789_,. +-abcdefinoptxy"), byte(c)) < 0 {
			return number, unicode.IsLetter(c)
		}
		number = append(number, byte(c))
	}
	return number, false
}

// digit returns the ASCII form of a decimal digit. Unicode has the ten digits of
// every script in a row, from its zero on.
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

// isSpace reports whether a server may skip c around a number or a word:
// JavaScript takes a byte order mark for white space, Python the separator
// characters of ASCII, C a control character for the end.
func isSpace(c rune) bool { return unicode.In(c, unicode.White_Space, unicode.Cc, unicode.Cf) }

// trimSpace cuts such characters from both ends of a text.
func trimSpace(text []byte) []byte { return bytes.TrimFunc(text, isSpace) }

// isOneOf reports whether text, without what isSpace holds for around it, is one of words
// in any case.
func isOneOf(text []byte, words ...string) bool {
	text = trimSpace(text)
	return slices.ContainsFunc(words, func(w string) bool { return bytes.EqualFold(text, []byte(w)) })
}

// isNumber reports whether a text is a JSON number.
func isNumber(text []byte) bool {
	return jsontext.IsNumber(text) && text[len(text)-1] > ' ' && jsontext.Check(text, jsontext.Options{}) == nil
}

// near reports whether a server that computes in double precision, or rounds,
// may take a for b: they differ by less than some units in the last place of a
// float64.
func near(a, b jsontext.Decimal) bool {
	const underflow, tolerance = -300, 1.0 / (1 << 50)
	switch {
	case len(a.Digits) == 0 || len(b.Digits) == 0:
		return a.Exponent < underflow || b.Exponent < underflow
	case a.Exponent-b.Exponent > 1 || b.Exponent-a.Exponent > 1:
		return false
	}
	x, y := float(a), float(b)
	return x == y || math.Abs(x-y) <= math.Abs(y)*tolerance
}

// float returns the float64 nearest to a, or so: infinite or 0 out of its range.
func float(a jsontext.Decimal) float64 {
	const maxDigits = 25 // more make no difference to near
	b := append(make([]byte, 0, 64), "0."...)
	b = append(append(b, a.Digits[:min(len(a.Digits), maxDigits)]...), 'e')
	f, _ := strconv.ParseFloat(string(strconv.AppendInt(b, a.Exponent, 10)), 64)
	if a.Negative {
		return -f
	}
	return f
}

// maxPlain bounds the exponents of the numbers that plainDecimal is used for.
const maxPlain = 400

// plainDecimal returns a as it is written without an exponent and needless
// zeros.
func plainDecimal(a jsontext.Decimal) []byte {
	zeros := func(n int64) []byte { return bytes.Repeat([]byte("0"), int(max(0, n))) }
	digits := slices.Concat(zeros(-a.Exponent), a.Digits, zeros(a.Exponent-int64(len(a.Digits))))
	whole, fraction := digits[:max(0, a.Exponent)], digits[max(0, a.Exponent):]
	var b []byte
	if a.Negative {
		b = append(b, '-')
	}
	if b = append(b, whole...); len(whole) == 0 {
		b = append(b, '0')
	}
	if len(fraction) > 0 {
		b = append(append(b, '.'), fraction...)
	}
	return b
}
