package manual

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPages holds that every file is a page with a title, that a page fits every
// terminal, and that the man page holds all of it.
func TestPages(t *testing.T) {
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if topic, ok := strings.CutSuffix(entry.Name(), ".txt"); ok && !slices.Contains(Topics(), topic) {
			t.Errorf("%s is not among the topics", entry.Name())
		}
	}
	for _, topic := range Topics() {
		page := Page(topic)
		first, rest, _ := strings.Cut(page, "\n")
		if !strings.HasPrefix(first, topic+": ") || strings.HasSuffix(first, ".") {
			t.Errorf("%s.txt begins with %q, not with %q and a title without a full stop", topic, first, topic+": ")
		}
		for i, line := range strings.Split(page, "\n") {
			if len(line) > 80 || strings.ContainsFunc(line, func(r rune) bool { return r < ' ' || r > '~' }) || strings.HasSuffix(line, " ") {
				t.Errorf("%s.txt:%d: more than 80 columns, a blank at the end, or not ASCII: %s", topic, i+1, line)
			}
		}
		for block := range strings.SplitSeq(rest, "\n\n") {
			begun := regexp.MustCompile(`(?m)^  \S`).FindAllString(block, -1)
			if rows := strings.Count(body(strings.Split(block, "\n")), ".TP\n"); rows != 0 && rows != len(begun) {
				t.Errorf("%s.txt: neither a paragraph nor a table:\n%s", topic, block)
			}
		}
		roff := strings.TrimPrefix(Roff(topic), ".SH "+strings.ToUpper(topic)+"\n"+Filled(sentence(Title(topic))))
		for _, row := range regexp.MustCompile(`(?m)^\.B (.*)\n\.`).FindAllStringSubmatch(roff, -1) {
			t.Errorf("%s.txt: %q has no text", topic, row[1])
		}
		if want, words := strings.Fields(rest), strings.Fields(plain(roff)); !slices.Equal(words, want) {
			t.Errorf("%s.txt: as roff it holds\n%q\nnot\n%q", topic, words, want)
		}
	}
}

// plain is the text of a man page without commands.
func plain(roff string) string {
	roff = regexp.MustCompile(`(?m)^\.(?:SS |B |[A-Z].*\n)`).ReplaceAllString(roff, "")
	return strings.NewReplacer(`\e`, `\`, `\-`, "-", `\(aq`, "'", `\(ga`, "`", `\(ha`, "^", `\(ti`, "~", `\(dq`, `"`, `\&`, "").Replace(roff)
}

// TestBody holds how the text of a page is read.
func TestBody(t *testing.T) {
	for text, want := range map[string]string{
		"  a  one\n     two\n  b, c\n        three": ".TP\n.B a\none\ntwo\n.TP\n.B b, c\nthree\n",
		"      x |\n        y":                      ".RS 4\n.EX\nx |\n  y\n.EE\n.RE\n",
		"  one\n  two":                              "one\ntwo\n",
	} {
		if got := body(strings.Split(text, "\n")); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}

// TestBlocks holds that any number of empty lines is as good as one.
func TestBlocks(t *testing.T) {
	want := ".PP\na\n.SS B\nc\n.PP\n.RS 4\n.EX\nd\n.EE\n.RE\n"
	for _, empty := range []string{"\n", "\n\n", "\n\n\n"} {
		text := empty + "  a\n" + empty + "B\n  c\n" + empty + "      d\n" + empty
		if got := blocks(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}

// TestEscaped holds that no text begins a roff command or loses a character.
func TestEscaped(t *testing.T) {
	for text, want := range map[string]string{
		".env":         `\&.env`,
		"'x'":          `\(aqx\(aq`,
		`a\nb`:         `a\enb`,
		"--key-env":    `\-\-key\-env`,
		"~/x `y` ^ \"": `\(ti/x \(gay\(ga \(ha \(dq`,
	} {
		if got := escaped(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
	if got := Filled(strings.Repeat("word ", 30)); strings.Count(got, "\n") != 2 || strings.Contains(got, " \n") {
		t.Errorf("%q", got)
	}
}
