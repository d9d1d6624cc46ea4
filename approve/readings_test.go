package approve

import (
	"slices"
	"strings"
	"testing"

	"toolpipe/stream/text/jsontext"
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
			e.arguments()
			e.mayMeanBool(true, 1)
			return e.readings(1), true
		}
		if _, ok := read(s); !ok || s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') || !isNumber([]byte(s)) {
			return
		}
		want, ok := jsontext.ParseDecimal([]byte(s))
		for _, around := range []string{s, " " + s + "\n", "$" + s, s + " "} {
			r, _ := read(around)
			if !r.anyNumber && (!ok || !slices.ContainsFunc(r.numbers, func(n jsontext.Decimal) bool { return n.Compare(want) == 0 })) {
				t.Errorf("%q is read as %+v", around, r)
			}
		}
	})
}

// The numbers that are read from strings: as a decimal number, with separators of
// groups or a decimal comma, up to a separator, and in the bases of C and Go.
func TestReadings(t *testing.T) {
	for text, want := range map[string]string{
		" \t":                       "0",
		"":                          "0",
		"#5":                        "5",
		"$5":                        "5",
		"(5)":                       "-5",
		"+5":                        "5",
		",5":                        "5 0.5",
		"-0x1f":                     "-31",
		"-5":                        "-5",
		"-inf":                      "any",
		"-∞":                        "any",
		". 5":                       "0.5 0",
		".5":                        "0.5",
		"0,7":                       "7 0.7 0 0",
		"0.5":                       "0.5 0",
		"00":                        "0 0",
		"07e3":                      "7000",
		"012":                       "12 10",
		"0777777777777777777777777": "777777777777777777777777 any",
		"089":                       "89 0",
		"0_7":                       "7 7 0",
		"0b101":                     "5",
		"0b1,0":                     "1",
		"0b1.1":                     "1",
		"0b9":                       "0 0 scaled",
		"0ba":                       "0 0 scaled",
		"0b12":                      "1",
		"0b2":                       "0 0 scaled",
		"0o17":                      "15",
		"0o8":                       "0 0 scaled",
		"0x":                        "0 0 scaled",
		"0x1.8":                     "any",
		"0x1F":                      "31",
		"0x1f":                      "31",
		"0x1f 2":                    "31",
		"0x1ffffffffffffffff":       "any",
		"0x1p4":                     "any",
		"0x_1f":                     "31",
		"0xg":                       "0 0 scaled",
		"0xp1":                      "0 0 scaled",
		"1 000":                     "1000 1",
		"1'000":                     "1000 1",
		"1+2":                       "1",
		"1,000":                     "1000 1 1",
		"1,000,000":                 "1000000 1",
		"1,000.5":                   "1000.5 1.0005 1",
		"1,5e3":                     "15000 1500 1",
		"1-2":                       "1",
		"1.":                        "1",
		"1.000":                     "1",
		"1.000,5":                   "1.0005 1000.5 1",
		"1.000.000":                 "1000000",
		"1E+3":                      "1000",
		"1\u00a0000":                "1000 1",
		"1_0,5":                     "105 10.5 1",
		"1_000":                     "1000 1",
		"1e":                        "1 scaled",
		"1e+":                       "1 scaled",
		"1+5":                       "1",
		"1e-3":                      "0.001",
		"1e3":                       "1000",
		"1ex":                       "1 scaled",
		"1x":                        "1 scaled",
		"1x5":                       "1 scaled",
		"1y":                        "1 scaled",
		"1{":                        "1",
		"1’000":                     "1000 1",
		"2é":                        "2 scaled",
		"5 ":                        "5",
		"5":                         "5",
		"5%":                        "5",
		"5+é":                       "5",
		"5a":                        "5 scaled",
		"5k":                        "5 scaled",
		"5é":                        "5 scaled",
		"5ı":                        "5 scaled", // U+0131, whose low byte is that of "1"
		"777777777777777777777777":  "777777777777777777777777",
		"7:8":                       "7",
		"9,9,9":                     "999 9",
		"Infinity":                  "any",
		"_5":                        "",
		"a5":                        "",
		"five":                      "",
		"inf":                       "any",
		"nan":                       "any",
		"١٬٠٠٠":                     "1000 1 1",
		"٣٫٥":                       "3.5",
		"—5":                        "-5",
		"€-5":                       "-5",
		"−5":                        "-5",
		"∞":                         "any",
		"！5":                        "",
		"１，５":                       "15 1.5 1",
		"１．５":                       "1.5",
		"１～":                        "1",
		"𝟙𝟚":                        "12",
	} {
		e := &evaluation{}
		e.begin(t.Context(), &Call{Arguments: append(jsontext.AppendQuoted([]byte(`{"a":`), text), '}')})
		e.arguments()
		r := e.readings(1)
		var got []string
		for _, n := range r.numbers {
			got = append(got, string(plainDecimal(n)))
		}
		if r.anyNumber {
			got = append(got, "any")
		}
		if r.scaled {
			got = append(got, "scaled")
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q: %q,", text, strings.Join(got, " "))
		}
	}
}

// Two numbers are near when a server that computes in double precision may take
// one for the other.
func TestNear(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"1", "1.0000000000000001", true},
		{"1", "1.00000000000001", false},
		{"1.000000000000000888178419700125", "1", true}, // four units in the last place
		{"1", "0.99999999999999999999", true},
		{"1", "-1", false},
		{"1", "10", false},
		{"0", "1e-302", true},
		{"0", "1e-301", false},
		{"1e400", "1.5e400", true}, // both are infinite
		{"1e400", "1e500", false},
	} {
		a, _ := jsontext.ParseDecimal([]byte(c.a))
		b, _ := jsontext.ParseDecimal([]byte(c.b))
		if near(a, b) != c.want || near(b, a) != c.want {
			t.Errorf("%s and %s: %v, %v", c.a, c.b, near(a, b), near(b, a))
		}
	}
}

func TestIsNumber(t *testing.T) {
	for text, want := range map[string]bool{"1": true, "-1.5e3": true, "1 ": false, "1\n": false, "01": false, "-": false, "true": false} {
		if isNumber([]byte(text)) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}
