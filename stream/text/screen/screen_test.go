package screen

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// show is what a screen of 10 columns and 4 rows shows after a text, with | for its cursor.
func show(text string) string {
	s := New(10, 4, Options{})
	s.Write([]byte(text))
	return shown(s)
}

func shown(s *Screen) string {
	v := s.View()
	rows := v.Rows
	cells := []rune(rows[v.Row-1])
	for len(cells) < v.Column-1 {
		cells = append(cells, ' ')
	}
	if columns(string(cells)) == len(cells) { // else the column is no index
		rows[v.Row-1] = string(cells[:v.Column-1]) + "|" + string(cells[v.Column-1:])
	}
	return strings.TrimRight(strings.Join(rows, "\n"), "\n")
}

func columns(s string) (n int) {
	for _, r := range s {
		n += Width(r)
	}
	return n
}

func TestFunctions(t *testing.T) {
	five := "1\r\n2\r\n3\r\n4\r\n5"
	for _, c := range []struct{ name, text, want string }{
		{"text", "hello", "hello|"},
		{"line ends", "a\r\nb\nc\rd", "a\nb\nd|c"},
		{"wrap", "0123456789ab", "0123456789\nab|"},
		{"no wrap before the next character", "0123456789\r\nx", "0123456789\nx|"},
		{"no wrap", "\x1b[?7l0123456789ab", "012345678|b"},
		{"scroll", five, "2\n3\n4\n5|"},
		{"backspace and tab", "abc\b\bX\tY", "aXc     Y|"},
		{"back from the last column", "\x1b[1;10Hxx\b\b\bz", "         x\nz|"},
		{"cursor", "\x1b[2;3HX\x1b[AY\x1b[5DZ\x1b[2BV\x1b[CW\x1b[3GU\x1b[4dT", "Z  Y\n  X\n VUW\n   T|"},
		{"outside", "\x1b[99;99HX\x1b[99AY", "         |Y\n\n\n         X"},
		{"erase to the end", "abcdef\x1b[4G\x1b[K", "abc|"},
		{"erase from the beginning", "abcdef\x1b[4G\x1b[1K", "   | ef"},
		{"erase the row", "abcdef\x1b[4G\x1b[2K", "   |"},
		{"erase below", "a\r\nbc\r\nd\x1b[2;2H\x1b[J", "a\nb|"},
		{"erase above", "ax\r\nbc\r\nd\x1b[2;1H\x1b[1J", "\n| c\nd"},
		{"erase all", "a\r\nb\x1b[2J", "\n |"},
		{"erase cells", "abcdef\x1b[2G\x1b[3X", "a|   ef"},
		{"insert cells", "abcdef\x1b[2G\x1b[3@", "a|   bcdef"},
		{"delete cells", "abcdef\x1b[2G\x1b[3P", "a|ef"},
		{"insert mode", "abc\x1b[1G\x1b[4hXY\x1b[4lZ", "XYZ|bc"},
		{"insert rows", "1\r\n2\r\n3\r\n4\x1b[2H\x1b[2L", "1\n|\n\n2"},
		{"delete rows", "1\r\n2\r\n3\r\n4\x1b[2H\x1b[2M", "1\n|4"},
		{"region", five + "\x1b[2;3r\x1b[3Hx\n\ny", "2\n\n y|\n5"},
		{"reverse in a region", "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[2H\x1bMx", "1\nx|\n2\n4"},
		{"region that is none", "1\x1b[3;3rx", "1x|"},
		{"scroll up and down", "1\r\n2\r\n3\r\n4\x1b[2S\x1b[T", "\n3\n4\n |"},
		{"save and restore", "ab\x1b7\x1b[3;3Hx\x1b8c", "abc|\n\n  x"},
		{"alternate", "main\x1b[?1049hother\x1b[?1049l!", "main!|"},
		{"alternate is empty", "main\x1b[?1049hother", "    other|"},
		{"alternate twice", "main\x1b[?1049h\x1b[?1049hx\x1b[?1049l!", "main!|"},
		{"alternate is left twice", "ma\x1b[?1049hother\x1b[?1049lin\x1b[2Hx\x1b[?1049l!", "ma!|n\nx"},
		{"line drawing", "\x1b(0lqk\x1b(Bq\x0e\x1b)0x\x0fx", "┌─┐q│x|"},
		{"repeat", "a\x1b[3b", "aaaa|"},
		{"tabs", "\x1b[3g\x1b[4G\x1bH\rx\ty\x1b[Zz", "x  z|"},
		{"reset", "abc\x1b[?25l\x1b[2;3r\x1bcx", "x|"},
		{"soft reset", "\x1b[2;3r\x1b[!p\x1b[3B\r\nx", "\n\n\nx|"},
		{"colours", "\x1b[1;31mred\x1b[38;2;1:2:3mx\x1b[0m", "redx|"},
		{"titles", "a\x1b]0;title\ab\x1b]2;t\x1b\\c\x1bPq#0\x1b\\d\x1b_x\x1b\\e", "abcde|"},
		{"a string that another function ends", "a\x1b]0;x\x1b[2Gb", "ab|"},
		{"unknown", "a\x1b[?2026h\x1b[>4;1m\x1b[5 q\x1b=\x1b>\x1b[99zb", "ab|"},
		{"cancelled", "a\x1b[3\x18b", "ab|"},
		{"in the middle of a sequence", "ab\x1b[\r1Cc", "ac|"},
		{"broken UTF-8", "a\xc3b\xffc", "a\ufffdb\ufffdc|"},
		{"C1", "a\u009b2Jb", "a2Jb|"},
		{"combining", "e\u0301x", "e\u0301x"},
		{"wide", "日本", "日本"},
		{"wide at the edge", "123456789日", "123456789\n日"},
		{"half of a wide one", "日本\x1b[2Gx", " x|本"},
		{"next line", "ab\x1bEc\x1bDd", "ab\nc\n d|"},
	} {
		got := show(c.text)
		if columns(got) != utf8.RuneCountInString(got) {
			got = strings.ReplaceAll(got, "|", "")
			c.want = strings.ReplaceAll(c.want, "|", "")
		}
		if got != c.want {
			t.Errorf("%s: %q shows\n%s\nnot\n%s", c.name, c.text, got, c.want)
		}
	}
}

// A text has the same effect however it is cut into writes.
func TestCut(t *testing.T) {
	text := []byte("a日本\x1b[2;3Hx\x1b]0;t\x1b\\\x1b(0q\x1b(B\xc3\xa4\xf0\x9f\x98\x80e\xcc\x81\x1b[?1049hend\xff")
	want := show(string(text))
	for i := range text {
		s := New(10, 4, Options{})
		s.Write(text[:i])
		s.Write(text[i:])
		if got := shown(s); got != want {
			t.Errorf("cut at %d: %q, want %q", i, got, want)
		}
	}
}

func TestAnswers(t *testing.T) {
	var answers bytes.Buffer
	s := New(80, 24, Options{Answer: func(b []byte) { answers.Write(b) }})
	s.Write([]byte("\x1b[c\x1b[5n\x1b[3;4H\x1b[6n\x1b[>c\x1b[?1;2c\x1b]11;?\a\x1b[21t\x1b[?6n"))
	if got := answers.String(); got != "\x1b[?1;2c\x1b[0n\x1b[3;4R" {
		t.Errorf("%q", got)
	}
}

// The version grows with what a person can see change, and with nothing else.
func TestVersion(t *testing.T) {
	s := New(10, 4, Options{})
	last := s.Version()
	for _, c := range []struct {
		text  string
		grows bool
	}{
		{"a", true}, {"", false}, {"\x1b[31m", false}, {"\x1b]0;title\a", false}, {"\ra", false}, {"\rb", true}, {"\x1b[?25l", true}, {"\x1b[?25l", false},
		{"\x1b[C", true}, {"\x1b[K", false}, {"\x1b[2J", true}, {"\x1b[2J", false}, {"\x1b[?1049h", true},
	} {
		s.Write([]byte(c.text))
		if grown := s.Version() > last; grown != c.grows {
			t.Errorf("%q: version %d after %d", c.text, s.Version(), last)
		}
		last = s.Version()
	}
	s.Resize(10, 4)
	if s.Version() != last {
		t.Error("the same size is a change")
	}
	if s.Resize(11, 4); s.Version() == last {
		t.Error("another size is no change")
	}
}

func TestResize(t *testing.T) {
	for _, c := range []struct {
		name, text    string
		columns, rows int
		want          string
	}{
		{"narrower", "0123456789ab\r\ncd", 5, 6, "01234\n56789\nab\ncd|"},
		{"wider", "0123456789ab\r\ncd", 20, 4, "0123456789ab\ncd|"},
		{"narrower and full", "0123456789ab\r\ncd", 5, 2, "ab\ncd|"},
		{"lower", "1\r\n2\r\n3\r\n4", 10, 2, "3\n4|"},
		{"lower, below the cursor", "1\r\n2\r\n3\r\n4\x1b[1;2H", 10, 2, "1|\n2"},
		{"blanks in the middle", "a\x1b[9Gb", 4, 4, "a\n\nb|"},
		{"higher", "1\r\n2", 10, 6, "1\n2|"},
		{"alternate", "main\x1b[?1049h\x1b[Hother\x1b[4;10Hx", 5, 3, "other\n\n    |"},
	} {
		s := New(10, 4, Options{})
		s.Write([]byte(c.text))
		s.Resize(c.columns, c.rows)
		if got := shown(s); got != c.want {
			t.Errorf("%s:\n%s\nnot\n%s", c.name, got, c.want)
		}
	}
	s := New(10, 4, Options{})
	s.Write([]byte("0123456789ab\x1b[?1049hx"))
	s.Resize(6, 4)
	s.Write([]byte("\x1b[?1049l!"))
	if got := shown(s); got != "012345\n6789ab\n!|" {
		t.Errorf("the main screen behind the alternate one:\n%s", got)
	}
}

func TestView(t *testing.T) {
	s := New(10, 4, Options{})
	s.Write([]byte("\x1b[?1h\x1b[?1049h\x1b[?25lab"))
	if v := s.View(); !v.CursorKeysApp || !v.CursorHidden || v.Row != 1 || v.Column != 3 || v.Columns != 10 || len(v.Rows) != 4 {
		t.Errorf("%+v", v)
	}
	if big := New(1<<30, -1, Options{}).View(); big.Columns != MaxColumns || len(big.Rows) != 1 {
		t.Errorf("%d columns, %d rows", big.Columns, len(big.Rows))
	}
}

func TestWidth(t *testing.T) {
	for text, want := range map[string]int{"a": 1, "é": 1, "\u0301": 0, "日": 2, "가": 2, "\u1161": 0, "😀": 2, "\u200d": 0, "│": 1, "ａ": 2, "\u303f": 1, "𠀀": 2, "→": 1, "\u00ad": 1} {
		if r, _ := utf8.DecodeRuneInString(text); Width(r) != want {
			t.Errorf("%U has %d columns, want %d", r, Width(r), want)
		}
	}
}

// hostile are pieces of which random texts are made that reach every function.
var hostile = []string{
	"\x1b[", "\x1b]", "\x1b", "?", ";", ":", "0", "1", "4", "7", "25", "47", "1049", "99999999999999999999", "-1", "h", "l", "H", "A", "B", "C", "D", "J", "K", "L", "M", "P", "@", "S", "T", "X", "b", "r", "n", "g", "\t", "\b", "\r", "\n", "\x0e", "\x0f",
	"\x1b(0", "\x1b)0", "\x1b7", "\x1b8", "\x1bM", "\x1bD", "\x1bc", "\x1b#8", "日", "e\u0301", "\u200d", "\xff", "\xe6\x97", "a", "text", "\x1b[!p", "\x1bP", "\x1b\\", "\x18", "\x1b[2;3r", "\x1b[?6h", "\x1b[4h", "\x1b[?7l", "Z", "I",
}

// check fails at what no screen may be.
func check(t *testing.T, s *Screen) {
	v := s.View()
	if v.Row < 1 || v.Row > len(v.Rows) || v.Column < 1 || v.Column > v.Columns || len(v.Rows) != len(s.rows) {
		t.Fatalf("the cursor is at %d, %d of %d columns, %d rows", v.Row, v.Column, v.Columns, len(v.Rows))
	}
	for i := range s.rows {
		cells := s.rows[i].cells
		if len(cells) != s.columns {
			t.Fatalf("row %d has %d cells of %d", i, len(cells), s.columns)
		}
		for j := range cells {
			if half := j > 0 && cells[j-1].wide; cells[j].half != half || cells[j].wide && j == len(cells)-1 {
				t.Fatalf("row %d has a wide character without its half at %d: %+v", i, j, cells)
			}
			if len(cells[j].marks) > maxMarks {
				t.Fatalf("%d bytes of marks", len(cells[j].marks))
			}
		}
		if !utf8.ValidString(v.Rows[i]) || strings.ContainsFunc(v.Rows[i], func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
			t.Fatalf("row %d is %q", i, v.Rows[i])
		}
	}
}

func TestHostile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		s := New(1+random.IntN(12), 1+random.IntN(6), Options{Answer: func([]byte) {}, Control: func([]byte) {}})
		for range 200 {
			s.Write([]byte(hostile[random.IntN(len(hostile))]))
			if random.IntN(40) == 0 {
				s.Resize(1+random.IntN(12), 1+random.IntN(6))
			}
			check(t, s)
		}
	}
}

func FuzzWrite(f *testing.F) {
	for _, text := range hostile {
		f.Add([]byte(text), byte(3), byte(9))
	}
	f.Add([]byte(strings.Join(hostile, "")), byte(80), byte(24))
	f.Fuzz(func(t *testing.T, text []byte, columns, rows byte) {
		s := New(int(columns%20), int(rows%10), Options{Answer: func([]byte) {}, Control: func([]byte) {}})
		s.Write(text[:len(text)/2])
		check(t, s)
		s.Resize(int(rows%20), int(columns%10))
		check(t, s)
		s.Write(text[len(text)/2:])
		check(t, s)
	})
}
