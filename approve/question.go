package approve

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"toolpipe/stream/text/escape"
	"toolpipe/stream/text/jsontext"
)

// A question is the text that asks a person about a call, or for a form's line.
type question struct {
	body   string // all lines before the prompt
	prompt string // the line on which the person types the answer
	cut    bool   // not all arguments are shown: the person must type "approve"
	tool   bool   // the person may allow every call of the tool
	once   bool   // the person may allow this one call alone
	width  int    // of the terminal
}

// Margins begin every line of text that is not ours.
const (
	margin       = "  | "   // and before the rest of it if it takes several lines
	continuation = "  |   " // and before the rest of it when it takes several lines
	textMargin   = "  |> "  // before each line of a text,
	textRest     = "  |+ "  // and before the rest of such a line

	headLines, tailLines = 6, 3 // how many lines of a value are shown when it is cut
	maxLines             = 200  // how many lines of arguments are shown on a tall terminal
	minWidth             = 20   // for a terminal that reports fewer columns
)

// explanation is the text for the answer "?".
func (q *question) explanation() string {
	lines := []string{
		"y, yes     run this call",
		"a          run it, and this same call whenever it comes again in this run",
		"t          run every call of this tool in this run; asks for the tool's name",
		"n, no      do not run it (an empty line means the same)",
		"n REASON   do not run it, and tell the model why",
		"q          do not run it, and end the run",
		"v          show everything",
	}
	switch {
	case q.cut:
		lines = append([]string{"approve    run this call"}, lines[3:]...)
	case q.once:
		lines = slices.Delete(lines, 1, 3)
	case !q.tool:
		lines = slices.Delete(lines, 2, 3)
	}
	return strings.Join(lines, "\n") + "\n"
}

// newQuestion makes the question about c and its change, for a terminal of width and height.
// rule is the rule that asks. tool: the person may allow every call of the tool.
func newQuestion(c *Call, change change, rule *Rule, tool bool, width, height int, color bool) *question {
	width = max(width, minWidth)
	shown := shownName(c, color)
	var lines []string
	if c.Agent != "" {
		lines = wrap(lines, escape.Escape("asked for by the agent "+c.Agent), width)
	}
	if c.Command != "" {
		lines = wrap(lines, escape.Escape("made by a program of the command "+c.Command), width)
	}
	for _, text := range whyAsked(c, rule) {
		lines = wrap(lines, escape.Escape(text), width)
	}
	if c.pathsMoved {
		lines = wrap(lines, "asked again: its paths lead to other files since it was allowed", width)
	}
	room := min(max(height-5-len(lines), 5), maxLines)
	arguments, cut := argumentLines(c.Arguments, change, valueLines, width, room)
	lines = append(append([]string{"toolpipe: tool call " + shown}, lines...), arguments...)
	q := &question{cut: cut, tool: tool && !cut && !c.asksEgress(), once: c.asksEgress(), width: width}
	switch {
	case cut:
		sum := sha256.Sum256(c.Arguments)
		lines = append(lines, "Not all lines are shown; v shows them. The arguments are "+strconv.Itoa(len(c.Arguments))+" bytes, SHA-256:", hex.EncodeToString(sum[:]))
		q.prompt = "Allow " + shown + "? type approve to allow: "
	case q.once:
		q.prompt = "Allow " + shown + "? [y/N/q/v/?] "
	case q.tool:
		q.prompt = "Allow " + shown + "? [y/N/a/t/q/v/?] "
	default:
		q.prompt = "Allow " + shown + "? [y/N/a/q/v/?] "
	}
	q.body = strings.Join(lines, "\n") + "\n"
	return q
}

// Shown returns the complete text that a question about c would show, in lines of width columns and
// without colours, see Colored.
func Shown(ctx context.Context, c Call, width int) string {
	width = max(width, minWidth)
	lines, _ := argumentLines(c.Arguments, c.change(ctx), valueLines, width, math.MaxInt)
	return "tool call " + shownName(&c, false) + "\n" + strings.Join(lines, "\n") + "\n"
}

func whyAsked(c *Call, rule *Rule) []string {
	switch {
	case c.asksEgress():
		return []string{
			"asked because of " + rule.Origin + ": it would send out these arguments, after",
			"private: " + c.Seen.Private, "untrusted: " + c.Seen.Untrusted,
		}
	case rule.Origin == "": // no rule matches c
		return nil
	case rule.Reason == "":
		return []string{"asked because of " + rule.Origin}
	}
	return []string{"asked because of " + rule.Origin + ": " + rule.Reason}
}

// everything shows all arguments of c, texts as JSON, and the complete change of c.
func everything(c *Call, made change, width int) string {
	lines, _ := argumentLines(c.Arguments, change{diff: made.diff, colored: made.colored}, jsonLines, max(width, minWidth), math.MaxInt)
	return strings.Join(lines, "\n") + "\n"
}

// newToolQuestion asks for the name of the tool of c, to allow its every call.
func newToolQuestion(c *Call, width int, color bool) *question {
	return &question{
		body:   "toolpipe: allow " + shownName(c, color) + " with any arguments until this run ends; calls that a rule denies stay denied\n",
		prompt: "Type the tool's name to allow that: ",
		width:  max(width, minWidth),
	}
}

func shownName(c *Call, color bool) string {
	if color {
		return "\x1b[1m" + escape.Escape(c.Name) + "\x1b[0m"
	}
	return escape.Escape(c.Name)
}

// answer returns the answer that a typed line gives.
func (q *question) answer(line string) answer {
	switch {
	case line == "q":
		return answer{answerQuit, "the user ended the run"}
	case line == "v":
		return answer{kind: answerShow}
	case line == "?":
		return answer{kind: answerExplain}
	case q.cut && line == "approve":
		return answer{kind: answerYes}
	case !q.cut && !q.once && line == "a":
		return answer{kind: answerAlways}
	case q.tool && line == "t":
		return answer{kind: answerTool}
	case !q.cut && isYes(line):
		return answer{kind: answerYes}
	}
	word, reason, _ := strings.Cut(line, " ")
	no := isWord(word, "n") || isWord(word, "no")
	if reason = strings.TrimSpace(strings.ToValidUTF8(reason, "\ufffd")); no && reason != "" {
		return answer{answerNo, reason}
	}
	if no || line == "" || q.cut {
		return answer{answerNo, "the user declined"}
	}
	return answer{kind: answerUnclear}
}

func isYes(line string) bool { return isWord(line, "y") || isWord(line, "yes") }

// isWord reports whether a typed text is a word of ASCII letters, in any case. The length
// excludes characters beyond ASCII that are such a letter in lower case.
func isWord(typed, word string) bool {
	return len(typed) == len(word) && strings.EqualFold(typed, word)
}

// change is the result of Call.Change.
type change struct {
	diff    string
	told    []string
	colored bool // the diff is shown in colours
}

func (c *Call) change(ctx context.Context) (made change) {
	if c.Change != nil {
		made.diff, made.told = c.Change(ctx)
	}
	return made
}

// argumentLines shows arguments, and the change that they make, in at most room lines; each
// argument begins a line. show returns the lines of the argument at an index of the document.
// cut reports that not everything is shown.
func argumentLines(arguments []byte, change change, show func(d *document, at, width int) []string, width, room int) (lines []string, cut bool) {
	var d document
	d.parse(arguments)
	var values [][]string
	total := 0
	for i := range d.children(0) {
		if change.diff == "" || !slices.Contains(change.told, string(d.key(i))) {
			values = append(values, show(&d, i, width))
		}
	}
	if change.diff != "" {
		title := changesFile
		if strings.HasPrefix(change.diff, "--- ") { // names of files; the diff of one file does not begin with them
			title = changesFiles
		}
		diff := textLines([]string{title}, change.diff, width)
		if change.colored {
			colorDiff(diff[1:])
		}
		values = append(values, diff)
	}
	for _, v := range values {
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

// valueLines shows one argument. A string of several lines appears as text, with blanks for a
// tab.
func valueLines(d *document, at, width int) []string {
	var text string
	if d.nodes[at].kind == '"' {
		text = string(d.str(at))
	}
	if !strings.Contains(text, "\n") {
		return wrap(nil, escapeJSON(plainJSON(argumentName(d, at)+string(d.raw(at)))), width)
	}
	title := argumentName(d, at) + "text of " + strconv.Itoa(len(text)) + " bytes"
	if !strings.HasSuffix(text, "\n") {
		title += ", without a newline at its end"
	}
	return textLines(wrap(nil, escapeJSON(plainJSON(title)), width), text, width)
}

// plainJSON replaces the \u escapes in the strings of a JSON text by the characters, which
// people can read.
func plainJSON(text string) string {
	if !strings.Contains(text, `\u`) {
		return text
	}
	in, out := []byte(text), []byte(nil)
	for i := 0; i < len(in); {
		if in[i] != '"' {
			out = append(out, in[i])
			i++
			continue
		}
		end := jsontext.LiteralEnd(in, i)
		out = jsontext.AppendQuoted(out, jsontext.Unquote(in[i:end]))
		i = end
	}
	return string(out)
}

func jsonLines(d *document, at, width int) []string {
	return wrap(nil, escapeJSON(argumentName(d, at)+string(d.raw(at))), width)
}

func argumentName(d *document, at int) string {
	return `"` + string(d.text[d.nodes[at].keyStart:d.nodes[at].keyEnd]) + `": `
}

// textLines appends each line of text to lines, with a margin.
func textLines(lines []string, text string, width int) []string {
	for line := range strings.Lines(text) {
		line = escape.Escape(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    "))
		if line == "" {
			lines = append(lines, strings.TrimRight(textMargin, " "))
		}
		lines = wrapBehind(lines, textMargin, textRest, line, width)
	}
	return lines
}

// cutLines keeps the first head lines and the last tail lines, and a line
// between them that says how many are left out.
func cutLines(lines []string, head, tail int) []string {
	cut := "  ... " + strconv.Itoa(len(lines)-head-tail) + " lines are not shown ..."
	return slices.Concat(lines[:head], []string{cut}, lines[len(lines)-tail:])
}

// escapeJSON replaces the unsafe characters of a JSON text by JSON escapes. The
// result is JSON of the same value.
func escapeJSON(s string) string {
	var b strings.Builder
	marks := 0 // in a row
	for _, r := range s {
		if marks++; !escape.IsMark(r) {
			marks = 0
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

// wrap appends text, which is escaped, to lines. Each line begins with a margin and is narrower
// than width. A character that is not ASCII counts as two columns: no terminal shows it wider.
// So the terminal itself wraps no line; the rest of such a line would have no margin.
func wrap(lines []string, text string, width int) []string {
	return wrapBehind(lines, margin, continuation, text, width)
}

// wrapBehind is wrap with other margins: head for the first line, rest for the others.
func wrapBehind(lines []string, head, rest, text string, width int) []string {
	room := width - 1 - len(continuation)
	for text != "" {
		used, end := 0, len(text)
		for i, r := range text {
			if used++; r >= utf8.RuneSelf {
				used++
			}
			if used > room {
				end = i
				break
			}
		}
		lines = append(lines, head+text[:end])
		text, head = text[end:], rest
	}
	return lines
}
