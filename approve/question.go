package approve

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"
)

// question is what a person sees of one call.
type question struct {
	body  string // all lines but the last
	last  string // the question proper, without a line end
	long  bool   // not everything is shown: the word is wanted
	width int    // of the terminal
}

const (
	margin       = "  | " // before every line that others wrote
	continuation = "  |   "
	// headLines and tailLines are shown of a value that is cut.
	headLines, tailLines = 6, 3
	// maxLines is how many lines of arguments are shown in full on a high terminal.
	maxLines = 200
	// minWidth is what a terminal is taken to have if it says less.
	minWidth = 20
)

// explanation is shown once in a run, above a question that takes these letters.
const explanation = "y: this call, a: also when it is repeated in this run"

// newQuestion lays the question out for a terminal of width and height.
func newQuestion(c *Call, rule *Rule, width, height int, color bool) *question {
	width = max(width, minWidth)
	q := &question{width: width}
	name := Escape(c.Name)
	shown := name
	if color {
		shown = "\x1b[1m" + name + "\x1b[0m"
	}
	var b strings.Builder
	b.WriteString("toolpipe: tool call " + shown + "\n")
	lines := []string{}
	if rule != nil {
		text := "asked because of " + rule.Origin
		if rule.Reason != "" {
			text += ": " + rule.Reason
		}
		lines = wrap(lines, Escape(text), width)
	}
	if c.moved {
		lines = wrap(lines, "asked again: its paths lead elsewhere since it was allowed", width)
	}
	room := min(max(height-5-len(lines), 5), maxLines)
	arguments, cut := argumentLines(c.Arguments, width, room)
	for _, l := range append(lines, arguments...) {
		b.WriteString(l)
		b.WriteByte('\n')
	}
	q.last = "Allow " + shown + "? [y/N/a] "
	if cut {
		q.long = true
		sum := sha256.Sum256(c.Arguments)
		b.WriteString("The arguments are " + strconv.Itoa(len(c.Arguments)) + " bytes, not all are shown. SHA-256:\n" + hex.EncodeToString(sum[:]) + "\n")
		q.last = "Allow " + shown + "? type approve to allow: "
	}
	q.body = b.String()
	return q
}

// read turns a typed line into an answer.
func (q *question) read(line string) answer {
	switch {
	case q.long && line == "approve":
		return answer{kind: answerYes}
	case q.long:
	case line == "a":
		return answer{kind: answerAlways}
	case isYes(line):
		return answer{kind: answerYes}
	}
	return answer{answerNo, "the user declined"}
}

// isYes tells whether a typed line is y or yes, in any case. Characters that
// are not ASCII but fold to one of these letters are refused by the length.
func isYes(line string) bool {
	return len(line) <= 3 && (strings.ToLower(line) == "y" || strings.ToLower(line) == "yes")
}

// argumentLines shows arguments in at most room lines, a key a line or more;
// cut says that not everything is shown.
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

// cutLines keeps the first head and the last tail lines.
func cutLines(lines []string, head, tail int) []string {
	out := append([]string{}, lines[:head]...)
	out = append(out, "  ... "+strconv.Itoa(len(lines)-head-tail)+" lines are not shown ...")
	return append(out, lines[len(lines)-tail:]...)
}

// escapeJSON writes the unsafe characters of a JSON text as JSON escapes: what
// is shown is the same JSON value.
func escapeJSON(s string) string {
	if isPlain(strings.ReplaceAll(s, `\`, "")) {
		return s
	}
	var b strings.Builder
	marks := 0
	for _, r := range s {
		switch {
		case !isMark(r):
			marks = 0
		default:
			marks++
		}
		if !Unsafe(r) && marks <= maxMarks {
			b.WriteRune(r)
			continue
		}
		if r > 0xffff {
			r -= 0x10000
			writeUnicodeEscape(&b, 0xd800|r>>10)
			r = 0xdc00 | r&0x3ff
		}
		writeUnicodeEscape(&b, r)
	}
	return b.String()
}

func writeUnicodeEscape(b *strings.Builder, r rune) {
	b.WriteString(`\u`)
	for shift := 12; shift >= 0; shift -= 4 {
		b.WriteByte(hexDigits[r>>shift&15])
	}
}

// wrap cuts an escaped text into lines of our own margin, none wider than
// width. Every character that is not ASCII counts as two columns: no terminal
// shows it wider, so none wraps by itself, where it would lose the margin.
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
