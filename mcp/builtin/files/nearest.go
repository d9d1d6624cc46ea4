package files

import (
	"bytes"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"unicode"

	"toolpipe/mcp/builtin/confine"
	"toolpipe/stream/text/readable"
)

const (
	maxSearched  = 8 << 20  // bytes of a file in which a similar text is searched
	maxLines     = 100_000  // lines of it
	maxSampled   = 24       // lines of that text that are compared with each line of the file
	maxShift     = 2        // lines that the file has more or less than the text
	nearestShown = 20       // lines that are shown
	nearestWidth = 160      // bytes of a line that are shown
	maxMarked    = 16 << 10 // bytes of a line in which differences are marked
	leastAlike   = 0.55     // of 1, for lines that are shown
)

// nearest shows the lines of a file that are most similar to a text that is not in it, with
// marks below the differences; "" if no lines are similar.
func nearest(content []byte, wanted string) string {
	if len(content) > maxSearched || bytes.Count(content, []byte("\n")) > maxLines {
		return ""
	}
	have, want := plainLines(string(content)), plainLines(strings.Trim(wanted, "\r\n"))
	var kinds []string
	if plain := withoutNumbers(want); plain != nil && strings.Contains(fold(string(content)), fold(strings.Join(plain, ""))) {
		want, kinds = plain, append(kinds, "line numbers")
	}
	foldedHave, foldedWant := foldLines(have), foldLines(want)
	start := mostAlike(foldedHave, foldedWant)
	if start < 0 {
		return ""
	}
	n := nearestText{have: have, want: want, start: start}
	n.pair(foldedWant, foldedHave[start:min(len(have), start+len(want)+maxShift)])
	kinds = append(kinds, n.kinds()...)
	n.show()
	lines := n.lines()
	text := fmt.Sprintf("the nearest text is in lines %d-%d", lines[0]+1, lines[len(lines)-1]+1)
	if len(lines) == 1 {
		text = fmt.Sprintf("the nearest text is in line %d", lines[0]+1)
	}
	if len(kinds) > 0 {
		text += "; it differs only in " + strings.Join(kinds, " and ")
	}
	return text + ":\n" + strings.TrimSuffix(string(n.text), "\n")
}

// plainLines are the lines of a text without their ends.
func plainLines(text string) []string {
	return strings.Split(strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\r\n", "\n"), "\n")
}

// withoutNumbers are lines without the numbers that begin each of them, as in the output of
// cat -n or grep -n; nil if there is a line without a number.
func withoutNumbers(lines []string) (plain []string) {
	for _, line := range lines {
		number := strings.TrimLeft(line, " \t")
		rest := strings.TrimLeft(number, "0123456789")
		text, found := rest, rest == ""
		for _, separator := range []string{" | ", "|", ":", "\t", "\u2192", "  ", " "} {
			if !found {
				text, found = strings.CutPrefix(rest, separator)
			}
		}
		if number != "" && (len(rest) == len(number) || !found) {
			return nil
		}
		plain = append(plain, text)
	}
	return plain
}

// fold is a text in which typical differences are gone: white space, case, and the form of
// quotation marks and dashes.
func fold(text string) string {
	return strings.Map(foldCase, strings.Map(foldQuotes, strings.Map(foldSpace, text)))
}

func foldLines(lines []string) (folded []string) {
	for _, line := range lines {
		folded = append(folded, fold(line[:min(len(line), 4*nearestWidth)]))
	}
	return folded
}

func foldSpace(r rune) rune {
	if unicode.IsSpace(r) {
		return -1
	}
	return r
}

func foldCase(r rune) rune { return unicode.ToLower(r) }

func foldQuotes(r rune) rune {
	switch r {
	case '\u2018', '\u2019', '\u201a', '\u201b', '`', '\u00b4':
		return '\''
	case '\u201c', '\u201d', '\u201e', '\u201f', '\u00ab', '\u00bb':
		return '"'
	case '\u2010', '\u2011', '\u2012', '\u2013', '\u2014', '\u2212':
		return '-'
	}
	return r
}

// A bigrams is the set of the pairs of neighbouring bytes in a folded line, by their hashes.
type bigrams [4]uint64

func bigramsOf(folded string) (set bigrams) {
	for i := range len(folded) - 1 {
		hash := (uint32(folded[i])<<8 | uint32(folded[i+1])) * 2654435761 >> 24 // Knuth's multiplicative hash
		set[hash>>6] |= 1 << (hash & 63)
	}
	return set
}

// alike is how much of a wanted line is in a line of the file, up to 1. What else that line has
// counts less, because a text may begin and end within a line.
func (want *bigrams) alike(have *bigrams) float64 {
	common, wanted, other := 0, 0, 0
	for i := range want {
		common += bits.OnesCount64(want[i] & have[i])
		wanted += bits.OnesCount64(want[i])
		other += bits.OnesCount64(have[i])
	}
	if common == 0 {
		return 0
	}
	return float64(common)/float64(wanted) - float64(other-common)/float64(other)/4
}

// mostAlike is the index of the line where the lines most similar to wanted ones begin; -1 if no
// lines are similar. All lines are folded.
func mostAlike(have, want []string) (start int) {
	if strings.Join(want, "") != "" {
		for s := range len(have) - len(want) + 1 {
			if slices.Equal(have[s:s+len(want)], want) {
				return s
			}
		}
	}
	var sample []int // indices of wanted lines
	for i := range want {
		if bigramsOf(want[i]) != (bigrams{}) {
			sample = append(sample, i)
		}
	}
	for step := (len(sample) + maxSampled - 1) / maxSampled; step > 1; step = 1 {
		some := sample[:0]
		for i := 0; i < len(sample); i += step {
			some = append(some, sample[i])
		}
		sample = some
	}
	wanted, there := make([]bigrams, len(sample)), make([]bigrams, len(have))
	for i, line := range sample {
		wanted[i] = bigramsOf(want[line])
	}
	for i := range have {
		there[i] = bigramsOf(have[i])
	}
	start, most := -1, leastAlike*float64(len(sample))
	for s := range have {
		total := 0.0
		for i, line := range sample {
			best := 0.0
			for at := max(0, s+line-maxShift); at <= min(s+line+maxShift, len(have)-1); at++ {
				best = max(best, wanted[i].alike(&there[at])-math.Abs(float64(at-s-line))/10)
			}
			total += best
		}
		if total > most {
			start, most = s, total
		}
	}
	return start
}

// nearestText shows lines of a file beside the wanted ones.
type nearestText struct {
	have, want []string
	start      int // the first line of the file that may be shown, from 0
	pairs      []linePair
	text       []byte
}

// A linePair is a line of the file, counted from start, and a wanted line; -1 for none.
type linePair struct{ have, want int }

// pair pairs the lines of a part of the file with the wanted lines. All are folded.
func (n *nearestText) pair(want, part []string) {
	wanted, there := 0, 0
	same := func(until int) {
		for ; wanted < until; wanted, there = wanted+1, there+1 {
			n.pairs = append(n.pairs, linePair{there, wanted})
		}
	}
	for _, gap := range confine.Gaps(want, part) {
		same(gap.FromA)
		isEdge := gap.FromA == 0 || gap.ToA == len(want) // the part has more lines there
		for i := range max(gap.ToA-gap.FromA, gap.ToB-gap.FromB) {
			p := linePair{gap.FromB + i, gap.FromA + i}
			if p.have >= gap.ToB {
				p.have = -1
			}
			if p.want >= gap.ToA {
				p.want = -1
			}
			if p.want >= 0 || !isEdge {
				n.pairs = append(n.pairs, p)
			}
		}
		wanted, there = gap.ToA, gap.ToB
	}
	same(len(want))
}

// lines are the indices of the paired lines of the file.
func (n *nearestText) lines() (indices []int) {
	for _, p := range n.pairs {
		if p.have >= 0 {
			indices = append(indices, n.start+p.have)
		}
	}
	return indices
}

// kinds are the words for the differences, if they are all of known kinds.
func (n *nearestText) kinds() (words []string) {
	var lines []string
	for _, i := range n.lines() {
		lines = append(lines, n.have[i])
	}
	folds := []struct {
		word string
		fold func(rune) rune
	}{{"white space", foldSpace}, {"upper and lower case", foldCase}, {"the forms of quotation marks or dashes", foldQuotes}}
	isSame := func(without int) bool {
		have, want := strings.Join(lines, "\n"), strings.Join(n.want, "\n")
		for i, f := range folds {
			if i != without {
				have, want = strings.Map(f.fold, have), strings.Map(f.fold, want)
			}
		}
		return strings.Contains(have, want)
	}
	for i, f := range folds {
		if isSame(-1) && !isSame(i) {
			words = append(words, f.word)
		}
	}
	return words
}

// show writes the lines around the first difference, with their numbers, and marks below the
// characters that differ.
func (n *nearestText) show() {
	isDifferent := func(p linePair) bool { return p.want < 0 || p.have < 0 || n.have[n.start+p.have] != n.want[p.want] }
	first := max(0, slices.IndexFunc(n.pairs, isDifferent)-3)
	shown := 0
	for _, p := range n.pairs[first:] {
		var lines []byte
		if p.have < 0 {
			lines = fmt.Appendf(lines, "        old_string has a line more here: %s\n", readable.Cut(n.want[p.want], nearestWidth, " ..."))
		} else {
			line, marks := n.marked(p)
			lines = fmt.Appendf(lines, "%6d  %s\n", n.start+p.have+1, line)
			if marks != "" {
				lines = fmt.Appendf(lines, "        %s\n", marks)
			}
		}
		if shown += bytes.Count(lines, []byte("\n")); shown >= nearestShown {
			n.text = append(n.text, "        ...\n"...)
			return
		}
		n.text = append(n.text, lines...)
	}
}

// marked is a line of the file, and a line with ^ below its characters that differ from the
// wanted line, or before which that one has more.
func (n *nearestText) marked(p linePair) (line, marks string) {
	line = n.have[n.start+p.have]
	line = line[:min(len(line), maxMarked)]
	have := strings.Split(line, "")
	differs := make([]bool, len(have)+1)
	if p.want < 0 {
		for i := range have {
			differs[i] = true
		}
	} else {
		wanted := n.want[p.want]
		want := strings.Split(wanted[:min(len(wanted), maxMarked)], "")
		for _, gap := range confine.Gaps(want, have) {
			isOutside := p.want == 0 && gap.ToA == 0 || p.want == len(n.want)-1 && gap.FromA == len(want)
			for i := gap.FromB; i < max(gap.ToB, gap.FromB+1) && !(isOutside && gap.FromA == gap.ToA); i++ {
				differs[i] = true
			}
		}
	}
	from := max(0, slices.Index(differs, true)-nearestWidth/2)
	to := min(len(have), from+nearestWidth)
	var b bytes.Buffer
	for i := from; i <= to; i++ {
		switch {
		case differs[i]:
			b.WriteByte('^')
		case i < to && have[i] == "\t":
			b.WriteByte('\t')
		default:
			b.WriteByte(' ')
		}
	}
	if line = strings.Join(have[from:to], ""); to-from < len(have) {
		line = readable.Cut(line, 4*nearestWidth, "") + " ..."
	}
	return line, strings.TrimRight(b.String(), " \t")
}
