package face

import (
	"fmt"
	"io"
	"slices"
	"time"

	"toolpipe/run/config"
	"toolpipe/stream/goroutine"
)

// liveLine is the last line of a terminal while the run waits. It names the wait, its duration, and
// the amount of text so far. It appears only after a moment, so that quick answers do not flicker.
// The cursor stays in the first column. There an echoed ^C and messages of a shell do no harm, and
// if a narrower window wraps the line, all of it is still below the cursor. The line is drawn only
// in the foreground. The lock of the Face guards it.
type liveLine struct {
	wait
	enabled    bool
	paused     bool                            // a question is open
	drawn      string                          // on the screen now
	ticking    bool                            // a goroutine is running tick
	background func() (background, stops bool) // nil: never
	busy       func() bool                     // another program asks on the terminal; nil: none
}

type wait struct {
	what    string    // name of the wait; "": none
	since   time.Time // when the wait began
	detail  string    // the server's progress, escaped
	deltas  int       // pieces of a reply so far
	bytes   int       // their size
	servers bool      // the run waits for servers
}

const (
	liveAfter = 400 * time.Millisecond
	liveEvery = 200 * time.Millisecond
)

// eraseLine erases from the start of the cursor's line to the end of the screen.
const eraseLine = "\r\x1b[J"

// erase removes the line from the screen, if the cursor is still on it.
func (l *liveLine) erase(w io.Writer) {
	if l.drawn != "" && !l.yields() {
		io.WriteString(w, eraseLine)
	}
	l.drawn = ""
}

// yields reports whether the cursor's line belongs to another program: to the shell if this program
// is in the background, or to a program that asks on the terminal.
func (l *liveLine) yields() bool {
	if l.background != nil {
		if background, _ := l.background(); background {
			return true
		}
	}
	return l.busy != nil && l.busy()
}

// received counts a piece of a reply of n bytes, and names the model's activity.
func (l *liveLine) received(what string, n int) {
	l.what = what
	l.deltas++
	l.bytes += n
}

// text is the line at time now, for example: what · 3 s · ~120 tokens · detail.
func (l *liveLine) text(now time.Time) string {
	s := l.what
	if d := now.Sub(l.since); d >= time.Second {
		s += " · " + elapsed(d)
	}
	if l.deltas > 0 { // a piece is one token or more, four bytes are one token or less
		s += fmt.Sprintf(" · ~%d tokens", max(l.deltas, l.bytes/4))
	}
	if l.detail != "" {
		s += " · " + l.detail
	}
	return s
}

func elapsed(d time.Duration) string {
	s := int(d / time.Second)
	if s < 60 {
		return fmt.Sprintf("%d s", s)
	}
	return fmt.Sprintf("%d min %02d s", s/60, s%60)
}

func (f *Face) tick() {
	for again := true; again; again = f.tickOnce() {
		time.Sleep(liveEvery)
	}
}

func (f *Face) tickOnce() (again bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.live.what == "" {
		f.live.ticking = false
		return false
	}
	f.redraw(time.Now())
	return true
}

// redraw updates the end of the screen. The caller holds mu.
func (f *Face) redraw(now time.Time) {
	if f.stdoutBusy || f.lineOpen || f.stdoutLineOpen || now.Sub(f.stdoutTime) < liveAfter || f.live.paused || f.live.yields() {
		return // the end of the screen belongs to the answer, a question or another program
	}
	if now.Sub(f.live.since) < liveAfter {
		return
	}
	if f.showsFrames && len(f.frames) > 0 {
		f.openFrame(f.frames[0])
	}
	if s := f.fitAfter("", f.live.text(now)); f.live.enabled && f.live.what != "" && s != f.live.drawn {
		io.WriteString(f.w, "\r"+f.paint(dim, s)+"\x1b[J\r")
		f.live.drawn = s
	}
}

// await sets what the live line says the run waits for; "" stops it. The caller holds mu.
func (f *Face) await(what string) {
	f.live.erase(f.w)
	f.live.wait = wait{what: what, since: time.Now()}
	if what != "" && f.live.enabled && !f.live.ticking {
		f.live.ticking = true
		goroutine.Start(f.tick)
	}
}

func (f *Face) Awaiting(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.await(what)
}

func (f *Face) awaitModel() {
	what := ""
	if f.asksModel {
		what = "the model"
	}
	f.waits.set(func(w *waits) { w.turn = what })
	if what != "" {
		what = "waiting for " + what
	}
	f.await(what)
}

func (f *Face) Connecting(names []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waits.set(func(w *waits) { w.servers = slices.Clone(names) })
}

// ServerReady reports that a server has started or failed.
func (f *Face) ServerReady(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waits.set(func(w *waits) {
		w.servers = slices.DeleteFunc(w.servers, func(awaited string) bool { return awaited == name })
	})
	if f.live.servers && len(f.waits.servers) > 0 {
		f.live.what = f.serversText()
	}
}

func (f *Face) AwaitServers() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.waits.servers) > 0 {
		f.await(f.serversText())
		f.live.servers = true
	}
}

func (f *Face) serversText() string { return "waiting for " + config.JoinFew(f.waits.servers) }

// Pause removes the live line during a question; Resume restores it.
func (f *Face) Pause() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live.erase(f.w)
	f.live.paused = true
	f.waits.set(func(w *waits) { w.question = true })
}

func (f *Face) Resume() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.release()
	f.waits.set(func(w *waits) { w.question = false })
	f.live.since = time.Now()
}

// release prints what was kept during a question. The caller holds mu.
func (f *Face) release() {
	f.live.paused = false
	if f.dropped > 0 {
		f.held = fmt.Appendf(f.held, "toolpipe: %d more messages were dropped during the question\n", f.dropped)
	}
	if len(f.held) > 0 {
		f.print(string(f.held))
		f.held, f.dropped = nil, 0
	}
}
