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
	screen   []string
	text     string
	mark     byte // the first byte of text; 0 for a line that names a file
	from, to int  // the changed words in text
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
			if (l.from <= at && at < l.to) != on {
				on = !on
				out += map[bool]string{true: colorWord, false: colorWordEnd}[on]
			}
			out += string(r)
			at += len(string(r))
		}
		l.screen[i] = out + colorEnd
	}
}

// compareWords marks the words that differ between a removed line and the added line in its place:
// all between the words that both lines begin with and the words that both end with. If these are
// less than half of both, the line was replaced, and no word is marked.
func compareWords(a, b *diffLine) {
	before, after := words(a.text[1:]), words(b.text[1:])
	shorter, head, tail := min(len(before), len(after)), 0, 0
	for head < shorter && before[head] == after[head] {
		head++
	}
	for tail < shorter-head && before[len(before)-1-tail] == after[len(after)-1-tail] {
		tail++
	}
	begin := 1 + len(strings.Join(before[:head], ""))
	end := len(strings.Join(before[len(before)-tail:], ""))
	if 4*(begin-1+end) >= len(a.text)+len(b.text)-2 {
		a.from, a.to, b.from, b.to = begin, len(a.text)-end, begin, len(b.text)-end
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
