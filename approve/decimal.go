package approve

import (
	"bytes"
	"math"
	"strconv"

	"toolpipe/stream/jsontext"
)

// near reports whether a reader in double precision, or a careless one, may
// take a for b: they differ by less than some units in the last place of a
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

func float(a jsontext.Decimal) float64 {
	const enough = 25 // digits for any float64 with such a tolerance
	b := make([]byte, 0, 64)
	if a.Negative {
		b = append(b, '-')
	}
	b = append(append(b, "0."...), a.Digits[:min(len(a.Digits), enough)]...)
	f, _ := strconv.ParseFloat(string(strconv.AppendInt(append(b, 'e'), a.Exponent, 10)), 64) // out of range it is infinite or 0
	return f
}

// maxPlain is up to which exponent numbers are written without one.
const maxPlain = 400

// plain returns a as it is written without an exponent and needless zeros.
func plain(a jsontext.Decimal) []byte {
	if len(a.Digits) == 0 {
		return []byte("0")
	}
	var b []byte
	if a.Negative {
		b = append(b, '-')
	}
	n := int64(len(a.Digits))
	switch {
	case a.Exponent <= 0:
		b = append(append(b, "0."...), bytes.Repeat([]byte("0"), int(-a.Exponent))...)
		return append(b, a.Digits...)
	case a.Exponent >= n:
		return append(append(b, a.Digits...), bytes.Repeat([]byte("0"), int(a.Exponent-n))...)
	}
	b = append(append(b, a.Digits[:a.Exponent]...), '.')
	return append(b, a.Digits[a.Exponent:]...)
}
