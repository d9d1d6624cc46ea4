package jsontext

import (
	"bytes"
	"cmp"
	"strconv"
)

// A Decimal is a JSON number, exactly: 0.Digits times ten to the exponent.
type Decimal struct {
	Negative bool
	Digits   []byte // without zeros at either end; none for zero
	Exponent int64
}

// maxExponentDigits bounds exponents so that their sums fit into an int64.
const maxExponentDigits = 17

// ParseDecimal reads a number; ok is false if its exponent is too large to calculate with.
func ParseDecimal(literal []byte) (d Decimal, ok bool) {
	rest, negative := bytes.CutPrefix(literal, []byte("-"))
	mantissa, exponent := rest, []byte("0")
	if i := bytes.IndexAny(rest, "eE"); i >= 0 {
		mantissa, exponent = rest[:i], rest[i+1:]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits := append(append(make([]byte, 0, 32), whole...), fraction...)
	trimmed := bytes.TrimLeft(digits, "0")
	d = Decimal{Negative: negative, Digits: bytes.TrimRight(trimmed, "0")}
	if len(d.Digits) == 0 {
		return Decimal{}, true
	}
	magnitude := bytes.TrimLeft(exponent, "+-0")
	if len(magnitude) > maxExponentDigits {
		return Decimal{}, false
	}
	e, _ := strconv.ParseInt(string(magnitude), 10, 64) // 0 if no digit is left
	if exponent[0] == '-' {
		e = -e
	}
	d.Exponent = e + int64(len(whole)) - int64(len(digits)-len(trimmed))
	return d, true
}

// Compare returns -1, 0 or 1 as a is less than, equal to or more than b.
func (a Decimal) Compare(b Decimal) int {
	size := cmp.Or(cmp.Compare(a.Exponent, b.Exponent), bytes.Compare(a.Digits, b.Digits))
	return cmp.Or(cmp.Compare(a.sign(), b.sign()), a.sign()*size)
}

// sign returns -1, 0 or 1 as a is less than, equal to or more than zero.
func (a Decimal) sign() int {
	switch {
	case len(a.Digits) == 0:
		return 0
	case a.Negative:
		return -1
	}
	return 1
}
