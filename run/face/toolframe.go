package face

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"toolpipe/run/event"
	"toolpipe/stream/text/escape"
	"toolpipe/stream/text/jsontext"
	"toolpipe/stream/text/readable"
)

// toolFrame shows a call on a terminal in one piece, although several calls may run at once:
//
//	┌ files__read_file notes.txt
//	│ The Rhine is 1233 km long,
//	│ …
//	└ ok · 12 ms · 2048 bytes
//
// It opens when the run waits for the call, and closes with the result.
type toolFrame struct {
	callID
	name   string // escaped
	args   string // escaped, for one line
	opened bool
	denial string // the rule or the reason of the denial
}

// callID identifies a call. Ids of a nested run may repeat ids of another run.
type callID struct {
	parent event.ID // call that started its nested run; "" for none
	id     event.ID
}

const (
	resultLines        = 6       // how many lines of a result are shown
	resultLinesVerbose = 50      // with -v
	resultPrefix       = 8 << 10 // how many bytes of a result are read
	namedColumns       = 200     // how many columns the paths and the command among arguments have,
	restColumns        = 60      // and the other arguments
)

func newToolFrame(parent event.ID, e *event.Call) *toolFrame {
	return &toolFrame{callID: callID{parent, e.ID}, name: escape.Escape(e.Name)}
}

// argumentText shows the arguments of a call in one line.
func argumentText(e *event.Call) string {
	if e.Arguments == nil {
		return escape.Cut(escape.Escape(string(e.Raw[:min(len(e.Raw), 4*restColumns)])), restColumns)
	}
	named, rest := jsontext.Glance(e.Arguments)
	named = escape.Cut(escape.Escape(named), namedColumns)
	return strings.TrimSpace(named + " " + escape.Cut(string(event.AppendJSON(nil, []byte(rest))), restColumns))
}

// progressText is the progress of a running call, for example 2/5 copying.
func progressText(e *event.Progress) string {
	s := string(e.Progress)
	if len(e.Total) > 0 {
		s += "/" + string(e.Total)
	}
	return strings.TrimSpace(s + " " + e.Message)
}

// called shows the text before a call. The frame of the call opens later, because a question about
// the call shows it too and may come first.
func (f *Face) called(parent event.ID, e *event.Call) {
	t := newToolFrame(parent, e)
	if f.showsFrames || f.options.Verbose > 0 {
		t.args = argumentText(e)
	}
	f.frames = append(f.frames, t)
	if parent == "" {
		f.said(f.aside)
		f.aside = f.aside[:0]
		f.running()
	}
}

// running turns the live line into the last line of the first open frame.
func (f *Face) running() {
	f.waits.set(func(w *waits) { w.turn = "tool " + f.frames[0].name })
	what := "└ running"
	if !f.showsFrames {
		what = "running " + f.frames[0].name
	}
	if n := len(f.frames); n > 1 {
		what += fmt.Sprintf(" and %d more", n-1)
	}
	f.await(what)
}

func (f *Face) approved(parent event.ID, e *event.Approval) {
	denied := e.Decision == "deny" || e.Decision == "unapproved" && f.options.DeniesUnapproved
	if f.options.Verbose == 0 && (!denied || f.options.Quiet) {
		return
	}
	line := e.Decision + ": "
	for _, t := range f.frames {
		if t.callID == (callID{parent, e.ID}) {
			if line += t.name; denied {
				t.denial = e.Denial()
			}
		}
	}
	if by := cmp.Or(e.Rule, e.By); by != "" {
		line += " by " + escape.Escape(by)
	}
	if e.Reason != "" {
		line += ": " + escape.Escape(e.Reason)
	}
	if !denied {
		f.verbosely(line)
	} else if !f.showsFrames { // the frame shows the same
		f.print("toolpipe: " + line + "\n")
	}
}

// answered shows a result. Results come in the order of their calls.
func (f *Face) answered(parent event.ID, e *event.Result) {
	if i := slices.IndexFunc(f.frames, func(t *toolFrame) bool { return t.callID == callID{parent, e.ID} }); i >= 0 {
		t := f.frames[i]
		f.frames = slices.Delete(f.frames, i, i+1)
		if f.showsFrames {
			f.closeFrame(t, e)
		} else if f.options.Verbose > 0 {
			f.verbosely(t.margin() + "└ " + t.ended(e))
		}
		if t.parent != "" {
			return
		}
	}
	if len(f.frames) > 0 {
		f.running()
	} else {
		f.awaitModel()
	}
}

// openFrame prints the head of a frame once. The caller holds mu.
func (f *Face) openFrame(t *toolFrame) {
	if t.opened {
		return
	}
	t.opened = true
	for _, outer := range f.frames {
		if outer.callID == (callID{"", t.parent}) {
			f.openFrame(outer)
		}
	}
	head := t.margin() + "┌ "
	name := f.fitAfter(head, t.name)
	line := f.paint(dim, head) + f.paint(bold, name)
	if args := f.fitAfter(head+name+" ", t.args); args != "" {
		line += f.paint(dim, " "+args)
	}
	f.print(line + "\n")
}

func (t *toolFrame) margin() string {
	if t.parent != "" {
		return "│ "
	}
	return ""
}

// closeFrame prints the result of a call. The caller holds mu.
func (f *Face) closeFrame(t *toolFrame, e *event.Result) {
	f.openFrame(t)
	var b strings.Builder
	side, foot := t.margin()+"│ ", t.margin()+"└ "
	words, reason, good := t.ending(e)
	rest, style := "", yellow
	if fromTool(e) {
		rest = size(e)
		for _, line := range f.resultText(e) {
			b.WriteString(f.paint(dim, side+f.fitAfter(side, line)) + "\n")
		}
	}
	if reason != "" && e.Status != event.ResultError { // the text above begins with the reason of an error
		rest = ": " + reason + rest
	}
	if good {
		style = dim
	}
	b.WriteString(f.paint(dim, foot) + f.paint(style, f.fitAfter(foot, words)) + f.paint(dim, f.fitAfter(foot+words, rest)) + "\n")
	f.print(b.String())
}

// ended is one line about a call and its end, for stderr without frames. It contains the name and the
// arguments, because lines of other calls may come before it.
func (t *toolFrame) ended(e *event.Result) string {
	line, reason, _ := t.ending(e)
	if line += ": " + t.name; t.args != "" {
		line += " " + t.args
	}
	if reason != "" {
		line += ": " + reason
	}
	if fromTool(e) {
		line += size(e)
	}
	return line
}

// ending says how a call ended, and why it failed, escaped and on one line. A command that reports its
// exit code is good only if the code is 0. For an answer of toolpipe the reason is the text after the
// status, as in "[toolpipe] not run: the run ended"; for an answer of a tool, its first line.
func (t *toolFrame) ending(e *event.Result) (words, reason string, good bool) {
	words = strings.ReplaceAll(string(e.Status), "_", " ")
	switch code, complaint := jsontext.Exit(e.Structured); {
	case e.Status == event.ResultOK && (code == "" || code == "0"):
		if code != "" {
			words = "exit 0"
		}
		return words, "", true
	case e.Status == event.ResultOK:
		return "exit " + code, escape.Escape(complaint), false
	case e.Status == event.ResultError:
		return words, escape.Escape(jsontext.FirstLine(e.Text)), false
	}
	_, after, _ := strings.Cut(jsontext.Unquote(e.Text), ": ")
	return words, escape.Escape(cmp.Or(t.denial, after)), false
}

// fromTool reports whether the text of a result comes from the tool, not from toolpipe.
func fromTool(e *event.Result) bool {
	return e.Status == event.ResultOK || e.Status == event.ResultError
}

func size(e *event.Result) string { return " · " + duration(e.Time) + " · " + byteCount(e.Bytes) }

func (f *Face) resultText(e *event.Result) []string {
	whole := jsontext.Unquote(e.Text)
	text := readable.Cut(whole, resultPrefix, "")
	cut := len(text) < len(whole)
	most := resultLines
	if f.options.Verbose > 0 {
		most = resultLinesVerbose
	}
	var lines []string
	for line := range strings.Lines(strings.TrimRight(text, "\r\n\t ")) {
		if len(lines) == most {
			cut = true
			break
		}
		safe := string(event.AppendLines(nil, []byte(strings.TrimRight(line, "\r\n"))))
		lines = append(lines, strings.ReplaceAll(safe, "\t", "    ")) // so that columns can be counted
	}
	if cut {
		for len(lines) > 0 && lines[len(lines)-1] == "" {
			lines = lines[:len(lines)-1]
		}
		lines = append(lines, "…")
	}
	return lines
}

// duration formats a time for people: 12 ms, 3.4 s, 2 min 05 s.
func duration(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Truncate(100*time.Millisecond).Seconds())
	}
	return elapsed(d)
}

func byteCount(n int) string {
	switch {
	case n == 1:
		return "1 byte"
	case n < 10<<10:
		return strconv.Itoa(n) + " bytes"
	case n < 10<<20:
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.Itoa(n>>20) + " MiB"
}
