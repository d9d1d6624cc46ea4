package approve

import (
	"testing"

	"toolpipe/stream/jsontext"
)

// FuzzReadings checks that any string can be read, and that a string which is a
// JSON number is read as that number, also with white space or a currency
// symbol around it.
func FuzzReadings(f *testing.F) {
	for _, s := range []string{"0x3e8", "1,000", "１０００", " +inf", "1_0.0e+5", "01750", "(1.000,50)", "٣٫٤", "-12.5e-3", "0", "1e999999999999999999999", "'", "0x", "𝟘𝟙"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		read := func(s string) (r readings, ok bool) {
			arguments, err := Canonical(append(jsontext.AppendQuoted([]byte(`{"a":`), s), '}'))
			if err != nil {
				return r, false
			}
			e := &evaluation{}
			e.begin(t.Context(), &Call{Arguments: arguments})
			e.parse()
			e.mayMeanBool(true, 1)
			return e.readings(1), true
		}
		if _, ok := read(s); !ok || s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') || !isNumber([]byte(s)) {
			return
		}
		want, ok := jsontext.ParseDecimal([]byte(s))
		for _, around := range []string{s, " " + s + "\n", "$" + s, s + " "} {
			r, _ := read(around)
			if !r.anyNumber && (!ok || !r.any(func(n jsontext.Decimal) bool { return n.Compare(want) == 0 })) {
				t.Errorf("%q is read as %+v", around, r)
			}
		}
	})
}
