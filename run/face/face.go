// Package face is what a person sees on standard error beside the answer: the
// messages of a run and, on a terminal, a live line that tells what is awaited
// and a frame around each tool call.
//
// It is made of the events of package event, and of what package run tells it of
// waits. Nothing from a model or a server reaches the terminal unescaped, no line
// of the live line or of a frame wraps, and no question is written over.
package face

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"toolpipe/run/event"
	"toolpipe/run/stdio"
	"toolpipe/stream/text/escape"
	"toolpipe/stream/text/secrets"
)

// Options are what the flags and the environment say about the face.
type Options struct {
	Quiet            bool
	Verbose          int
	Color            string // always, never, or by the terminal
	Getenv           func(name string) string
	Frames           bool // frames are shown without Verbose too
	AnswerAtEnd      bool // stdout gets the text of the last turn and nothing else
	DeniesUnapproved bool // an unapproved call is denied and the run goes on, so that no error tells of it
	Secrets          *secrets.Set
}

// Face is an event.Output to standard error. Its methods may be called
// concurrently.
//
// Standard output may be on the same screen, or go to a program that writes
// there. So what passes through Stdout takes the live line away first, and
// nothing is drawn while a line of it is unfinished.
type Face struct {
	Color bool // colours are used

	options       Options
	streams       stdio.Streams
	showsFrames   bool
	showsAsides   bool // text before calls is shown here, dimmed
	ignoresDeltas bool // pieces of text change nothing that is shown
	ascii         bool // the terminal's locale has no signs for frames
	sharedScreen  bool // stdout is a terminal too
	flushStdout   func() error
	waits         waits

	mu             sync.Mutex
	w              io.Writer
	aside          []byte       // text of this turn for showsAsides
	frames         []*toolFrame // calls without result, in order
	asksModel      bool         // a model is asked in this run
	live           liveLine
	held           []byte    // the lines that came while a question stood
	dropped        int       // messages that did not fit into held
	lineOpen       bool      // the last line on stderr is unfinished
	stdoutLineOpen bool      // the last line on stdout is unfinished
	stdoutBusy     bool      // stdout is being written
	stdoutTime     time.Time // when stdout was written last
	ended          bool      // the live line was taken away for good
}

func New(o Options, s stdio.Streams) *Face {
	f := &Face{
		options: o, streams: s, w: s.Err,
		Color: Colored(o.Color, s.ErrTerminal, o.Getenv), sharedScreen: s.ErrTerminal && s.OutTerminal, flushStdout: func() error { return nil },
		ascii: s.ErrTerminal && !UTF8(o.Getenv),
	}
	if s.ErrTerminal && s.Background != nil {
		f.live.background = s.Background
		f.w = &foregroundWriter{s.Err, s.Background}
	}
	if s.ErrTerminal && !o.Quiet {
		f.showsFrames = o.Frames || o.Verbose > 0
		f.showsAsides = o.AnswerAtEnd && !s.OutTerminal
		f.live.enabled = !dumbTerminal(o.Getenv)
	}
	f.ignoresDeltas = !f.live.enabled && !f.showsAsides && o.Verbose == 0
	return f
}

// YieldTo makes the live line wait while another program asks on the terminal.
func (f *Face) YieldTo(busy func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live.busy = busy
}

// Colored reports whether stderr gets colours; when is the value of --color.
func Colored(when string, terminal bool, getenv func(string) string) bool {
	return when == "always" || when != "never" && terminal && getenv("NO_COLOR") == "" && !dumbTerminal(getenv)
}

// dumbTerminal reports whether the terminal understands no control sequences.
func dumbTerminal(getenv func(string) string) bool {
	return getenv("TERM") == "dumb" || getenv("TERM") == ""
}

// maxAside limits the text before a call that is shown.
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

// maxHeld limits what is kept while a question stands.
const maxHeld = 64 << 10

// print writes whole lines in place of the live line. While a question stands
// they wait: a warning or a log line holds words of a server, and behind the
// question they could pass for a part of it. The caller holds mu.
func (f *Face) print(s string) {
	if f.live.paused {
		if len(f.held)+len(s) > maxHeld {
			f.dropped++
		} else {
			f.held = append(f.held, s...)
		}
		return
	}
	s = f.signs(s)
	f.live.erase(f.w)
	if f.lineOpen || f.stdoutLineOpen && f.sharedScreen {
		s = "\n" + s
		f.lineOpen, f.stdoutLineOpen = false, false
	}
	io.WriteString(f.w, s)
}

// Say prints a line for which there is no event, unless with -q.
func (f *Face) Say(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.say(escape.Escape(f.options.Secrets.Message().HideString(s)))
}

// say prints an escaped line, unless with -q. The caller holds mu.
func (f *Face) say(s string) {
	if !f.options.Quiet {
		f.print("toolpipe: " + s + "\n")
	}
}

// Tell prints a line also with -q, and as it is: the address of a sign-in has to
// be whole.
func (f *Face) Tell(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.print("toolpipe: " + escape.Escape(s) + "\n")
}

// Lines prints a text that somebody may copy, without a sign of ours before its lines. It is
// JSON, which stays JSON.
func (f *Face) Lines(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.options.Quiet {
		f.print(string(event.AppendLines(nil, []byte(text))) + "\n")
	}
}

// Notef is Say with a format.
func (f *Face) Notef(format string, args ...any) { f.Say(fmt.Sprintf(format, args...)) }

// VerboseLine prints a line for which there is no event, with -v.
func (f *Face) VerboseLine(s string) {
	if f.options.Verbose == 0 { // without waiting for the lock
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.verbosely(escape.Escape(f.options.Secrets.Message().HideString(s)))
}

// verbosely prints an escaped line with -v. The caller holds mu.
func (f *Face) verbosely(s string) {
	if f.options.Verbose > 0 {
		f.print(f.paint(dim, "toolpipe: "+s) + "\n")
	}
}

// Wire shows each line that is exchanged with the model or a server, with -vv;
// below that it is nil. A line of JSON stays JSON, so that it can be cut out and
// parsed.
func (f *Face) Wire(who string) func(byte, []byte) {
	if f.options.Verbose < 2 {
		return nil
	}
	return func(direction byte, line []byte) {
		if len(bytes.TrimSpace(line)) == 0 {
			return // the empty line between two events of a stream
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.print(f.paint(dim, who+" "+string(direction)+" "+string(event.AppendJSON(nil, line))) + "\n")
	}
}

// Event shows an event, after what stdout has of it. It never fails: a run does
// not end because a message cannot be shown.
func (f *Face) Event(e event.Event) error {
	e, parent := event.Unconnected(e), event.ID("") // the call whose nested run the event is of
	if n, ok := e.(*event.Nested); ok {
		switch e, parent = n.Event, n.Parent; e.(type) {
		case *event.Call, *event.Approval, *event.Result, *event.Retry, *event.Warning, *event.Attention:
		default: // of a nested run, what becomes of its calls is shown, and what the user should know
			return nil
		}
	}
	switch e.(type) {
	case *event.Text, *event.Reasoning:
		if f.ignoresDeltas {
			return nil // the hot path of a pipe
		}
	default:
		f.flushStdout() // its error comes again with the next write
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch e := e.(type) {
	case *event.Text:
		f.live.received("the model is answering", len(e.Text))
		if f.showsAsides {
			f.aside = append(f.aside, e.Text[:min(len(e.Text), maxAside-len(f.aside))]...)
		}
	case *event.Commentary:
		f.said(e.Text)
	case *event.Reasoning:
		f.reasoned(e)
	case *event.Start:
		f.started(e)
	case *event.Turn:
		f.turned(e)
	case *event.Call:
		f.called(parent, e)
	case *event.Approval:
		f.approved(parent, e)
	case *event.Progress:
		if len(f.frames) > 0 && f.frames[0].callID == (callID{"", e.ID}) {
			f.live.detail = escape.Escape(progressText(e))
		}
	case *event.Result:
		f.answered(parent, e)
	case *event.Retry:
		f.retried(e)
	case *event.Trim:
		f.verbosely(fmt.Sprintf("requests leave out more: results: %d, attachments: %d, bytes: %d", e.Results, e.Attachments, e.Bytes))
	case *event.Warning:
		if !e.Repeated && (e.Grave || !f.options.Quiet) {
			f.print("toolpipe: " + f.paint(yellow, "warning:") + " " + escapeLines(e.Message) + "\n")
		}
	case *event.Attention:
		f.attended(e)
	case *event.End:
		f.await("")
	}
	return nil
}

func (f *Face) attended(e *event.Attention) {
	bell := ""
	if f.streams.ErrTerminal {
		bell = "\a"
	}
	f.say(f.paint(yellow, "attention:") + " " + escape.Escape(e.Reason) + bell)
}

func (f *Face) retried(e *event.Retry) {
	of, void := "", ""
	if e.Of > 0 {
		of = fmt.Sprintf(" of %d", e.Of)
	}
	if e.Discards {
		f.aside = f.aside[:0]
		void = "; what it said so far does not count"
	}
	f.say(fmt.Sprintf("retry %d%s in %s: %s%s", e.Attempt, of, duration(e.After), escape.Escape(e.Message), void))
}

func (f *Face) Flush() error { return nil }

func (f *Face) started(e *event.Start) {
	for _, s := range e.Servers {
		state := "protocol " + escape.Escape(s.Protocol)
		if s.Protocol == "" {
			state = "not started yet"
		}
		f.verbosely(fmt.Sprintf("server %s: %s, tools: %d", s.Name, state, s.Tools))
	}
	if e.ConfigRules > 0 {
		f.verbosely(fmt.Sprintf("auto_approve rules of the config that count: %d", e.ConfigRules))
	}
	f.asksModel = e.API != ""
	f.awaitModel()
}

// said shows what the model says beside the answer.
func (f *Face) said(text []byte) {
	if text = bytes.TrimSpace(text); len(text) == 0 || !f.showsFrames {
		return
	}
	for line := range strings.Lines(string(event.AppendLines(nil, text))) {
		f.print(f.paint(dim, strings.TrimSuffix(line, "\n")) + "\n")
	}
}

func (f *Face) reasoned(e *event.Reasoning) {
	f.live.received("the model is thinking", len(e.Text))
	if f.options.Verbose == 0 || len(e.Text) == 0 {
		return
	}
	f.live.erase(f.w)
	if f.stdoutLineOpen && f.sharedScreen {
		io.WriteString(f.w, "\n")
		f.stdoutLineOpen = false
	}
	io.WriteString(f.w, f.paint(dim, string(event.AppendLines(nil, e.Text))))
	f.lineOpen = e.Text[len(e.Text)-1] != '\n'
}

func (f *Face) turned(e *event.Turn) {
	f.await("")
	if f.lineOpen {
		f.print("")
	}
	if f.options.Verbose > 0 {
		f.verbosely(fmt.Sprintf("turn %d: %s, %d tokens in, %d out, %s", e.Turn, cmp.Or(escape.Escape(e.Finish), "ended"),
			e.Usage.Input, e.Usage.Output, duration(e.Time)))
	}
}

// Interrupted takes the live line away for good, and with it the ^C that the
// terminal has echoed, unless that stands behind a question or an unfinished
// line. Only the first call does anything.
func (f *Face) Interrupted() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		return
	}
	f.ended = true
	f.await("")
	switch {
	case f.live.paused || f.live.yields():
	case f.live.enabled && !f.stdoutLineOpen && !f.lineOpen:
		io.WriteString(f.w, eraseLine)
	case f.showsFrames && !(f.stdoutLineOpen && f.sharedScreen): // the reader of stdout may have shown the line
		io.WriteString(f.w, "\n")
		f.lineOpen = false
	}
	f.live.enabled = false
}

// Suspend calls each function that stop brings, which stops the process and
// returns when it goes on, while the live line is off the screen.
func (f *Face) Suspend(stop <-chan func()) {
	for halt := range stop {
		f.mu.Lock()
		f.live.erase(f.w)
		halt()
		f.mu.Unlock()
	}
}

// Close takes the live line away for good.
func (f *Face) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.await("")
	f.live.enabled = false
	f.release()
}
