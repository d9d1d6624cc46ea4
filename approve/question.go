package approve

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"toolpipe/stream/escape"
)

// A question is the text that asks a person about a call, or for a form's line.
type question struct {
	body   string // all lines before the prompt
	prompt string // the line on which the person types the answer
	cut    bool   // not all arguments are shown: the person must type "approve"
	width  int    // of the terminal
}

const (
	margin       = "  | "   // before every text that is not ours,
	continuation = "  |   " // and before the rest of a text that takes several lines

	headLines, tailLines = 6, 3 // how many lines of a value are shown when it is cut
	maxLines             = 200  // how many lines of arguments are shown on a tall terminal
	minWidth             = 20   // for a terminal that says that it has fewer columns
)

// explanation stands above the first question of a run that has these answers.
const explanation = "y: this call, a: also when it is repeated in this run"

// newQuestion makes the question about c for a terminal of width and height.
// rule wants the call asked about; it may be nil.
func newQuestion(c *Call, rule *Rule, width, height int, color bool) *question {
	width = max(width, minWidth)
	shown := escape.Escape(c.Name)
	if color {
		shown = "\x1b[1m" + shown + "\x1b[0m"
	}
	var lines []string
	if rule != nil {
		text := "asked because of " + rule.Origin
		if rule.Reason != "" {
			text += ": " + rule.Reason
		}
		lines = wrap(lines, escape.Escape(text), width)
	}
	if c.pathsMoved {
		lines = wrap(lines, "asked again: its paths lead elsewhere since it was allowed", width)
	}
	room := min(max(height-5-len(lines), 5), maxLines)
	arguments, cut := argumentLines(c.Arguments, width, room)
	lines = append(append([]string{"toolpipe: tool call " + shown}, lines...), arguments...)
	q := &question{prompt: "Allow " + shown + "? [y/N/a] ", cut: cut, width: width}
	if cut {
		sum := sha256.Sum256(c.Arguments)
		lines = append(lines, "The arguments are "+strconv.Itoa(len(c.Arguments))+" bytes, not all are shown. SHA-256:", hex.EncodeToString(sum[:]))
		q.prompt = "Allow " + shown + "? type approve to allow: "
	}
	q.body = strings.Join(lines, "\n") + "\n"
	return q
}

// answer returns the answer that a typed line gives.
func (q *question) answer(line string) answer {
	switch {
	case q.cut && line == "approve":
		return answer{kind: answerYes}
	case q.cut:
	case line == "a":
		return answer{kind: answerAlways}
	case isYes(line):
		return answer{kind: answerYes}
	}
	return answer{answerNo, "the user declined"}
}

// isYes reports whether a typed line is y or yes, in any case. The length keeps
// out characters beyond ASCII that are one of these letters in lower case.
func isYes(line string) bool {
	return len(line) <= 3 && (strings.ToLower(line) == "y" || strings.ToLower(line) == "yes")
}

// argumentLines shows arguments in at most room lines; each argument begins a
// line. cut reports that not everything is shown.
func argumentLines(arguments []byte, width, room int) (lines []string, cut bool) {
	var d document
	d.parse(arguments)
	var values [][]string
	total := 0
	for i := range d.children(0) {
		key, value := d.nodes[i], string(d.raw(i))
		text := `"` + string(arguments[key.keyStart:key.keyEnd]) + `": ` + value
		v := wrap(nil, escapeJSON(text), width)
		values = append(values, v)
		total += len(v)
	}
	if len(values) == 0 {
		return []string{margin + "no arguments"}, false
	}
	for _, v := range values {
		if total > room && len(v) > headLines+tailLines+1 {
			v, cut = cutLines(v, headLines, tailLines), true
		}
		lines = append(lines, v...)
	}
	if len(lines) > room {
		lines, cut = cutLines(lines, room*2/3, room/3), true
	}
	return lines, cut
}

// cutLines keeps the first head lines and the last tail lines, and a line
// between them that says how many are left out.
func cutLines(lines []string, head, tail int) []string {
	out := append([]string{}, lines[:head]...)
	out = append(out, "  ... "+strconv.Itoa(len(lines)-head-tail)+" lines are not shown ...")
	return append(out, lines[len(lines)-tail:]...)
}

// escapeJSON replaces the unsafe characters of a JSON text by JSON escapes. The
// result is JSON of the same value.
func escapeJSON(s string) string {
	if escape.IsPlain(strings.ReplaceAll(s, `\`, "")) {
		return s
	}
	var b strings.Builder
	marks := 0
	for _, r := range s {
		switch {
		case !escape.IsMark(r):
			marks = 0
		default:
			marks++
		}
		if !escape.Unsafe(r) && marks <= escape.MaxMarks {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	return b.String()
}

// wrap appends text, which is escaped, to lines. Each line has a margin and is
// narrower than width. A character that is not ASCII counts as two columns: no
// terminal shows it wider. So the terminal itself wraps no line, where the rest
// of it would stand without a margin.
func wrap(lines []string, text string, width int) []string {
	room := width - 1 - len(continuation)
	head := margin
	for text != "" {
		used, end := 0, 0
		for end < len(text) {
			n, w := 1, 1
			if text[end] >= utf8.RuneSelf {
				_, n = utf8.DecodeRuneInString(text[end:])
				w = 2
			}
			if used+w > room {
				break
			}
			used += w
			end += n
		}
		lines = append(lines, head+text[:end])
		text, head = text[end:], continuation
	}
	return lines
}
