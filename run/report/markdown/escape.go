package markdown

import (
	"strings"

	"toolpipe/run/event"
	"toolpipe/run/report/history"
	"toolpipe/stream/text/escape"
)

// code formats a text of a log as one line in a code span. GitHub and GitLab make no links of
// @names, #123 and addresses in it, and nothing is markup. A character that could deceive is shown
// as \u{202e}, and a backslash is doubled, so that no text can imitate that. In a table cell a bar
// ends the cell even inside a code span, unless a backslash precedes it, which is then removed (GFM
// specification, section 4.10). So the number of other backslashes before it must be even.
func code(s string, columns int, cell bool) string {
	if s == "" {
		return ""
	}
	if len(s) > 8*columns {
		s = strings.ToValidUTF8(s[:8*columns], "") + "…"
	}
	s = escape.Cut(escape.Escape(s), columns)
	if cell {
		s = evenSlashes(s)
	}
	fence := strings.Repeat("`", longest(s, '`', 0)+1)
	if strings.Trim(s, " ") == "" {
		s = strings.ReplaceAll(s, " ", "␠") // a span with only blanks is not shown
	}
	if s[0] == '`' || s[len(s)-1] == '`' || s[0] == ' ' && s[len(s)-1] == ' ' {
		s = " " + s + " " // one blank at each end is removed
	}
	return fence + s + fence
}

// evenSlashes adds a backslash before each bar.
func evenSlashes(s string) string {
	var b strings.Builder
	slashes := 0
	for i := range len(s) {
		if s[i] == '|' {
			if slashes%2 == 1 { // the text was cut between two backslashes
				b.WriteByte('\\')
			}
			b.WriteByte('\\')
		}
		if slashes++; s[i] != '\\' {
			slashes = 0
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func longest(s string, c byte, least int) int {
	run := 0
	for i := range len(s) {
		if run++; s[i] != c {
			run = 0
		}
		least = max(least, run)
	}
	return least
}

// fence formats a text of a log as a code block. Its fence is longer than any run of backticks in
// the text. info is "text" or "diff". The block has at most limit bytes.
func fence(t history.Text, info string, limit int) string {
	for keep := limit; ; keep /= 2 {
		cut := t.Within(max(keep, 64))
		b := event.AppendLines(nil, []byte(cut.Head))
		if cut.Left > 0 {
			b = append(endLine(b), "[… "+cut.Gap()+" …]\n"...)
			b = event.AppendLines(b, []byte(cut.Tail))
		}
		b = endLine(b)
		marks := strings.Repeat("`", longest(string(b), '`', 2)+1)
		if len(b)+2*len(marks) <= limit || keep < 64 {
			return marks + info + "\n" + string(b) + marks + "\n\n"
		}
	}
}

func endLine(b []byte) []byte {
	if len(b) > 0 && b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	return b
}
