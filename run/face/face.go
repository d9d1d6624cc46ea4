// Package face writes what a person sees on standard error besides the answer: the messages of a
// run and, on a terminal, a live line that names what the run waits for, and a frame around each
// tool call.
//
// Its input is the events of package event, and calls from package run about waits. All text from a
// model or a server is escaped, no line of the live line or of a frame wraps, and nothing is
// written over a question.
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

type Options struct {
	Quiet            bool
	Verbose          int
	Color            string // always, never, or as the terminal supports
	Getenv           func(name string) string
	Frames           bool // show frames even without Verbose
	AnswerAtEnd      bool // stdout gets only the text of the last turn
	DeniesUnapproved bool // an unapproved call is denied and the run goes on, so no error reports it
	Secrets          *secrets.Set
}

// Face is an event.Output to standard error. Its methods may be called concurrently.
//
// Standard output may appear on the same screen, directly or through another program. So Stdout
// removes the live line before it writes, and nothing is drawn while a line of it is unfinished.
type Face struct {
	Color bool // use colours

	options       Options
	streams       stdio.Streams
	showsFrames   bool
	showsAsides   bool // show text before calls here, dimmed
	ignoresDeltas bool // pieces of text change nothing on the screen
	sharedScreen  bool // stdout is a terminal too
	flushStdout   func() error
	waits         waits

	mu             sync.Mutex
	w              io.Writer
	aside          []byte       // text of this turn for showsAsides
	frames         []*toolFrame // calls without result, in order
	asksModel      bool         // this run asks a model
	live           liveLine
	held           []byte    // lines that wait for a question to end
	dropped        int       // messages that did not fit into held
	lineOpen       bool      // the last line on stderr is unfinished
	stdoutLineOpen bool      // the last line on stdout is unfinished
	stdoutBusy     bool      // stdout is being written
	stdoutTime     time.Time // when stdout was written last
	ended          bool      // the live line is gone for good
}

func New(o Options, s stdio.Streams) *Face {
	f := &Face{
		options: o, streams: s, w: s.Err,
		Color: Colored(o.Color, s.ErrTerminal, o.Getenv), sharedScreen: s.ErrTerminal && s.OutTerminal, flushStdout: func() error { return nil },
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

// YieldTo hides the live line while busy reports that another program asks on the terminal.
func (f *Face) YieldTo(busy func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live.busy = busy
}

func Colored(when string, terminal bool, getenv func(string) string) bool {
	return when == "always" || when != "never" && terminal && getenv("NO_COLOR") == "" && !dumbTerminal(getenv)
}

func dumbTerminal(getenv func(string) string) bool {
	return getenv("TERM") == "dumb" || getenv("TERM") == ""
}

// maxAside limits the text shown before a call, in bytes.
const maxAside = 64 << 10

const (
	bold   = "\x1b[1m"
	dim    = "\x1b[2m"
	yellow = "\x1b[33m"
	reset  = "\x1b[0m"
)

// paint adds a style to s, which is a single line.
func (f *Face) paint(style, s string) string {
	if !f.Color || s == "" {
		return s
	}
	return style + s + reset
}

// maxHeld limits the text that waits for a question to end, in bytes.
const maxHeld = 64 << 10

// print writes whole lines in place of the live line. During a question they wait: a warning or a
// log line contains words of a server, and after the question they could look like a part of it.
// The caller holds mu.
func (f *Face) print(s string) {
	if f.live.paused {
		if len(f.held)+len(s) > maxHeld {
			f.dropped++
		} else {
			f.held = append(f.held, s...)
		}
		return
	}
	f.live.erase(f.w)
	if f.lineOpen || f.stdoutLineOpen && f.sharedScreen {
		s = "\n" + s
		f.lineOpen, f.stdoutLineOpen = false, false
	}
	io.WriteString(f.w, s)
}

// Say prints a line that is not an event, except with -q.
func (f *Face) Say(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.say(escape.Escape(f.options.Secrets.Message().HideString(s)))
}

// say prints an escaped line, except with -q. The caller holds mu.
func (f *Face) say(s string) {
	if !f.options.Quiet {
		f.print("toolpipe: " + s + "\n")
	}
}

// Tell prints a line even with -q, and does not hide secrets: the URL of a sign-in must be
// complete.
func (f *Face) Tell(s string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.print("toolpipe: " + escape.Escape(s) + "\n")
}

// Lines prints a text for copying, without a prefix on its lines. JSON stays valid JSON.
func (f *Face) Lines(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.options.Quiet {
		f.print(string(event.AppendLines(nil, []byte(text))) + "\n")
	}
}

func (f *Face) Notef(format string, args ...any) { f.Say(fmt.Sprintf(format, args...)) }

// VerboseLine prints a line that is not an event, with -v.
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

// Wire returns a function that shows each line exchanged with the model or a server, with -vv;
// otherwise nil. A line of JSON stays valid JSON, so that it can be copied and parsed.
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

// Event shows an event, after stdout has written its part. It never fails: a run does not end
// because a message cannot be shown.
func (f *Face) Event(e event.Event) error {
	e, parent := event.Unconnected(e), event.ID("") // parent is the call that started the nested run of e
	if n, ok := e.(*event.Nested); ok {
		switch e, parent = n.Event, n.Parent; e.(type) {
		case *event.Call, *event.Approval, *event.Result, *event.Retry, *event.Warning, *event.Attention:
		default: // only calls and important messages of a nested run are shown
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
		void = "; its text so far does not count"
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
		line := fmt.Sprintf("turn %d: %s, %d tokens in, %d out, %s", e.Turn, cmp.Or(escape.Escape(e.Finish), "ended"),
			e.Usage.Input, e.Usage.Output, duration(e.Time))
		if e.Cost.Cost != nil {
			line += ", cost " + string(e.Cost.Cost) + " " + escape.Escape(e.Currency)
		}
		f.verbosely(line)
	}
}

// Interrupted removes the live line for good, and the ^C that the terminal has echoed on it. A ^C
// after a question or an unfinished line stays. Only the first call has an effect.
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
	case f.showsFrames && !(f.stdoutLineOpen && f.sharedScreen): // another program may have shown the line of stdout
		io.WriteString(f.w, "\n")
		f.lineOpen = false
	}
	f.live.enabled = false
}

// Suspend calls each function that it receives from stop, with the live line off the screen. The
// function stops the process and returns when the process continues.
func (f *Face) Suspend(stop <-chan func()) {
	for halt := range stop {
		f.mu.Lock()
		f.live.erase(f.w)
		halt()
		f.mu.Unlock()
	}
}

func (f *Face) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
	f.await("")
	f.live.enabled = false
	f.release()
}
