package approve

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"toolpipe/stream/text/escape"
	"toolpipe/testdata/screentest"
)

// newScreen is a terminal that fails the test at a character that disturbs one.
func newScreen(t *testing.T, width int, text string) *screentest.Screen {
	screen := screentest.New(t, width)
	screen.Refuse = disturbs
	screen.Write([]byte(text))
	return screen
}

const hostile = "\x1b[2K\x1b[A\x1b]8;;http://x\x07link\x1b]52;c;eA==\x07\r\rover\u009b2J\u202ertl\u2066\u200b\U000e0041\u3164\u2800" +
	"\nAllow fs__read_file? [y/N/a] y\ntoolpipe: done\n\u0085\u2028"

func hostileCall(t *testing.T) *Call {
	value, err := json.Marshal(hostile + strings.Repeat("\t", 300) + "a" + strings.Repeat("\u0301", 10_000) + strings.Repeat("世", 100))
	if err != nil {
		t.Fatal(err)
	}
	raw := strings.ReplaceAll(`{"raw":"`+hostile+`","世\u001b[A":`+string(value)+`,"x":"\\u202e"}`, "\n", `\n`)
	raw = strings.NewReplacer("\x1b", `\u001b`, "\x07", `\u0007`, "\r", `\r`).Replace(raw)
	arguments, err := Canonical([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return &Call{Server: "fs", Tool: hostile, Name: "fs__" + hostile, Arguments: arguments}
}

func TestHostileRendering(t *testing.T) {
	c := hostileCall(t)
	rule := &Rule{Origin: "p.json:2", Reason: hostile}
	for _, width := range []int{20, 33, 80, 200} {
		for _, color := range []bool{false, true} {
			q := newQuestion(c, change{}, rule, false, width, 500, color)
			screen := newScreen(t, 400, q.body+"\r"+q.prompt) // the line with the name may be long
			lines := screen.Lines()
			if screen.Column() == 0 || len(lines) < 5 {
				t.Fatalf("nothing is shown: %q", q.body)
			}
			last := lines[len(lines)-1]
			if !strings.HasPrefix(last, `Allow fs__\u{1b}[2K`) || !strings.HasSuffix(last, ":") && !strings.HasSuffix(last+" ", questionEnd) || !strings.HasSuffix(q.prompt, " ") {
				t.Errorf("the last line is %q", last)
			}
			for i, line := range lines[1 : len(lines)-1] {
				ours := strings.HasPrefix(line, "  |") || strings.HasPrefix(line, "  ... ") || strings.HasPrefix(line, "Not all lines are shown; v shows them. ") || len(line) == 64 && !strings.ContainsAny(line, " |")
				if !ours {
					t.Errorf("width %d: line %d has no margin: %q", width, i+2, line)
				}
				if strings.HasPrefix(line, "  |") && escape.Columns(line) > width {
					t.Errorf("width %d: line %d is too long: %q", width, i+2, line)
				}
			}
		}
	}
}

const questionEnd = "[y/N/a/q/v/?] "

// Put together, the lines that are shown are JSON of the same value.
func TestShownArgumentsAreTheArguments(t *testing.T) {
	c := hostileCall(t)
	lines, cut := argumentLines(c.Arguments, change{}, jsonLines, 60, 1_000_000)
	if cut {
		t.Fatal("cut")
	}
	var text strings.Builder
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, continuation):
			text.WriteString(strings.TrimPrefix(line, continuation))
		default:
			if text.Len() > 0 {
				text.WriteByte(',')
			}
			text.WriteString(strings.TrimPrefix(line, margin))
		}
	}
	var shown, sent any
	if err := json.Unmarshal([]byte("{"+text.String()+"}"), &shown); err != nil {
		t.Fatalf("%v in %s", err, text.String())
	}
	if err := json.Unmarshal(c.Arguments, &sent); err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(shown)
	b, _ := json.Marshal(sent)
	if string(a) != string(b) {
		t.Errorf("shown %s\nsent  %s", a, b)
	}
}

// A string of several lines is shown as text.
func TestTextIsShownAsLines(t *testing.T) {
	c := &Call{Name: "fs__x", Arguments: []byte(`{"path":"a\\nb","content":"if x {\n\tsay(\"hi\")\n\n} ` + strings.Repeat("long ", 5) + `\u001b[2J","end":"x\n"}`)}
	q := newQuestion(c, change{}, &OtherwiseAsk, true, 40, 40, false)
	want := `toolpipe: tool call fs__x
  | "path": "a\\nb"
  | "content": text of 50 bytes, with
  |   out a newline at its end
  |> if x {
  |>     say("hi")
  |>
  |> } long long long long long \u{1b}
  |+ [2J
  | "end": text of 2 bytes
  |> x
`
	if q.body != want || q.cut {
		t.Errorf("%s", q.body)
	}
}

func TestQuestionFitsTheTerminal(t *testing.T) {
	c := &Call{Name: "fs__x", Arguments: []byte(`{"a":"` + strings.Repeat("x", 700) + `","b":"` + strings.Repeat("y", 2000) + `","path":"p"}`)}
	for _, height := range []int{5, 10, 24, 60, 1000} {
		q := newQuestion(c, change{}, &OtherwiseAsk, true, 80, height, false)
		n := strings.Count(q.body, "\n") + 1
		if n > max(height, 14) {
			t.Errorf("%d lines on a terminal of %d", n, height)
		}
		if q.cut != strings.Contains(q.body, "SHA-256") || q.cut != strings.Contains(q.body, "not shown") {
			t.Errorf("height %d: long is %v: %s", height, q.cut, q.body)
		}
		if q.cut == (height >= 60) {
			t.Errorf("height %d: long is %v", height, q.cut)
		}
	}
}

// disturbs is a plain reading of what must not reach a terminal: categories
// and properties, without the tables of escape.Unsafe.
func disturbs(r rune) bool {
	return unicode.In(r, unicode.C, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Join_Control) && r != utf8.RuneError || unicode.Is(unicode.Zs, r) && r != ' ' ||
		!unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.P, unicode.S) && r != ' ' || r == 0x2800
}

// What does not fit is cut: long values in their middle, and then the whole.
func TestCutArguments(t *testing.T) {
	text := func(n int) string { return `"text":"` + strings.Repeat(`x\n`, n-1) + `"` } // n lines with its title
	for _, c := range []struct {
		arguments        string
		room, lines      int
		cut, pathIsShown bool
	}{
		{`{}`, 5, 1, false, false},
		{`{` + text(30) + `,"path":"p"}`, 31, 31, false, true},
		{`{` + text(30) + `,"path":"p"}`, 30, 11, true, true},
		{`{` + text(11) + `,"path":"p"}`, 11, 11, true, true},
		{`{` + text(10) + `,"path":"p"}`, 11, 11, false, true},
		{`{` + text(10) + `,"a":"` + strings.Repeat(`x\n`, 9) + `","path":"p"}`, 9, 10, true, true},
		{`{"path":"p",` + text(10) + `,"a":"` + strings.Repeat(`x\n`, 9) + `"}`, 9, 10, true, true},
	} {
		lines, cut := argumentLines([]byte(c.arguments), change{}, valueLines, 80, c.room)
		if len(lines) != c.lines || cut != c.cut || slices.Contains(lines, `  | "path": "p"`) != c.pathIsShown ||
			cut != strings.Contains(strings.Join(lines, "\n"), " lines are not shown ...") {
			t.Errorf("%s in %d lines: %d lines, cut: %t\n%s", c.arguments, c.room, len(lines), cut, strings.Join(lines, "\n"))
		}
	}
}

// A character keeps so many marks; what is more is escaped, and so is what is unsafe.
func TestEscapeJSON(t *testing.T) {
	const mark = "\u0301"
	for in, want := range map[string]string{
		`"e` + mark + mark + mark + `e` + mark + `"`: `"e` + mark + mark + `\u0301e` + mark + `"`,
		"\"\u202e" + `\n` + "\U000e0041\"":           `"\u202e\n\udb40\udc41"`,
		`"\\"`:                                       `"\\"`,
	} {
		if got := escapeJSON(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
