package confine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

const (
	around = 3 // unchanged lines shown before and after each change

	// maxEdits is the largest number of removed and added lines for which a shortest diff is
	// searched: time and memory grow with its square. With more, everything between the first
	// and the last changed line is replaced.
	maxEdits = 1000
)

// Diff returns the hunks that lead from one text to another, as diff -u and git print
// them; "" if they are the same. It has no lines that name the file.
func Diff(before, after string) string {
	a, b := slices.Collect(strings.Lines(before)), slices.Collect(strings.Lines(after))
	var out strings.Builder
	same := common(a, b)
	for i := 0; i < len(same); {
		// A hunk is the changes between same[i] and same[j]. Between them, no run of
		// unchanged lines is longer than the lines shown around two hunks.
		j := i + 1
		for j < len(same)-1 && same[j].n <= 2*around {
			j++
		}
		if j < len(same) {
			writeHunk(&out, a, b, same[i:j+1])
		}
		i = j
	}
	return out.String()
}

// diffNames are the two lines that name a file in a diff of several files. A name that could be
// mistaken for another line is quoted, as in git.
func diffNames(name string, isNew bool) string {
	if quoted := strconv.Quote(name); quoted != `"`+name+`"` {
		name = quoted
	}
	before := name
	if isNew {
		before = "/dev/null"
	}
	return "--- " + before + "\n+++ " + name + "\n"
}

// A diffRun is n equal lines in both texts, from line a of the first and line b of the second.
type diffRun struct{ a, b, n int }

// common returns runs in rising order, with changes between each two. The first one begins
// both texts and the last one ends both; these two may be empty.
func common(a, b []string) []diffRun {
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	if head == len(a) && head == len(b) {
		return nil
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	runs := []diffRun{{0, 0, head}}
	for _, r := range shortest(a[head:len(a)-tail], b[head:len(b)-tail]) {
		runs = append(runs, diffRun{r.a + head, r.b + head, r.n})
	}
	return append(runs, diffRun{len(a) - tail, len(b) - tail, tail})
}

// A Gap is a difference: the elements FromA up to ToA of one list, without the last, are FromB up
// to ToB in another.
type Gap struct{ FromA, ToA, FromB, ToB int }

// Gaps returns the differences of a shortest diff, in order.
func Gaps(a, b []string) (gaps []Gap) {
	var before diffRun
	for _, r := range common(a, b) {
		if g := (Gap{before.a + before.n, r.a, before.b + before.n, r.b}); g.FromA < g.ToA || g.FromB < g.ToB {
			gaps = append(gaps, g)
		}
		before = r
	}
	return gaps
}

// shortest returns the runs of a shortest diff. Myers, "An O(ND) difference algorithm and its
// variations": after d edits, far has for each k the best x, where x lines of a and x-k lines
// of b are passed.
func shortest(a, b []string) []diffRun {
	most := min(len(a)+len(b), maxEdits)
	far := make([]int, 2*most+3)
	var before [][]int // for each d, the values of far from k = -d-1 to d+1 before it
	for d := range most + 1 {
		before = append(before, slices.Clone(far[most-d:most+d+3]))
		for k := -d; k <= d; k += 2 {
			x, _ := diffStep(before[d], k)
			for x < len(a) && x-k < len(b) && a[x] == b[x-k] {
				x++
			}
			far[most+1+k] = x
			if x == len(a) && x-k == len(b) {
				return trace(before, len(a), len(b))
			}
		}
	}
	return nil
}

// diffStep makes one edit. before are the lines of a that are passed before d edits. It returns
// the lines of a that are passed after the edit on diagonal k (k more than of b), and the
// diagonal before it. The first step makes no edit.
func diffStep(before []int, k int) (x, from int) {
	middle := len(before) / 2
	removed, added := before[middle+k-1]+1, before[middle+k+1]
	switch {
	case middle == 1:
		return 0, 0
	case k == 1-middle || k != middle-1 && removed <= added:
		return added, k + 1
	}
	return removed, k - 1
}

// trace goes back from the ends x and y of both texts and collects the runs.
func trace(before [][]int, x, y int) []diffRun {
	var runs []diffRun
	for d, passed := range slices.Backward(before) {
		k := x - y
		begin, from := diffStep(passed, k)
		if x > begin {
			runs = append(runs, diffRun{begin, begin - k, x - begin})
		}
		if d > 0 {
			x = passed[d+1+from]
			y = x - from
		}
	}
	slices.Reverse(runs)
	return runs
}

// writeHunk writes the changes between the runs, with lines of the first and the last run
// around them.
func writeHunk(out *strings.Builder, a, b []string, runs []diffRun) {
	first, last := runs[0], runs[len(runs)-1]
	head, tail := min(first.n, around), min(last.n, around)
	fromA, fromB := first.a+first.n-head, first.b+first.n-head
	toA, toB := last.a+tail, last.b+tail
	fmt.Fprintf(out, "@@ -%s +%s @@\n", extent(fromA, toA), extent(fromB, toB))
	writeLines(out, ' ', a[fromA:fromA+head])
	for i, r := range runs[1:] {
		before := runs[i]
		writeLines(out, '-', a[before.a+before.n:r.a])
		writeLines(out, '+', b[before.b+before.n:r.b])
		if i == len(runs)-2 {
			r.n = tail
		}
		writeLines(out, ' ', a[r.a:r.a+r.n])
	}
}

// extent formats the first line, from 1, and the number of lines. For an empty extent the
// first number is the line before it.
func extent(from, to int) string {
	switch to - from {
	case 0:
		return fmt.Sprintf("%d,0", from)
	case 1:
		return fmt.Sprint(from + 1)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func writeLines(out *strings.Builder, mark byte, lines []string) {
	for _, line := range lines {
		out.WriteByte(mark)
		out.WriteString(line)
		if !strings.HasSuffix(line, "\n") {
			out.WriteString("\n\\ No newline at end of file\n")
		}
	}
}
