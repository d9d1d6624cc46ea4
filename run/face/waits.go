package face

import (
	"strconv"
	"sync"

	"toolpipe/run/config"
)

// waits is what a run waits for. Its lock is never held during a write: if the reader of stderr has
// stopped reading, the error of --timeout can still be built, and standard input is still read.
// Only servers also needs the lock of the Face to change; either lock is enough to read it.
type waits struct {
	mu       sync.Mutex
	servers  []string // servers that have not answered yet
	stdin    bool     // standard input is being read
	turn     string   // the model, or the first call without a result
	question bool     // a question is open on the terminal
}

// Awaited names what the run waits for; "" if there is no name.
func (f *Face) Awaited() string { return f.waits.text() }

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
