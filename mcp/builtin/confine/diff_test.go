package confine

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	for _, c := range [][3]string{
		{"", "", ""},
		{"a\n", "a\n", ""},
		{"", "a\nb\n", "@@ -0,0 +1,2 @@\n+a\n+b\n"},
		{"a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"a", "a\n", "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nfive\n6\n7\n8\n9\n", "@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+five\n 6\n 7\n 8\n"},
		{"x\n1\n2\n3\n4\n5\n6\ny\n", "1\n2\n3\n4\n5\n6\n", "@@ -1,8 +1,6 @@\n-x\n 1\n 2\n 3\n 4\n 5\n 6\n-y\n"},
		{"x\n1\n2\n3\n4\n5\n6\n7\ny\n", "1\n2\n3\n4\n5\n6\n7\n", "@@ -1,4 +1,3 @@\n-x\n 1\n 2\n 3\n@@ -6,4 +5,3 @@\n 5\n 6\n 7\n-y\n"},
	} {
		if got := Diff(c[0], c[1]); got != c[2] {
			t.Errorf("%q to %q:\n%swant\n%s", c[0], c[1], got, c[2])
		}
	}
}

// Random texts: the diff leads from the one to the other, and removes and adds no
// more lines than git's shortest.
func TestDiffIsRightAndShort(t *testing.T) {
	git, _ := exec.LookPath("git")
	if git == "" {
		t.Log("without git, the length of diffs is not compared")
	}
	random := rand.New(rand.NewPCG(1, 2))
	dir := t.TempDir()
	for round := range 400 {
		text := func() string {
			var b strings.Builder
			for range random.IntN(40) {
				b.WriteByte("abcd"[random.IntN(4)])
				b.WriteByte('\n')
			}
			return strings.TrimSuffix(b.String(), "\n"[:random.IntN(2)])
		}
		before, after := text(), text()
		diff := Diff(before, after)
		if got := apply(t, before, diff); got != after {
			t.Fatalf("%q to %q gives %q by\n%s", before, after, got, diff)
		}
		if git == "" || round%20 != 0 {
			continue
		}
		one, two := filepath.Join(dir, "one"), filepath.Join(dir, "two")
		os.WriteFile(one, []byte(before), 0o600)
		os.WriteFile(two, []byte(after), 0o600)
		theirs, _ := exec.Command(git, "diff", "--no-index", "--minimal", one, two).Output()
		if changes(diff) > changes(string(theirs)) {
			t.Errorf("%q to %q changes %d lines\n%sgit changes %d\n%s", before, after, changes(diff), diff, changes(string(theirs)), theirs)
		}
	}
}

// A text that is another in most lines is replaced as a whole, in time.
func TestDiffOfUnlikeTexts(t *testing.T) {
	var before, after strings.Builder
	for i := range 200_000 {
		before.WriteString(strings.Repeat("b", i%97) + "\n")
		after.WriteString(strings.Repeat("a", i%89) + "\n")
	}
	if got := apply(t, before.String(), Diff(before.String(), after.String())); got != after.String() {
		t.Error("the diff is wrong")
	}
}

func changes(diff string) (n int) {
	for line := range strings.Lines(diff) {
		header := strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ")
		if !header && (line[0] == '-' || line[0] == '+') {
			n++
		}
	}
	return n
}

// apply is a plain reader of unified diffs.
func apply(t *testing.T, before, diff string) string {
	t.Helper()
	rest := strings.SplitAfter(before, "\n")
	var out strings.Builder
	at := 0
	last := byte(0)
	for line := range strings.Lines(diff) {
		switch line[0] {
		case '@':
			var from int
			for _, c := range line[len("@@ -"):] {
				if c < '0' || c > '9' {
					break
				}
				from = from*10 + int(c-'0')
			}
			if !strings.Contains(line[:strings.Index(line, " +")], ",0") {
				from--
			}
			for ; at < from; at++ {
				out.WriteString(rest[at])
			}
		case ' ', '-':
			if at >= len(rest) || strings.TrimSuffix(rest[at], "\n") != strings.TrimSuffix(line[1:], "\n") {
				t.Fatalf("line %d is not %q", at+1, line)
			}
			if line[0] == ' ' {
				out.WriteString(rest[at])
			}
			at++
		case '+':
			out.WriteString(line[1:])
		case '\\':
			if last == '+' {
				s := strings.TrimSuffix(out.String(), "\n")
				out.Reset()
				out.WriteString(s)
			}
		}
		last = line[0]
	}
	for ; at < len(rest); at++ {
		out.WriteString(rest[at])
	}
	return out.String()
}
