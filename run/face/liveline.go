package face

import (
	"fmt"
	"io"
	"slices"
	"time"

	"toolpipe/run/config"
	"toolpipe/stream/goroutine"
)

// liveLine is the last line of a terminal while something is awaited: what,
// for how long, how much came. It appears only after a moment, so that quick
// answers do not flicker. The cursor stays in its first column: there the
// terminal's echo of ^C and a shell's message do no harm, and a line that a
// narrower window has wrapped is still below it. It is drawn in the foreground
// only. Its owner's lock guards it.
type liveLine struct {
	enabled bool
	paused  bool      // a question stands, or the end has come
	what    string    // awaited now; "" nothing
	detail  string    // what a server said of it, escaped
	since   time.Time // the wait began
	deltas  int       // that came of a reply
	bytes   int
	servers bool   // servers are awaited
	shown   string // on the screen now
	ticking bool   // a goroutine draws it

	background func() (background, stops bool) // nil: never
	busy       func() bool                     // another program asks on the terminal; nil: none
}

const (
	liveAfter = 400 * time.Millisecond
	liveEvery = 200 * time.Millisecond
)

// eraseLine takes away everything from the cursor's line on.
const eraseLine = "\r\x1b[J"

func (l *liveLine) start(what string) {
	*l = liveLine{enabled: l.enabled, paused: l.paused, ticking: l.ticking, shown: l.shown, background: l.background, busy: l.busy, what: what, since: time.Now()}
}

// erase takes the line away, where it is still ours.
func (l *liveLine) erase(w io.Writer) {
	if l.shown != "" && !l.away() {
		io.WriteString(w, eraseLine)
	}
	l.shown = ""
}

// away tells whether the cursor's line is not ours: in the background it is the
// user's command line, and while another program of this job asks, its question.
func (l *liveLine) away() bool {
	if l.background != nil {
		if background, _ := l.background(); background {
			return true
		}
	}
	return l.busy != nil && l.busy()
}

// received counts a delta of a reply; what it is says what the model does.
func (l *liveLine) received(what string, n int) {
	l.what = what
	l.deltas++
	l.bytes += n
}

// Text is the line at a time, such as what · 3 s · ~120 tokens · detail.
func (l *liveLine) text(now time.Time) string {
	s := l.what
	if d := now.Sub(l.since); d >= time.Second {
		s += " · " + elapsed(d)
	}
	if l.deltas > 0 { // a delta is a token or more, four bytes are one or less
		s += fmt.Sprintf(" · ~%d tokens", max(l.deltas, l.bytes/4))
	}
	if l.detail != "" {
		s += " · " + l.detail
	}
	return s
}

// draw shows the line as it is now. paint adds colours to a line that fits.
func (l *liveLine) draw(w io.Writer, now time.Time, fit, paint func(string) string) {
	if !l.enabled || l.what == "" || l.paused || now.Sub(l.since) < liveAfter {
		return
	}
	if s := fit(l.text(now)); s != l.shown {
		io.WriteString(w, "\r"+paint(s)+"\x1b[J\r")
		l.shown = s
	}
}

// elapsed is a time for people: 3 s, 2 min 05 s.
func elapsed(d time.Duration) string {
	s := int(d / time.Second)
	if s < 60 {
		return fmt.Sprintf("%d s", s)
	}
	return fmt.Sprintf("%d min %02d s", s/60, s%60)
}

// tick draws the live line from time to time while something is awaited.
func (f *Face) tick() {
	for goesOn := true; goesOn; {
		time.Sleep(liveEvery)
		goesOn = f.tickOnce()
	}
}

func (f *Face) tickOnce() (goesOn bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.live.what == "" {
		f.live.ticking = false
		return false
	}
	f.redraw(time.Now())
	return true
}

// redraw brings the end of the screen up to date. The caller holds mu.
func (f *Face) redraw(now time.Time) {
	if f.writing || f.half || f.mid || now.Sub(f.wrote) < liveAfter || f.live.paused || f.live.away() {
		return // others' text is being written there, or waits for its line's rest
	}
	if f.framed && len(f.frames) > 0 && now.Sub(f.live.since) >= liveAfter {
		f.openFrame(f.frames[0])
	}
	f.live.draw(f.w, now, f.fit, func(s string) string { return f.paint(dim, s) })
}

// await makes the live line say what is awaited; "" stops it. The caller
// holds mu.
func (f *Face) await(what string) {
	f.live.erase(f.w)
	f.live.start(what)
	if what != "" && f.live.enabled && !f.live.ticking {
		f.live.ticking = true
		goroutine.Start(f.tick)
	}
}

// Awaiting is await for those who do not hold mu.
func (f *Face) Awaiting(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.await(what)
}

func (f *Face) awaitModel() {
	what := ""
	if f.model {
		what = "the model"
	}
	f.Waits.Set(func(w *Waits) { w.turn = what })
	if what != "" {
		what = "waiting for " + what
	}
	f.await(what)
}

// Connecting tells which servers are waited for from now on, and ServerReady
// that one of them is no longer, whatever became of it.
func (f *Face) Connecting(servers []config.Server) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range servers {
		f.servers = append(f.servers, servers[i].Name)
	}
	f.Waits.Set(func(w *Waits) { w.servers = slices.Clone(f.servers) })
}

func (f *Face) ServerReady(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i := slices.Index(f.servers, name); i >= 0 {
		f.servers = slices.Delete(f.servers, i, i+1)
	}
	f.Waits.Set(func(w *Waits) { w.servers = slices.Clone(f.servers) })
	if f.live.servers && len(f.servers) > 0 {
		f.live.what = f.serversText()
	}
}

func (f *Face) AwaitServers() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.servers) > 0 {
		f.await(f.serversText())
		f.live.servers = true
	}
}

// serversText names a few servers that are waited for.
func (f *Face) serversText() string {
	return "waiting for " + JoinFew(f.servers)
}

func JoinFew(words []string) string {
	const few = 4
	if n := len(words); n > few {
		return fmt.Sprintf("%s and %d more", config.JoinWords(words[:few]), n-few)
	}
	return config.JoinWords(words)
}

// Pause takes the live line away while a question stands; resume gives it back.
func (f *Face) Pause() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live.erase(f.w)
	f.live.paused = true
	f.Waits.Set(func(w *Waits) { w.question = true })
}

func (f *Face) Resume() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.release()
	f.Waits.Set(func(w *Waits) { w.question = false })
	f.live.since = time.Now()
}

// release prints what waited for the end of a question. The caller holds mu.
func (f *Face) release() {
	f.live.paused = false
	if f.lost > 0 {
		f.held = fmt.Appendf(f.held, "toolpipe: %d more messages came while the question stood, and were not kept\n", f.lost)
	}
	if len(f.held) > 0 {
		f.print(string(f.held))
		f.held, f.lost = nil, 0
	}
}
