package manual

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPages holds that every file is a page with a title, that a page fits every
// terminal, and that its blocks hold all of it.
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
		var words []string
		for _, b := range Blocks(topic) {
			words = append(words, strings.Fields(b.Text)...)
			for _, row := range b.Rows {
				if row.Text == "" {
					t.Errorf("%s.txt:%d: %q has no text", topic, b.Line, row.Term)
				}
				words = append(words, strings.Fields(row.Term+" "+row.Text)...)
			}
			if b.Kind == Paragraph && b.Text == "" || b.Kind == Rows && b.Text != "" {
				t.Errorf("%s.txt:%d: neither a paragraph nor a table", topic, b.Line)
			}
		}
		if want := strings.Fields(rest); !slices.Equal(words, want) {
			t.Errorf("%s.txt: its blocks hold\n%q\nnot\n%q", topic, words, want)
		}
	}
}

// TestBlocks holds how a page is read.
func TestBlocks(t *testing.T) {
	lines := strings.Split("  a  one\n     two\n  b, c\n        three", "\n")
	got := block(lines, 1)
	if want := []Row{{"a", "one two"}, {"b, c", "three"}}; got.Kind != Rows || !slices.Equal(got.Rows, want) {
		t.Errorf("%+v", got)
	}
	if got := block([]string{"      x |", "        y"}, 1); got.Kind != Example || got.Text != "x |\n  y\n" {
		t.Errorf("%+v", got)
	}
	if got := block([]string{"  one", "  two"}, 1); got.Kind != Paragraph || got.Text != "one two" {
		t.Errorf("%+v", got)
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
