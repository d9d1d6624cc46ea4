package code

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestRubyDefinitions(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "",
		"class":                          "",
		"def":                            "",
		"end\nend\ndef a\nend":           "a method 3-4",
		"class A\nend":                   "A class 1-2",
		"class A; def b; end; end":       "A class 1-1, A.b method 1-1",
		"x.class\nA.new\nend_of\n:end":   "",
		"class A < B::C; end":            "A class 1-1",
		"A::B ||= 1":                     "A.B constant 1-1",
		"A = [\n 1\n]\nB == 1":           "A constant 1-3",
		"A = b do\n def c = 1\nend":      "A constant 1-3, A.c method 2-2",
		"A = b\n  .c\n  &.d\ne":          "A constant 1-3",
		"a = if b then c end\ndef d;end": "d method 2-2",
		"while a do b end\ndef c\nend":   "c method 2-3",
		"a.each do |b| next if b end\ndef c() end": "c method 2-2",
		"{ if: 1, end: 2, class: 3 }\ndef a\nend":  "a method 2-3",
		"def a\n  b = c ? d : e\n  f if g\nend":    "a method 1-4",
		"def a.b=(c) end":                          "b= singletonMethod 1-1",
		"def a":                                    "a method 1-0",
		"private def a\nend":                       "a method 1-2",
		"attr_writer :a,\n  :b":                    "a= accessor 1-1, b= accessor 2-2",
		"alias a= b\nundef c":                      "a= alias 1-1",
	} {
		var got []string
		for _, d := range rubyDefinitions([]byte(text), 0) {
			got = append(got, fmt.Sprintf("%s %s %d-%d", d.fullName(), d.Kind, d.Line, d.End))
		}
		if strings.Join(got, ", ") != want {
			t.Errorf("%q: %s, want %s", text, strings.Join(got, ", "), want)
		}
	}
}

// TestAnyRubyText holds that any text has an answer, whose lines are lines of the text.
func TestAnyRubyText(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := strings.Split("class module def end do begin if unless while A::B A = || << < self . :: : @ $ ( ) [ ] { } | ; , ? ! \" ' ` a 1 attr_accessor alias = \\ é \xff", " ")
	pieces = append(pieces, " ", "\n", "\n", "\r\n", "\t")
	for range 5_000 {
		var b bytes.Buffer
		for range random.IntN(60) {
			b.WriteString(pieces[random.IntN(len(pieces))])
			if random.IntN(2) == 0 {
				b.WriteByte(' ')
			}
		}
		lines := bytes.Count(b.Bytes(), []byte("\n")) + 1
		for _, d := range rubyDefinitions(b.Bytes(), 0) {
			if d.Line < 1 || d.Line > lines || d.End > lines || d.End != 0 && d.End < d.Line || d.Name == "" {
				t.Fatalf("%q: %+v", b.String(), d)
			}
		}
	}
	for _, piece := range []string{"class A\n", "def a\n", "A = [", "attr_reader :a,\n", "A::", "if ", "end ", "'", "A = b do\n"} {
		rubyDefinitions([]byte(strings.Repeat(piece, 50_000)), 0)
	}
}
