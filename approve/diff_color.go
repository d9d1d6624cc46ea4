package approve

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// Sequences of a terminal in a coloured diff. The text between them is escaped, so a file cannot
// contain one.
const (
	colorRemoved = "\x1b[31m" // red
	colorAdded   = "\x1b[32m" // green
	colorHunk    = "\x1b[36m" // cyan
	colorWord    = "\x1b[7m"  // reverse video,
	colorWordEnd = "\x1b[27m" // and its end
	colorEnd     = "\x1b[0m"
)

// Titles of the change of one file, and of several files, in the lines of a call.
const (
	changesFile  = margin + "it changes the file:"
	changesFiles = margin + "it changes these files:"
)

// Colored adds colours to the diff in a text of Shown. No argument can imitate the title before a
// diff: the line of an argument begins with a quote.
func Colored(shown string) string {
	lines := strings.Split(shown, "\n")
	for i, line := range lines {
		if line == changesFile || line == changesFiles {
			end := i + 1
			for end < len(lines) && (strings.HasPrefix(lines[end], textMargin) || strings.HasPrefix(lines[end], textRest)) {
				end++
			}
			colorDiff(lines[i+1 : end])
		}
	}
	return strings.Join(lines, "\n")
}

// A diffLine is a line of a diff. It takes several lines of the screen if it is long.
type diffLine struct {
	screen  []string
	text    string
	mark    byte   // the first byte of text; 0 for a line that names a file
	changed []bool // for each byte of text, whether it belongs to a changed word
}

// colorDiff adds colours to lines that textLines has made of a diff.
func colorDiff(screen []string) {
	var lines []*diffLine
	for i, s := range screen {
		if !strings.HasPrefix(s, textRest) {
			lines = append(lines, &diffLine{screen: screen[i:i]})
		}
		l := lines[len(lines)-1]
		l.screen, l.text = l.screen[:len(l.screen)+1], l.text+s[min(len(s), len(textMargin)):]
	}
	markDiff(lines)
	// A note such as "\ No newline at end of file" may be between a removed line and its new form.
	pairs := slices.DeleteFunc(slices.Clone(lines), func(l *diffLine) bool { return l.mark == '\\' })
	for i := 0; i < len(pairs); {
		added := i // the first line after the removed ones
		for added < len(pairs) && pairs[added].mark == '-' {
			added++
		}
		end := added
		for ; end < len(pairs) && pairs[end].mark == '+'; end++ {
			if n := end - added; i+n < added {
				compareWords(pairs[i+n], pairs[end])
			}
		}
		i = max(end, i+1)
	}
	for _, l := range lines {
		l.color()
	}
}

// markDiff sets the marks. The heading of a hunk says how many lines belong to it, so no line of a file
// can look like the name of a file.
func markDiff(lines []*diffLine) {
	before, after := 0, 0 // lines left of the hunk
	for _, l := range lines {
		switch l.mark = (l.text + " ")[0]; {
		case l.mark == '@':
			ranges := append(strings.Fields(l.text), "", "")
			before, after = lineCount(ranges[1]), lineCount(ranges[2])
		case l.mark == '-' && before == 0, l.mark == '+' && after == 0:
			l.mark = 0
		case l.mark == '-':
			before--
		case l.mark == '+':
			after--
		case l.mark == ' ':
			before, after = before-1, after-1
		}
	}
}

// lineCount reads the number of lines in a range such as -7,3; without a comma it is 1.
func lineCount(r string) int {
	_, count, found := strings.Cut(r, ",")
	if n, _ := strconv.Atoi(count); found {
		return n
	}
	return 1
}

func (l *diffLine) color() {
	style := map[byte]string{'-': colorRemoved, '+': colorAdded, '@': colorHunk}[l.mark]
	if style == "" {
		return
	}
	at := 0
	for i, s := range l.screen {
		out, on := s[:len(textMargin)]+style, false
		for _, r := range s[len(textMargin):] {
			if l.changed != nil && l.changed[at] != on {
				on = !on
				out += map[bool]string{true: colorWord, false: colorWordEnd}[on]
			}
			out += string(r)
			at += len(string(r))
		}
		l.screen[i] = out + colorEnd
	}
}

// compareWords marks the words that differ between a removed line and the added line in its place. If
// less than half of both is in common, the line was replaced, and no word is marked.
func compareWords(a, b *diffLine) {
	const most = 1 << 16 // steps of one comparison
	before, after := words(a.text[1:]), words(b.text[1:])
	if len(before)*len(after) > most {
		return
	}
	// common[i][j] is how many bytes before[i:] and after[j:] have in common, in whole words.
	common := make([][]int, len(before)+1)
	common[len(before)] = make([]int, len(after)+1)
	for i, word := range slices.Backward(before) {
		common[i] = make([]int, len(after)+1)
		for j := len(after) - 1; j >= 0; j-- {
			common[i][j] = max(common[i+1][j], common[i][j+1])
			if word == after[j] {
				common[i][j] = max(common[i][j], common[i+1][j+1]+len(word))
			}
		}
	}
	if 4*common[0][0] < len(a.text)+len(b.text)-2 {
		return
	}
	a.changed, b.changed = slices.Repeat([]bool{true}, len(a.text)), slices.Repeat([]bool{true}, len(b.text))
	a.changed[0], b.changed[0] = false, false
	inA, inB := a.changed[1:], b.changed[1:] // of before[i:] and after[j:]
	for i, j := 0, 0; i < len(before) && j < len(after); {
		n, m := len(before[i]), len(after[j])
		switch common[i][j] {
		case common[i+1][j]:
			i, inA = i+1, inA[n:]
		case common[i][j+1]:
			j, inB = j+1, inB[m:]
		default:
			clear(inA[:n])
			clear(inB[:m])
			i, j, inA, inB = i+1, j+1, inA[n:], inB[m:]
		}
	}
}

// words splits a line into words and single other characters.
func words(line string) (all []string) {
	within := false
	for _, r := range line {
		isWord := r == '_' || unicode.In(r, unicode.L, unicode.M, unicode.N)
		if isWord && within {
			all[len(all)-1] += string(r)
		} else {
			all = append(all, string(r))
		}
		within = isWord
	}
	return all
}
