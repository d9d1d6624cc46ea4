package face

import (
	"strconv"
	"sync"

	"toolpipe/run/config"
)

// waits is what a run waits for. It has a lock of its own, which is never held
// while something is written: when the reader of stderr has stopped reading, the
// error of --timeout can still be worded, and standard input is read. Of it, servers
// alone changes under the lock of the Face too, which is enough to read it.
type waits struct {
	mu       sync.Mutex
	servers  []string // the servers that have not answered yet
	stdin    bool     // standard input is read
	turn     string   // the model, or the first call without result
	question bool     // a question stands on the terminal
}

// Awaited is what the run waits for, "" if that has no name.
func (f *Face) Awaited() string { return f.waits.text() }

// ReadingStdin reports whether standard input is being read.
func (f *Face) ReadingStdin(now bool) { f.waits.set(func(w *waits) { w.stdin = now }) }

func (w *waits) set(change func(*waits)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w)
}

func (w *waits) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.question:
		return "an answer on the terminal"
	case len(w.servers) == 0 && !w.stdin:
		return w.turn
	}
	var all []string
	for _, name := range w.servers {
		all = append(all, "server "+strconv.Quote(name))
	}
	if w.stdin {
		all = append(all, "standard input")
	}
	return config.JoinFew(all)
}
