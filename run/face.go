package run

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"toolpipe/approve"
	"toolpipe/stream/secrets"
)

// face is what a person sees on stderr: warnings and retries, and on a
// terminal a live line while something is awaited and a frame around each
// tool call. Nothing from a model or a server reaches it unescaped. Its
// methods may be called concurrently.
//
// Standard output may be on the same screen, or go to somebody who writes
// there: what passes through stdout takes the live line away first, and
// nothing is drawn while a line of it is unfinished.
type face struct {
	mu      sync.Mutex
	w       io.Writer
	framed  bool // calls are shown in frames: stderr is a terminal
	quiet   bool
	verbose int
	secrets *secrets.Set // that are taken out of what is no event
	color   bool
	width   func() int
	goesOn  bool         // an unapproved call is not the end, whose error would tell of it
	asides  bool         // text before calls goes here, dimmed
	deaf    bool         // deltas change nothing that is shown; never changes
	pending func() error // writes out what stdout holds back; nil: not on this screen

	aside   []byte
	frames  []*toolFrame // calls without result, in order
	servers []string     // that have not answered yet
	waits   waits        // for the error of --timeout
	model   bool         // a model is asked
	live    liveLine
	held    []byte    // came while a question stood
	lost    int       // pieces that came then and were too many
	half    bool      // the last thing on stderr is an unfinished line
	mid     bool      // the same of stdout
	sameTTY bool      // stdout is a terminal too
	writing bool      // stdout is being written
	wrote   time.Time // when it was written last
	over    bool      // the last line was taken away for good
}

func newFace(c *Config, s Streams) *face {
	f := &face{w: s.Err, quiet: c.Quiet, verbose: c.Verbose, width: s.Width, sameTTY: s.ErrTerminal && s.OutTerminal}
	if s.ErrTerminal && s.Background != nil {
		f.live.background = s.Background
		f.w = &foregroundWriter{s.Err, s.Background}
	}
	f.goesOn = c.Unapproved == "deny"
	text := c.Output == "" || c.Output == "text"
	f.color = c.colored(s)
	f.framed = s.ErrTerminal && !c.Quiet && (c.Mode == Answer || c.Verbose > 0)
	f.asides = s.ErrTerminal && !s.OutTerminal && !c.Stream && !c.Quiet && text
	f.live.enabled = s.ErrTerminal && !c.Quiet && !c.dumbTerminal()
	f.deaf = !f.live.enabled && !f.asides && f.verbose == 0
	return f
}

// yieldTo makes the live line wait while another program asks on the terminal.
func (f *face) yieldTo(busy func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live.busy = busy
}

// colored tells whether stderr gets colours.
func (c *Config) colored(s Streams) bool {
	return c.Color == "always" || c.Color != "never" && s.ErrTerminal && c.getenv("NO_COLOR") == "" && !c.dumbTerminal()
}

// dumbTerminal tells whether the terminal understands no control sequences.
func (c *Config) dumbTerminal() bool { return c.getenv("TERM") == "dumb" || c.getenv("TERM") == "" }

// most of the text before a call that is shown.
const maxAside = 64 << 10

const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// paint gives s, which is on one line, a style.
func (f *face) paint(style, s string) string {
	if !f.color || s == "" {
		return s
	}
	return style + s + reset
}

// maxHeld is how much is kept of what comes while a question stands.
const maxHeld = 64 << 10

// print writes whole lines over the live line. While a question stands they
// wait: a line behind it that a server has a hand in, such as a warning or a
// log line, could pass for a part of the question. The caller holds mu.
func (f *face) print(s string) {
	if f.live.paused {
		if len(f.held)+len(s) > maxHeld {
			f.lost++
		} else {
			f.held = append(f.held, s...)
		}
		return
	}
	f.live.erase(f.w)
	if f.half || f.mid && f.sameTTY {
		s = "\n" + s
		f.half, f.mid = false, false
	}
	io.WriteString(f.w, s)
}

// say prints a line that is not an event's, unless -q.
func (f *face) say(s string) {
	if f.quiet {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.print("toolpipe: " + approve.Escape(f.secrets.Message().HideString(s)) + "\n")
}

func (f *face) notef(format string, args ...any) { f.say(fmt.Sprintf(format, args...)) }

// verboseLine prints a line with -v.
func (f *face) verboseLine(s string) {
	if f.verbose < 1 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.verbosely(approve.Escape(f.secrets.Message().HideString(s)))
}

// verbosely prints an escaped line with -v. The caller holds mu.
func (f *face) verbosely(s string) {
	if f.verbose > 0 {
		f.print(f.paint(dim, "toolpipe: "+s) + "\n")
	}
}

// modelWire and serverWire show the wire with -vv; nil below that.
func (f *face) modelWire() func(byte, []byte) { return f.wire("model") }

func (f *face) serverWire(name string) func(byte, []byte) { return f.wire(name) }

// wire shows lines so that those of JSON stay JSON, to be cut out and parsed:
// their backslashes are not doubled.
func (f *face) wire(who string) func(byte, []byte) {
	if f.verbose < 2 {
		return nil
	}
	return func(direction byte, line []byte) {
		if len(bytes.TrimSpace(line)) == 0 {
			return // between two events
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.print(f.paint(dim, who+" "+string(direction)+" "+string(appendJSON(nil, line))) + "\n")
	}
}

func (f *face) flush() error { return nil }

// event shows an event, after what stdout has of it. It never fails: what
// cannot be shown changes nothing.
func (f *face) event(e Event) error {
	switch e.(type) {
	case *TextEvent, *ReasoningEvent:
		if f.deaf {
			return nil // the hot path of a pipe
		}
	default:
		if f.pending != nil {
			f.pending() // its error comes again with the next write
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e := e.(type) {
	case *TextEvent:
		f.live.received("the model is answering", len(e.Text))
		if f.asides {
			f.aside = append(f.aside, e.Text[:min(len(e.Text), maxAside-len(f.aside))]...)
		}
	case *ReasoningEvent:
		f.reasoned(e)
	case *StartEvent:
		f.started(e)
	case *TurnEvent:
		f.turned(e)
	case *CallEvent:
		f.called(e)
	case *ApprovalEvent:
		f.approved(e)
	case *ProgressEvent:
		if len(f.frames) > 0 && f.frames[0].id == e.ID {
			f.live.detail = approve.Escape(progressText(e))
		}
	case *ResultEvent:
		f.answered(e)
	case *RetryEvent:
		if !f.quiet {
			f.print(fmt.Sprintf("toolpipe: retry %d of %d in %s: %s\n", e.Attempt, e.Of, duration(e.After), approve.Escape(e.Message)))
		}
	case *WarningEvent:
		if !f.quiet {
			f.print("toolpipe: " + f.paint(yellow, "warning:") + " " + escapeLines(e.Message) + "\n")
		}
	case *EndEvent:
		f.await("")
	}
	return nil
}

func (f *face) started(e *StartEvent) {
	for _, s := range e.Servers {
		f.verbosely(fmt.Sprintf("server %s: protocol %s, tools: %d", s.Name, approve.Escape(s.Protocol), s.Tools))
	}
	if e.ConfigRules > 0 {
		f.verbosely(fmt.Sprintf("auto_approve rules of the config that count: %d", e.ConfigRules))
	}
	f.model = e.API != ""
	f.awaitModel()
}

func (f *face) reasoned(e *ReasoningEvent) {
	f.live.received("the model is thinking", len(e.Text))
	if f.verbose == 0 || len(e.Text) == 0 {
		return
	}
	f.live.erase(f.w)
	if f.mid && f.sameTTY {
		io.WriteString(f.w, "\n")
		f.mid = false
	}
	io.WriteString(f.w, f.paint(dim, string(appendLines(nil, e.Text))))
	f.half = e.Text[len(e.Text)-1] != '\n'
}

func (f *face) turned(e *TurnEvent) {
	f.await("")
	if f.half {
		f.print("")
	}
	if f.verbose > 0 {
		f.verbosely(fmt.Sprintf("turn %d: %s, %d tokens in, %d out, %s", e.Turn, first(approve.Escape(e.Finish), "ended"),
			e.Usage.Input, e.Usage.Output, duration(e.Time)))
	}
}

// progressText is what a server says of a running call: 2/5 copying.
func progressText(e *ProgressEvent) string {
	s := string(e.Progress)
	if len(e.Total) > 0 {
		s += "/" + string(e.Total)
	}
	return strings.TrimSpace(s + " " + e.Message)
}

// called shows the text that came before a call, and keeps the call until
// something is known of it: a question may come first, which shows it too.
func (f *face) called(e *CallEvent) {
	if text := bytes.TrimSpace(f.aside); len(text) > 0 {
		for line := range strings.Lines(string(appendLines(nil, text))) {
			f.print(f.paint(dim, strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	f.aside = f.aside[:0]
	f.frames = append(f.frames, newToolFrame(e))
	f.running()
}

// running makes the live line the foot of the first open frame.
func (f *face) running() {
	f.waits.set(func(w *waits) { w.turn = "tool " + f.frames[0].name })
	what := "└ running"
	if !f.framed {
		what = "running " + f.frames[0].name
	}
	if n := len(f.frames); n > 1 {
		what += fmt.Sprintf(" and %d more", n-1)
	}
	f.await(what)
}

func (f *face) approved(e *ApprovalEvent) {
	refused := e.Decision == "deny" || e.Decision == "unapproved" && f.goesOn
	if f.verbose == 0 && (!refused || f.quiet) {
		return
	}
	line := e.Decision + ": "
	for _, t := range f.frames {
		if t.id == e.ID {
			if line += t.name; refused {
				t.refusal = refusal(e.Decision, e.By, e.Rule, e.Reason)
			}
		}
	}
	if by := first(e.Rule, e.By); by != "" {
		line += " by " + approve.Escape(by)
	}
	if e.Reason != "" {
		line += ": " + approve.Escape(e.Reason)
	}
	if !refused {
		f.verbosely(line)
	} else if !f.framed { // the frame says it too
		f.print("toolpipe: " + line + "\n")
	}
}

// answered shows a result. Results come in the order of their calls.
func (f *face) answered(e *ResultEvent) {
	for i, t := range f.frames {
		if t.id != e.ID {
			continue
		}
		f.frames = append(f.frames[:i:i], f.frames[i+1:]...)
		if f.framed {
			f.closeFrame(t, e)
		}
		break
	}
	if len(f.frames) > 0 {
		f.running()
	} else {
		f.awaitModel()
	}
}

// interrupted takes the live line away for good, and the terminal's echo of
// ^C with it, unless that stands behind a question or an unfinished line. Only
// the first call does.
func (f *face) interrupted() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.over {
		return
	}
	f.over = true
	f.await("")
	switch {
	case f.live.paused || f.live.away():
	case f.live.enabled && !f.mid && !f.half:
		io.WriteString(f.w, eraseLine)
	case f.framed && !(f.mid && f.sameTTY): // who reads stdout may have shown the line
		io.WriteString(f.w, "\n")
		f.half = false
	}
	f.live.enabled = false
}

// suspend leaves the screen clean while the process is stopped: each function
// that stop brings stops it, and returns when it goes on.
func (f *face) suspend(stop <-chan func()) {
	for halt := range stop {
		f.cleanly(halt)
	}
}

func (f *face) cleanly(halt func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live.erase(f.w)
	halt()
}

// close takes the live line away for good.
func (f *face) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.await("")
	f.live.enabled = false
	f.release()
}

// fit cuts a line to the terminal's width, fitLess what follows a prefix.
func (f *face) fit(s string) string { return f.fitLess("", s) }

func (f *face) fitLess(prefix, s string) string {
	n := 0
	if f.width != nil {
		n = f.width()
	}
	if n <= 0 {
		n = 80
	}
	if n -= 1 + stringColumns(prefix); n < 1 {
		return ""
	}
	return cutColumns(s, n)
}
