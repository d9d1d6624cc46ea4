package escape

import (
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestEscape(t *testing.T) {
	for in, want := range map[string]string{
		"":                     "",
		"plain text":           "plain text",
		"Grüße 世界 😀":           "Grüße 世界 😀",
		"a\nb\tc\r":            `a\nb\tc\r`,
		`C:\new`:               `C:\\new`,
		`\u{202e}`:             `\\u{202e}`,
		"\x1b[2K\x07":          `\u{1b}[2K\u{7}`,
		"\x00\x7f":             `\u{0}\u{7f}`,
		"\u0085\u009b2J":       `\u{85}\u{9b}2J`,
		"a\u202eb\u2066":       `a\u{202e}b\u{2066}`,
		"a\u200bb\ufeff\u00ad": `a\u{200b}b\u{feff}\u{ad}`,
		"\u2028\u2029\u00a0":   `\u{2028}\u{2029}\u{a0}`,
		"\u115f\u3164\uffa0":   `\u{115f}\u{3164}\u{ffa0}`,
		"\u2800\u034f":         `\u{2800}\u{34f}`,
		"x\ufe0f\U000e0101":    `x\u{fe0f}\u{e0101}`,
		"\U000e0041\U000e007f": `\u{e0041}\u{e007f}`,
		"e\u0301\u0302\u0303":  "e\u0301\u0302" + `\u{303}`,
		"\u0301x":              `\u{301}x`,
		"\xff\xc0\xaf":         `\xff\xc0\xaf`,
		"\ufffd":               "\ufffd",
		"\xed\xa0\x80":         `\xed\xa0\x80`,
	} {
		if got := Escape(in); got != want {
			t.Errorf("Escape(%+q) = %s, want %s", in, got, want)
		}
	}
}

// TestEscapeLeavesNothing sweeps over all of Unicode.
func TestEscapeLeavesNothing(t *testing.T) {
	for r := range unicode.MaxRune + 1 {
		shown := Escape("x" + string(r))
		for _, s := range shown {
			if disturbs(s) {
				t.Fatalf("%U leaves %U", r, s)
			}
		}
		if !Unsafe(r) && r != '\\' && utf8.ValidRune(r) && shown != "x"+string(r) {
			t.Fatalf("%U is safe and was escaped: %q", r, shown)
		}
	}
}

// disturbs is a plain reading of what must not reach a terminal: categories
// and properties, without the tables of Unsafe.
func disturbs(r rune) bool {
	return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Join_Control) && r != utf8.RuneError || unicode.Is(unicode.Zs, r) && r != ' ' ||
		!unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S) && r != ' ' || r == 0x2800
}

// unescapeTerminal undoes AppendEscaped: that it can be undone makes it injective.
func unescapeTerminal(t *testing.T, s string) string {
	var out []byte
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			out = append(out, s[i])
			i++
			continue
		}
		switch s[i+1] {
		case '\\':
			out, i = append(out, '\\'), i+2
		case 'n':
			out, i = append(out, '\n'), i+2
		case 'r':
			out, i = append(out, '\r'), i+2
		case 't':
			out, i = append(out, '\t'), i+2
		case 'x':
			b, err := strconv.ParseUint(s[i+2:i+4], 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			out, i = append(out, byte(b)), i+4
		case 'u':
			end := i + strings.IndexByte(s[i:], '}')
			r, err := strconv.ParseInt(s[i+3:end], 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			out, i = utf8.AppendRune(out, rune(r)), end+1
		default:
			t.Fatalf("unknown escape in %q", s)
		}
	}
	return string(out)
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"a\\n\n", "\x1b]8;;\x07", "\u202e\u0301\u0301\u0301", "\xff\\xff", "\ufffd", `\u{a}`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Escape(s)
		if !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
		marks := 0
		for _, r := range got {
			if disturbs(r) {
				t.Errorf("%U in %q", r, got)
			}
			if marks++; !unicode.Is(unicode.M, r) {
				marks = 0
			}
			if marks > MaxMarks {
				t.Errorf("%d marks in a row in %q", marks, got)
			}
		}
		if back := unescapeTerminal(t, got); back != s {
			t.Errorf("%q became %q, which means %q", s, got, back)
		}
		if string(AppendEscaped([]byte("x"), s)) != "x"+got {
			t.Error("AppendEscaped is not Escape")
		}
	})
}

func BenchmarkEscapePlain(b *testing.B) {
	s := strings.Repeat("nothing to do here, ", 50)
	b.SetBytes(int64(len(s)))
	b.ReportAllocs()
	for b.Loop() {
		if Escape(s) != s {
			b.Fatal("changed")
		}
	}
}
