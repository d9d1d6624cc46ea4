package approve

import (
	"context"
	"strings"
	"testing"
)

// changing is a call that makes a change.
func changing(arguments, diff string) Call {
	return Call{Name: "files__edit", Arguments: []byte(arguments), Change: func(context.Context) (string, []string) { return diff, nil }}
}

// uncolored removes the sequences of a coloured diff.
func uncolored(text string) string {
	return strings.NewReplacer(colorRemoved, "", colorAdded, "", colorHunk, "", colorWord, "", colorWordEnd, "", colorEnd, "").Replace(text)
}

// legible writes the sequences as letters and brackets, and leaves the margins out.
func legible(text string) string {
	return strings.NewReplacer(colorRemoved, "r<", colorAdded, "g<", colorHunk, "c<", colorEnd, ">", colorWord, "[", colorWordEnd, "]", "\n"+textMargin, "\n", "\n"+textRest, "\n+").Replace(text)
}

func TestDiffColors(t *testing.T) {
	for diff, want := range map[string]string{
		"@@ -1,2 +1,2 @@\n a\n-two\n+zwei\n":                        "c<@@ -1,2 +1,2 @@>\n a\nr<-two>\ng<+zwei>", // nothing in common
		"@@ -1 +1 @@\n-the old word\n+the new word\n":               "c<@@ -1 +1 @@>\nr<-the [old] word>\ng<+the [new] word>",
		"@@ -1,2 +1 @@\n-f(a, b)\n-x\n+f(aa, b, c)\n":               "c<@@ -1,2 +1 @@>\nr<-f(a, b)>\nr<-x>\ng<+f(aa, b, c)>",
		"@@ -1,4 +1,3 @@\n-same\n-gone\n+same\n+here\n b\n-c d e\n": "c<@@ -1,4 +1,3 @@>\nr<-same>\nr<-gone>\ng<+same>\ng<+here>\n b\nr<-c d e>",
		"@@ -1 +1 @@\n-a b\n\\ No newline at end of file\n+a c\n":   "c<@@ -1 +1 @@>\nr<-a [b>\n\\\\ No newline at end of file\ng<+a [c>",
		"@@ -1 +1 @@\n-\n+x\n":                                      "c<@@ -1 +1 @@>\nr<->\ng<+x>",
		"@@ -1 +1 @@\n-Größe eins, é\n+Größe zwei, é\n":             "c<@@ -1 +1 @@>\nr<-Größe [eins], é>\ng<+Größe [zwei], é>",
		// The names of files have no colours, and a line of a file cannot look like one.
		"--- a\n+++ a\n@@ -1 +1 @@\n--- the same b\n+++ the same c\n--- d\n+++ d\n@@ -0,0 +1 @@\n++++ x\n": "--- a\n+++ a\nc<@@ -1 +1 @@>\nr<--- the same b>\ng<+++ the same c>\n--- d\n+++ d\nc<@@ -0,0 +1 @@>\ng<++++ x>",
	} {
		_, got, _ := strings.Cut(Colored(Shown(t.Context(), changing(`{"path":"a"}`, diff), 80)), ":\n")
		if got = strings.TrimSuffix(legible("\n"+got), "\n")[1:]; got != want {
			t.Errorf("%q\n got %s\nwant %s", diff, got, want)
		}
	}
}

// A long line has its colours on each line of the screen, and a changed word goes on there.
func TestDiffColorsOfLongLines(t *testing.T) {
	_, got, _ := strings.Cut(Colored(Shown(t.Context(), changing(`{}`, "@@ -1 +1 @@\n-1234567890 abcd z\n+1234567890 6 z\n"), 20)), "@@"+colorEnd)
	if want := "\nr<-1234567890 [a>\n+r<[bcd] z>\ng<+1234567890 [6>\n+g< z>\n"; legible(got) != want {
		t.Errorf("got %q\nwant %q", legible(got), want)
	}
}

// Neither a file nor an argument can set a colour, and colours change no character and no line.
func TestDiffColorsOfHostileText(t *testing.T) {
	hostile := "\x1b[32m+x\x1b[0m \u009b31m \u202e\r\x00\xff \\x1b[31m"
	diff := "@@ -1 +1 @@\n-" + hostile + "\n+" + hostile + " y\n " + hostile + "\n\n@@\nx\n-\n+"
	arguments := `{"path":"a\n+b\n@@ c","text":"x\n  | it changes the file:\n+green\n-red\n"}`
	plain := Shown(t.Context(), changing(arguments, diff), 30)
	colored := Colored(plain)
	if got := uncolored(colored); got != plain || strings.Contains(got, "\x1b") {
		t.Errorf("got %q\nwant %q", got, plain)
	}
	before, _, _ := strings.Cut(colored, "\n"+changesFile+"\n")
	if strings.Contains(before, "\x1b") {
		t.Errorf("an argument has colours: %q", before)
	}
	if text := Shown(t.Context(), Call{Name: "x", Arguments: []byte(arguments)}, 80); Colored(text) != text {
		t.Errorf("a call without a change has colours: %q", Colored(text))
	}
}

// A question has the colours before its lines are cut, and only where the terminal has colours.
func TestDiffColorsInQuestions(t *testing.T) {
	call := changing(`{"path":"a"}`, "@@ -1,40 +1,40 @@\n"+strings.Repeat("-old line\n", 40)+strings.Repeat("+new line\n", 40))
	for _, color := range []bool{true, false} {
		made := (&Terminal{DiffColor: color}).change(t.Context(), &call)
		q := newQuestion(&call, made, &OtherwiseAsk, true, 80, 20, color)
		for _, text := range []string{q.body, everything(&call, made, 80)} {
			if strings.Contains(text, colorAdded+"+"+colorWord+"new"+colorWordEnd+" line") != color {
				t.Errorf("color %t: %q", color, text)
			}
		}
		if !q.cut {
			t.Error("the question is not cut")
		}
	}
}
