// Package face is what a person sees on a terminal beside the answer: the live
// line, the frames of tool calls, messages and errors. It is a function of the
// events, and nothing from a model or a server reaches the terminal unescaped.
package face

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"toolpipe/run/config"
	"toolpipe/run/event"
	"toolpipe/run/stdio"
	"toolpipe/stream/escape"
	"toolpipe/stream/secrets"
)

// Face is what a person sees on stderr: warnings and retries, and on a
// terminal a live line while something is awaited and a frame around each
// tool call. Nothing from a model or a server reaches it unescaped. Its
// methods may be called concurrently.
//
// Standard output may be on the same screen, or go to somebody who writes
// there: what passes through stdout takes the live line away first, and
// nothing is drawn while a line of it is unfinished.
type Face struct {
	mu      sync.Mutex
	w       io.Writer
	framed  bool // calls are shown in frames: stderr is a terminal
	quiet   bool
	verbose int
	Secrets *secrets.Set // that are taken out of what is no event
	Color   bool
	width   func() int
	goesOn  bool         // an unapproved call is not the end, whose error would tell of it
	asides  bool         // Text before calls goes here, dimmed
	deaf    bool         // deltas change nothing that is shown; never changes
	Pending func() error // writes out what stdout holds back; nil: not on this screen

	aside   []byte
	frames  []*toolFrame // calls without result, in order
	servers []string     // that have not answered yet
	Waits   Waits        // for the error of --timeout
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

func New(c *config.Config, s stdio.Streams) *Face {
	f := &Face{w: s.Err, quiet: c.Quiet, verbose: c.Verbose, width: s.Width, sameTTY: s.ErrTerminal && s.OutTerminal}
	if s.ErrTerminal && s.Background != nil {
		f.live.background = s.Background
		f.w = &foregroundWriter{s.Err, s.Background}
	}
	f.goesOn = c.Unapproved == "deny"
	text := c.Output == "" || c.Output == "text"
	f.Color = colored(c, s)
	f.framed = s.ErrTerminal && !c.Quiet && (c.Mode == config.Answer || c.Verbose > 0)
	f.asides = s.ErrTerminal && !s.OutTerminal && !c.Stream && !c.Quiet && text
	f.live.enabled = s.ErrTerminal && !c.Quiet && !dumbTerminal(c)
	f.deaf = !f.live.enabled && !f.asides && f.verbose == 0
	return f
}

// YieldTo makes the live line wait while another program asks on the terminal.
func (f *Face) YieldTo(busy func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live.busy = busy
}

// colored tells whether stderr gets colours.
func colored(c *config.Config, s stdio.Streams) bool {
	return c.Color == "always" || c.Color != "never" && s.ErrTerminal && c.Getenv("NO_COLOR") == "" && !dumbTerminal(c)
}

// dumbTerminal tells whether the terminal understands no control sequences.
func dumbTerminal(c *config.Config) bool { return c.Getenv("TERM") == "dumb" || c.Getenv("TERM") == "" }

// most of the text before a call that is shown.
const maxAside = 64 << 10

const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// paint gives s, which is on one line, a style.
func (f *Face) paint(style, s string) string {
	if !f.Color || s == "" {
		return s
	}
	return style + s + reset
}

// maxHeld is how much is kept of what comes while a question stands.
const maxHeld = 64 << 10

// print writes whole lines over the live line. While a question stands they
// wait: a line behind it that a server has a hand in, such as a warning or a
// log line, could pass for a part of the question. The caller holds mu.
func (f *Face) print(s string) {
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

// Say prints a line that is not an event's, unless -q.
func (f *Face) Say(s string) {
	if f.quiet {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.print("toolpipe: " + escape.Escape(f.Secrets.Message().HideString(s)) + "\n")
}

func (f *Face) Notef(format string, args ...any) { f.Say(fmt.Sprintf(format, args...)) }

// VerboseLine prints a line with -v.
func (f *Face) VerboseLine(s string) {
	if f.verbose < 1 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.verbosely(escape.Escape(f.Secrets.Message().HideString(s)))
}

// verbosely prints an escaped line with -v. The caller holds mu.
func (f *Face) verbosely(s string) {
	if f.verbose > 0 {
		f.print(f.paint(dim, "toolpipe: "+s) + "\n")
	}
}

// ModelWire and ServerWire show the wire with -vv; nil below that.
func (f *Face) ModelWire() func(byte, []byte) { return f.wire("model") }

func (f *Face) ServerWire(name string) func(byte, []byte) { return f.wire(name) }

// wire shows lines so that those of JSON stay JSON, to be cut out and parsed:
// their backslashes are not doubled.
func (f *Face) wire(who string) func(byte, []byte) {
	if f.verbose < 2 {
		return nil
	}
	return func(direction byte, line []byte) {
		if len(bytes.TrimSpace(line)) == 0 {
			return // between two events
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.print(f.paint(dim, who+" "+string(direction)+" "+string(event.AppendJSON(nil, line))) + "\n")
	}
}

func (f *Face) Flush() error { return nil }

// Event shows an event, after what stdout has of it. It never fails: what
// cannot be shown changes nothing.
func (f *Face) Event(e event.Event) error {
	switch e.(type) {
	case *event.Text, *event.Reasoning:
		if f.deaf {
			return nil // the hot path of a pipe
		}
	default:
		if f.Pending != nil {
			f.Pending() // its error comes again with the next write
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e := e.(type) {
	case *event.Text:
		f.live.received("the model is answering", len(e.Text))
		if f.asides {
			f.aside = append(f.aside, e.Text[:min(len(e.Text), maxAside-len(f.aside))]...)
		}
	case *event.Reasoning:
		f.reasoned(e)
	case *event.Start:
		f.started(e)
	case *event.Turn:
		f.turned(e)
	case *event.Call:
		f.called(e)
	case *event.Approval:
		f.approved(e)
	case *event.Progress:
		if len(f.frames) > 0 && f.frames[0].id == e.ID {
			f.live.detail = escape.Escape(progressText(e))
		}
	case *event.Result:
		f.answered(e)
	case *event.Retry:
		if !f.quiet {
			f.print(fmt.Sprintf("toolpipe: retry %d of %d in %s: %s\n", e.Attempt, e.Of, duration(e.After), escape.Escape(e.Message)))
		}
	case *event.Warning:
		if !f.quiet {
			f.print("toolpipe: " + f.paint(yellow, "warning:") + " " + escapeLines(e.Message) + "\n")
		}
	case *event.End:
		f.await("")
	}
	return nil
}

func (f *Face) started(e *event.Start) {
	for _, s := range e.Servers {
		f.verbosely(fmt.Sprintf("server %s: protocol %s, tools: %d", s.Name, escape.Escape(s.Protocol), s.Tools))
	}
	if e.ConfigRules > 0 {
		f.verbosely(fmt.Sprintf("auto_approve rules of the config that count: %d", e.ConfigRules))
	}
	f.model = e.API != ""
	f.awaitModel()
}

func (f *Face) reasoned(e *event.Reasoning) {
	f.live.received("the model is thinking", len(e.Text))
	if f.verbose == 0 || len(e.Text) == 0 {
		return
	}
	f.live.erase(f.w)
	if f.mid && f.sameTTY {
		io.WriteString(f.w, "\n")
		f.mid = false
	}
	io.WriteString(f.w, f.paint(dim, string(event.AppendLines(nil, e.Text))))
	f.half = e.Text[len(e.Text)-1] != '\n'
}

func (f *Face) turned(e *event.Turn) {
	f.await("")
	if f.half {
		f.print("")
	}
	if f.verbose > 0 {
		f.verbosely(fmt.Sprintf("turn %d: %s, %d tokens in, %d out, %s", e.Turn, config.FirstNonEmpty(escape.Escape(e.Finish), "ended"),
			e.Usage.Input, e.Usage.Output, duration(e.Time)))
	}
}

// progressText is what a server says of a running call: 2/5 copying.
func progressText(e *event.Progress) string {
	s := string(e.Progress)
	if len(e.Total) > 0 {
		s += "/" + string(e.Total)
	}
	return strings.TrimSpace(s + " " + e.Message)
}

// called shows the text that came before a call, and keeps the call until
// something is known of it: a question may come first, which shows it too.
func (f *Face) called(e *event.Call) {
	if text := bytes.TrimSpace(f.aside); len(text) > 0 {
		for line := range strings.Lines(string(event.AppendLines(nil, text))) {
			f.print(f.paint(dim, strings.TrimSuffix(line, "\n")) + "\n")
		}
	}
	f.aside = f.aside[:0]
	f.frames = append(f.frames, newToolFrame(e))
	f.running()
}

// running makes the live line the foot of the first open frame.
func (f *Face) running() {
	f.Waits.Set(func(w *Waits) { w.turn = "tool " + f.frames[0].name })
	what := "└ running"
	if !f.framed {
		what = "running " + f.frames[0].name
	}
	if n := len(f.frames); n > 1 {
		what += fmt.Sprintf(" and %d more", n-1)
	}
	f.await(what)
}

func (f *Face) approved(e *event.Approval) {
	refused := e.Decision == "deny" || e.Decision == "unapproved" && f.goesOn
	if f.verbose == 0 && (!refused || f.quiet) {
		return
	}
	line := e.Decision + ": "
	for _, t := range f.frames {
		if t.id == e.ID {
			if line += t.name; refused {
				t.refusal = e.Denial()
			}
		}
	}
	if by := config.FirstNonEmpty(e.Rule, e.By); by != "" {
		line += " by " + escape.Escape(by)
	}
	if e.Reason != "" {
		line += ": " + escape.Escape(e.Reason)
	}
	if !refused {
		f.verbosely(line)
	} else if !f.framed { // the frame says it too
		f.print("toolpipe: " + line + "\n")
	}
}

// answered shows a result. Results come in the order of their calls.
func (f *Face) answered(e *event.Result) {
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

// Interrupted takes the live line away for good, and the terminal's echo of
// ^C with it, unless that stands behind a question or an unfinished line. Only
// the first call does.
func (f *Face) Interrupted() {
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

// Suspend leaves the screen clean while the process is stopped: each function
// that stop brings stops it, and returns when it goes on.
func (f *Face) Suspend(stop <-chan func()) {
	for halt := range stop {
		f.cleanly(halt)
	}
}

func (f *Face) cleanly(halt func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live.erase(f.w)
	halt()
}

// Close takes the live line away for good.
func (f *Face) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
	f.await("")
	f.live.enabled = false
	f.release()
}

// fit cuts a line to the terminal's width, fitLess what follows a prefix.
func (f *Face) fit(s string) string { return f.fitLess("", s) }

func (f *Face) fitLess(prefix, s string) string {
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
