package approve

import (
	"bytes"
	"math"
	"strconv"
)

// decimal is a JSON number, exactly: 0.digits times ten to the exponent.
type decimal struct {
	negative bool
	digits   []byte // without zeros at either end; none for zero
	exponent int64
}

// maxExponentDigits bounds exponents so that their sums fit.
const maxExponentDigits = 17

// parseDecimal reads a JSON number; ok is false if its exponent is too large
// to reckon with.
func parseDecimal(literal []byte) (d decimal, ok bool) {
	rest, negative := bytes.CutPrefix(literal, []byte("-"))
	mantissa, exponent := rest, []byte("0")
	if i := bytes.IndexAny(rest, "eE"); i >= 0 {
		mantissa, exponent = rest[:i], rest[i+1:]
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	digits := append(append(make([]byte, 0, 32), whole...), fraction...)
	trimmed := bytes.TrimLeft(digits, "0")
	d = decimal{negative: negative, digits: bytes.TrimRight(trimmed, "0")}
	if len(d.digits) == 0 {
		return decimal{}, true
	}
	magnitude := bytes.TrimLeft(exponent, "+-0")
	if len(magnitude) > maxExponentDigits {
		return decimal{}, false
	}
	e := int64(0)
	if len(magnitude) > 0 {
		e, _ = strconv.ParseInt(string(magnitude), 10, 64)
	}
	if exponent[0] == '-' {
		e = -e
	}
	d.exponent = e + int64(len(whole)) - int64(len(digits)-len(trimmed))
	return d, true
}

// compare returns -1, 0 or 1 as a is less than, equal to or more than b.
func (a decimal) compare(b decimal) int {
	switch {
	case len(a.digits) == 0 && len(b.digits) == 0:
		return 0
	case len(a.digits) == 0:
		return b.sign(-1)
	case len(b.digits) == 0 || a.negative != b.negative:
		return a.sign(1)
	case a.exponent < b.exponent:
		return a.sign(-1)
	case a.exponent > b.exponent:
		return a.sign(1)
	}
	return a.sign(bytes.Compare(a.digits, b.digits))
}

// near reports whether a reader in double precision, or a careless one, may
// take a for b: they differ by less than some units in the last place of a
// float64.
func (a decimal) near(b decimal) bool {
	const underflow, tolerance = -300, 1.0 / (1 << 50)
	switch {
	case len(a.digits) == 0 || len(b.digits) == 0:
		return a.exponent < underflow || b.exponent < underflow
	case a.exponent-b.exponent > 1 || b.exponent-a.exponent > 1:
		return false
	}
	x, y := a.float(), b.float()
	return x == y || math.Abs(x-y) <= math.Abs(y)*tolerance
}

func (a decimal) float() float64 {
	const enough = 25 // digits for any float64 with such a tolerance
	b := make([]byte, 0, 64)
	if a.negative {
		b = append(b, '-')
	}
	b = append(append(b, "0."...), a.digits[:min(len(a.digits), enough)]...)
	f, _ := strconv.ParseFloat(string(strconv.AppendInt(append(b, 'e'), a.exponent, 10)), 64) // out of range it is infinite or 0
	return f
}

// maxPlain is up to which exponent numbers are written without one.
const maxPlain = 400

// plain returns a as it is written without an exponent and needless zeros.
func (a decimal) plain() []byte {
	if len(a.digits) == 0 {
		return []byte("0")
	}
	var b []byte
	if a.negative {
		b = append(b, '-')
	}
	n := int64(len(a.digits))
	switch {
	case a.exponent <= 0:
		b = append(append(b, "0."...), bytes.Repeat([]byte("0"), int(-a.exponent))...)
		return append(b, a.digits...)
	case a.exponent >= n:
		return append(append(b, a.digits...), bytes.Repeat([]byte("0"), int(a.exponent-n))...)
	}
	b = append(append(b, a.digits[:a.exponent]...), '.')
	return append(b, a.digits[a.exponent:]...)
}

// sign returns n, turned round for a negative number.
func (a decimal) sign(n int) int {
	if a.negative {
		return -n
	}
	return n
}
