package face

import (
	"bytes"
	"io"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"toolpipe/run/event"
	"toolpipe/run/failure"
	"toolpipe/run/stdio"
	"toolpipe/stream/text/escape"
	"toolpipe/testdata/screentest"
)

// person is a face that writes to an emulated terminal. Standard output goes to
// the same terminal if tty, else to stdout.
type person struct {
	*Face
	background, tostop atomic.Bool
	screen             *screentest.Screen
	out                *event.Emitter
	stdout             bytes.Buffer
}

// environ looks names up in an environment.
func environ(env []string) func(string) string {
	return func(name string) string {
		for _, e := range env {
			if value, ok := strings.CutPrefix(e, name+"="); ok {
				return value
			}
		}
		return ""
	}
}

func newPerson(t *testing.T, o Options, tty bool) *person {
	p := &person{screen: screentest.New(t, 60)}
	if o.Getenv == nil {
		o.Getenv = environ([]string{"TERM=xterm"})
	}
	o.Frames, o.AnswerAtEnd = true, true
	s := stdio.Streams{Out: &p.stdout, Err: p.screen, ErrTerminal: true, OutTerminal: tty, Width: func() int { return p.screen.Width },
		Background: func() (bool, bool) { return p.background.Load(), p.background.Load() && p.tostop.Load() }}
	if tty {
		s.Out = p.screen
	}
	p.Face = New(o, s)
	w := p.Face.Stdout()
	p.out = &event.Emitter{Outs: []event.Output{&event.TextOutput{Writer: w, Terminal: tty, Stream: tty}, p.Face}}
	t.Cleanup(p.Face.Close)
	return p
}

func (p *person) see(events ...event.Event) {
	for _, e := range events {
		p.out.Emit(e)
	}
}

// later draws the screen as it is after that time without an event.
func (p *person) later(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.redraw(time.Now().Add(d))
}

var asked = &event.Start{API: "chat", Model: "m"}

func TestFaceOneCall(t *testing.T) {
	p := newPerson(t, Options{}, false)
	p.see(asked)
	p.screen.Want("")
	p.later(3 * time.Second)
	p.screen.Want("waiting for the model · 3 s")
	p.see(&event.Text{Turn: 1, Text: []byte("Let me\nsee. ")})
	p.later(4 * time.Second)
	p.screen.Want("the model is answering · 4 s · ~3 tokens")
	p.see(&event.Turn{Turn: 1}, callEvent(1, "fs__read", `{"path":"a.txt"}`))
	p.screen.Want("Let me", "see.")
	p.later(time.Second)
	p.screen.Want("Let me", "see.", "┌ fs__read a.txt", "└ running · 1 s")
	p.see(&event.Progress{ID: "c1", Progress: []byte("2"), Total: []byte("5"), Message: "copying"})
	p.later(2 * time.Second)
	p.screen.Want("Let me", "see.", "┌ fs__read a.txt", "└ running · 2 s · 2/5 copying")
	p.see(okResult(1, "one\ntwo\tthree\n"))
	frame := []string{"Let me", "see.", "┌ fs__read a.txt", "│ one", "│ two    three", "└ ok · 0 ms · 14 bytes"}
	p.screen.Want(frame...)
	p.later(time.Second)
	p.screen.Want(append(frame, "waiting for the model · 1 s")...)
	p.see(&event.Text{Turn: 2, Text: []byte("Done.")}, &event.Turn{Turn: 2}, &event.End{Status: failure.StatusOK, Text: event.Pieces{"Done."}})
	p.screen.Want(frame...)
	if p.stdout.String() != "Done.\n" {
		t.Errorf("stdout is %q", &p.stdout)
	}
}

// TestFaceSharedScreen: text on stdout and frames on stderr each begin on a line of
// their own.
func TestFaceSharedScreen(t *testing.T) {
	p := newPerson(t, Options{}, true)
	p.see(asked)
	p.later(time.Second)
	p.see(&event.Text{Turn: 1, Text: []byte("Let me see.")})
	p.out.Flush()
	p.screen.Want("Let me see.")
	p.later(time.Minute)
	p.screen.Want("Let me see.") // nothing is drawn behind it
	p.Say("a word")
	p.screen.Want("Let me see.", "toolpipe: a word")
	p.see(&event.Text{Turn: 1, Text: []byte("More")}, &event.Turn{Turn: 1}, callEvent(1, "fs__read", `{}`))
	p.later(time.Minute)
	p.see(okResult(1, "x"), &event.Text{Turn: 2, Text: []byte("Done")}, &event.Turn{Turn: 2}, &event.End{})
	p.screen.Want("Let me see.", "toolpipe: a word", "More", "┌ fs__read", "│ x", "└ ok · 0 ms · 1 byte", "Done")
}

// TestFaceSeveralCalls: every frame is in one piece, in the order of the calls.
func TestFaceSeveralCalls(t *testing.T) {
	p := newPerson(t, Options{}, false)
	p.see(asked, callEvent(1, "a", `{}`), callEvent(2, "b", `{"n":1}`), callEvent(3, "c", `{}`))
	p.later(time.Second)
	p.screen.Want("┌ a", "└ running and 2 more · 1 s")
	p.see(okResult(1, "one"))
	p.later(2 * time.Second)
	first := []string{"┌ a", "│ one", "└ ok · 0 ms · 3 bytes", `┌ b {"n":1}`}
	p.screen.Want(append(first, "└ running and 1 more · 2 s")...)
	denied := ownResult(2, event.ResultDenied, "tool call denied: not here")
	p.see(denied, okResult(3, ""))
	p.screen.Want(append(first, "└ denied: not here", "┌ c", "└ ok · 0 ms · 0 bytes")...)
}

// TestFaceCommand: a frame begins with the command and its first arguments, and ends with the exit code
// and the first line of the errors.
func TestFaceCommand(t *testing.T) {
	p := newPerson(t, Options{}, false)
	ended := func(n int, structured string) *event.Result {
		r := okResult(n, "x")
		r.Structured = []byte(structured)
		return r
	}
	p.see(asked, callEvent(1, "sh", `{"cwd":"sub","argv":["go","test"]}`), callEvent(2, "sh", `{"script":"make\nls","n":1}`), callEvent(3, "sh", `{"n":"\u001b[31m"}`))
	p.see(ended(1, `{"stderr":"a warning","exit_code":0}`), ended(2, `{"stderr":"no \u001brule\nstop","exit_code":2}`), ended(3, `{"exit_code":1}`))
	p.screen.Want(`┌ sh go test {"cwd":"sub"}`, "│ x", "└ exit 0 · 0 ms · 1 byte", `┌ sh make… {"n":1}`, "│ x", `└ exit 2: no \u{1b}rule… · 0 ms · 1 byte`,
		`┌ sh {"n":"\u001b[31m"}`, "│ x", "└ exit 1 · 0 ms · 1 byte")
}

// TestFaceDenied: the frame names the rule, though the model's result does not.
func TestFaceDenied(t *testing.T) {
	p := newPerson(t, Options{}, false)
	denied := ownResult(1, event.ResultDenied, "tool call denied: by a rule")
	p.see(asked, callEvent(1, "a", `{}`), &event.Approval{ID: "c1", Decision: "deny", By: "flag", Rule: "--deny a"}, denied)
	p.screen.Want("┌ a", "└ denied: by --deny a")
}

// TestFaceQuestion: no live line is drawn while a question stands.
func TestFaceQuestion(t *testing.T) {
	p := newPerson(t, Options{}, false)
	p.see(asked)
	p.later(time.Second)
	p.see(callEvent(1, "a", `{}`))
	p.Pause()
	p.screen.Write([]byte("Allow a? "))
	p.later(time.Minute)
	p.screen.Want("Allow a?")
	p.screen.Write([]byte("y\n"))
	p.Resume()
	p.later(2 * time.Second)
	p.screen.Want("Allow a? y", "┌ a", "└ running · 2 s")
}

// TestFaceHeldByQuestion: messages that come while a question stands are printed
// below it when it is over, and only a bounded part of them is kept.
func TestFaceHeldByQuestion(t *testing.T) {
	p := newPerson(t, Options{Verbose: 1}, false)
	p.see(asked, callEvent(1, "a", `{}`))
	p.Pause()
	p.screen.Write([]byte("Allow a? "))
	p.see(&event.Warning{Code: "x", Message: "the server says yes", Server: "s"})
	p.VerboseLine("s: type y")
	p.later(time.Minute)
	p.screen.Want("Allow a?")
	p.screen.Write([]byte("n\n"))
	p.Resume()
	p.screen.Want("Allow a? n", "toolpipe: warning: the server says yes", "toolpipe: s: type y")
	p.Pause()
	for range 10_000 {
		p.VerboseLine(strings.Repeat("x", 100))
	}
	if len(p.held) > maxHeld {
		t.Errorf("%d bytes are kept", len(p.held))
	}
	p.Close()
	if !strings.Contains(p.screen.Text(), "were dropped") {
		t.Error("it is not said that something was left out")
	}
}

// TestFaceInTheBackground: a job in the background does not touch the line of the
// cursor, where the user types, and prints its messages as whole lines.
func TestFaceInTheBackground(t *testing.T) {
	p := newPerson(t, Options{}, false)
	p.see(asked, callEvent(1, "a", `{}`))
	p.later(2 * time.Second)
	p.screen.Want("┌ a", "└ running · 2 s")
	p.background.Store(true)
	p.screen.Write([]byte("\n$ ls"))
	p.later(3 * time.Second)
	p.Awaiting("something else")
	p.later(3 * time.Second)
	p.screen.Want("┌ a", "└ running · 2 s", "$ ls")
	p.Interrupted()
	p.screen.Want("┌ a", "└ running · 2 s", "$ ls")
	p.screen.Write([]byte("\n"))
	p.Say("a word")
	p.screen.Want("┌ a", "└ running · 2 s", "$ ls", "toolpipe: a word")
	p.tostop.Store(true)
	p.Say("more")
	p.see(&event.Warning{Code: "x", Message: "careful", Server: ""}, okResult(1, "x"))
	p.screen.Want("┌ a", "└ running · 2 s", "$ ls", "toolpipe: a word")
	p.background.Store(false)
	p.Say("here again")
	p.screen.Want("┌ a", "└ running · 2 s", "$ ls", "toolpipe: a word", "toolpipe: here again")
}

func TestFaceHostile(t *testing.T) {
	hostile := "a\x1b[31mb\x1b]0;t\x07c\x9b2Jd\u202ee\rf\u0085g\x00" + strings.Repeat("漢🙂", 100)
	for _, tty := range []bool{false, true} {
		p := newPerson(t, Options{Verbose: 1}, tty)
		p.see(asked, &event.Reasoning{Turn: 1, Text: []byte(hostile)}, &event.Text{Turn: 1, Text: []byte(hostile)}, &event.Turn{Turn: 1, Finish: hostile},
			callEvent(1, "n"+hostile, `{"a":"\u001b[2J`+"\u202e"+`"}`), &event.Call{ID: "c2", Name: hostile, Raw: []byte(hostile)},
			&event.Approval{ID: "c1", Decision: "allow", By: hostile, Rule: hostile, Reason: hostile}, &event.Progress{ID: "c1", Progress: []byte("1"), Message: hostile})
		p.later(time.Minute)
		failed := ownResult(2, event.ResultFailed, "tool dispatch failed: "+hostile)
		p.see(okResult(1, hostile+"\n"+hostile), failed, &event.Warning{Code: "x", Message: hostile, Server: "s"}, &event.Retry{Message: hostile})
		p.Say(hostile)
		if p.Wire("x") != nil {
			t.Error("the wire is shown below -vv")
		}
		p.see(&event.End{})
		if strings.Contains(p.screen.Text(), "running") || strings.Contains(p.screen.Text(), "waiting") {
			t.Errorf("a live line is left:\n%s", p.screen.Text())
		}
	}
}

// TestFaceWire: a line of JSON on the wire is the same JSON on stderr, and no line
// holds a character that steers the terminal.
func TestFaceWire(t *testing.T) {
	var stderr bytes.Buffer
	show := New(Options{Verbose: 2, Getenv: environ(nil)}, stdio.Streams{Err: &stderr}).Wire("model")
	for in, want := range map[string]string{
		`{"a":"q\"\\n\u001b"}`:                                `{"a":"q\"\\n\u001b"}`,
		"{\"a\":\t\"\x7f\u0085\u202e\u2028\U000e0041\xff漢\"}": `{"a":"\u007f\u0085\u202e\u2028\udb40\udc41\ufffd漢"}`,
		"data: {\"a\":\"\\n\u2029\"}":                         `data: {"a":"\n\u2029"}`,
		"x-y: \x1b[2J\x9b\t":                                  `x-y: \u001b[2J\ufffd\t`,
	} {
		stderr.Reset()
		show('<', []byte(in))
		if got := stderr.String(); got != "model < "+want+"\n" {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}

// TestFaceLongLines: no line of frames and live line wraps, whatever is in it.
func TestFaceLongLines(t *testing.T) {
	for _, width := range []int{1, 2, 7, 20, 60, 200} {
		for _, long := range []string{strings.Repeat("x", 500), strings.Repeat("漢字", 300), "x" + strings.Repeat("🙂e\u0301", 300), strings.Repeat("\t", 100) + "x"} {
			p := newPerson(t, Options{}, false)
			p.screen.Width = width
			p.see(asked, callEvent(1, long, `{"a":"`+strings.ReplaceAll(long, "\t", " ")+`"}`), &event.Progress{ID: "c1", Progress: []byte("1"), Message: long})
			p.later(time.Minute)
			p.see(okResult(1, strings.Repeat(long+"\n", 3)))
			for _, line := range p.screen.Lines() {
				if n := escape.Columns(line); n > max(width, 2) {
					t.Errorf("at width %d a line has %d columns:\n%s", width, n, p.screen.Text())
				}
			}
		}
	}
}

// TestFaceResize: a live line that a narrower window has wrapped is erased whole.
func TestFaceResize(t *testing.T) {
	p := newPerson(t, Options{}, false)
	p.see(asked, callEvent(1, "a", `{}`), &event.Progress{ID: "c1", Progress: []byte("1"), Message: strings.Repeat("long ", 20)})
	p.later(time.Second)
	p.screen.Width = 13
	p.later(2 * time.Second)
	p.screen.Want("┌ a", "└ running ·…")
	p.screen.Width = 40
	p.see(okResult(1, "x"))
	p.screen.Want("┌ a", "│ x", "└ ok · 0 ms · 1 byte")
}

func TestFaceEndings(t *testing.T) {
	for name, end := range map[string]func(p *person){
		"end": func(p *person) { p.see(&event.End{}) }, "close": func(p *person) { p.Close() },
		"interrupted": func(p *person) { p.screen.Write([]byte("^C")); p.Interrupted() },
		"stopped": func(p *person) {
			stops := make(chan func())
			go func() {
				stops <- func() { p.screen.Write([]byte("stopped\r")) }
				close(stops)
			}()
			p.Suspend(stops)
			p.screen.Want("stopped")
			p.screen.Write([]byte(eraseLine))
		},
	} {
		p := newPerson(t, Options{}, false)
		p.see(asked)
		p.later(time.Minute)
		p.screen.Want("waiting for the model · 1 min 00 s")
		end(p)
		if p.screen.Text() != "" {
			t.Errorf("%s leaves %q", name, p.screen.Text())
		}
	}
	p := newPerson(t, Options{Getenv: environ([]string{"TERM=dumb"})}, false)
	p.screen.Write([]byte("^C"))
	p.Interrupted()
	p.Say("x")
	p.screen.Want("^C", "toolpipe: x")
	p = newPerson(t, Options{}, false)
	p.Pause()
	p.screen.Write([]byte("Allow? ^C"))
	p.Interrupted()
	p.screen.Want("Allow? ^C")
}

func TestFaceServers(t *testing.T) {
	p := newPerson(t, Options{}, false)
	p.Connecting([]string{"a", "b", "c", "d", "e", "f"})
	p.ServerReady("a")
	p.AwaitServers()
	p.later(2 * time.Second)
	p.screen.Want("waiting for b, c, d, e and 1 more · 2 s")
	for _, name := range []string{"c", "b", "d", "f"} {
		p.ServerReady(name)
	}
	p.later(3 * time.Second)
	p.screen.Want("waiting for e · 3 s")
	p.ServerReady("e")
	p.Awaiting("")
	p.screen.Want("")
}

// TestFaceSilence: what is written to stderr when it is no terminal, or a terminal
// without control sequences or colours.
func TestFaceSilence(t *testing.T) {
	events := []event.Event{asked, &event.Text{Turn: 1, Text: []byte("aside\n")}, &event.Turn{Turn: 1}, callEvent(1, "a", `{}`), okResult(1, "x"),
		&event.Warning{Code: "w", Message: "careful", Server: ""}, &event.End{}}
	frame := "aside\n┌ a\n│ x\n└ ok · 0 ms · 1 byte\n"
	for _, c := range []struct {
		name     string
		cfg      Options
		terminal bool
		want     string
	}{
		{"pipe", Options{}, false, "toolpipe: warning: careful\n"},
		{"quiet pipe", Options{Quiet: true}, false, ""},
		{"quiet", Options{Quiet: true, Getenv: environ([]string{"TERM=xterm"})}, true, ""},
		{"dumb", Options{Getenv: environ([]string{"TERM=dumb"})}, true, frame + "toolpipe: warning: careful\n"},
		{"no color", Options{Getenv: environ([]string{"TERM=xterm", "NO_COLOR=1"})}, true, frame + "toolpipe: warning: careful\n"},
		{"never", Options{Color: "never", Getenv: environ([]string{"TERM=xterm"})}, true, frame + "toolpipe: warning: careful\n"},
		{"always", Options{Color: "always"}, false, "toolpipe: \x1b[33mwarning:\x1b[0m careful\n"},
	} {
		var stderr bytes.Buffer
		c.cfg.Frames, c.cfg.AnswerAtEnd = true, true
		if c.cfg.Getenv == nil {
			c.cfg.Getenv = environ(nil)
		}
		f := New(c.cfg, stdio.Streams{Out: io.Discard, Err: &stderr, ErrTerminal: c.terminal})
		for _, e := range events {
			f.Event(e)
		}
		if got := stderr.String(); got != c.want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

func TestPrintErrorColor(t *testing.T) {
	for _, c := range []struct {
		cfg     Options
		colored bool
	}{
		{Options{Getenv: environ([]string{"TERM=xterm"})}, true}, {Options{Getenv: environ([]string{"TERM=xterm", "NO_COLOR=1"})}, false},
		{Options{Getenv: environ([]string{"TERM=dumb"})}, false}, {Options{Color: "never", Getenv: environ([]string{"TERM=xterm"})}, false},
		{Options{Color: "always", Getenv: environ([]string{"NO_COLOR=1"})}, true},
	} {
		var b strings.Builder
		PrintError(t.Context(), &b, Colored(c.cfg.Color, true, c.cfg.Getenv), &failure.Interrupted{Signal: syscall.SIGINT})
		if want := "toolpipe: error: interrupted\n"; strings.Contains(b.String(), "\x1b") != c.colored || !c.colored && b.String() != want {
			t.Errorf("%+v: %q", c.cfg, &b)
		}
	}
}
