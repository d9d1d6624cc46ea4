package jsontext

import (
	"cmp"
	"math/big"
	"testing"
)

func FuzzDecimal(f *testing.F) {
	for _, x := range [][2]string{{"1", "1.0"}, {"-0", "0e5"}, {"9007199254740993", "9007199254740992.5"}, {"1e2", "100"}, {"0.001", "1E-3"}, {"-5", "-6"}, {"10", "9"}, {"0.1", "0.09"}} {
		f.Add(x[0], x[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, s := range []string{a, b} {
			scan := scanner{data: []byte(s)}
			if !IsNumber(scan.data) || scan.number() != nil || scan.i < len(s) {
				return
			}
		}
		x, ok1 := ParseDecimal([]byte(a))
		y, ok2 := ParseDecimal([]byte(b))
		p, q := rational(a), rational(b)
		if !ok1 || !ok2 || p == nil || q == nil {
			return // too large for one of the two ways
		}
		if got, want := x.Compare(y), p.Cmp(q); got != want {
			t.Errorf("%s against %s: %d, want %d", a, b, got, want)
		}
		if got, want := y.Compare(x), q.Cmp(p); got != want {
			t.Errorf("%s against %s: %d, want %d", b, a, got, want)
		}
	})
}

// rational reads a number of a size that is no burden; nil for others.
func rational(s string) *big.Rat {
	if len(s) > 40 {
		return nil
	}
	d, ok := ParseDecimal([]byte(s))
	if !ok || d.Exponent > 2000 || d.Exponent < -2000 {
		return nil
	}
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		return nil
	}
	return r
}

func TestDecimalBeyondReckoning(t *testing.T) {
	for s, want := range map[string]bool{
		"1e99999999999999999": true, "1e100000000000000000": false, "1e-100000000000000000": false, "0e100000000000000000": true, "1e000000000000000000001": true,
	} {
		if _, ok := ParseDecimal([]byte(s)); ok != want {
			t.Errorf("%s: %v", s, ok)
		}
	}
}

// Each number stands before those behind it, and beside none but itself.
func TestDecimalOrder(t *testing.T) {
	numbers := []string{"-1e3", "-12", "-2", "-1.5", "-1", "-1e-3", "0", "1e-3", "0.9", "1", "1.5", "2", "12", "1e3"}
	for i, a := range numbers {
		for j, b := range numbers {
			x, _ := ParseDecimal([]byte(a))
			y, _ := ParseDecimal([]byte(b))
			if got := x.Compare(y); got != cmp.Compare(i, j) {
				t.Errorf("%s and %s: %d", a, b, got)
			}
			if got := Same([]byte(a), []byte(b)); got != (i == j) {
				t.Errorf("%s and %s are the same: %t", a, b, got)
			}
		}
	}
	const beyond = "1e99999999999999999999"
	for _, other := range []string{"0", "1", "1E99999999999999999999", `"1"`, "[]"} {
		if Same([]byte(beyond), []byte(other)) || Same([]byte(other), []byte(beyond)) {
			t.Errorf("%s is the same as %s", beyond, other)
		}
	}
}
