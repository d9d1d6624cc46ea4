package run

import (
	"strconv"
	"sync"
)

// waits is what a run waits for, so that the error of --timeout can name it.
// Its lock is never held while something is written: a reader of stderr who
// has stopped must not hold back the end of the run.
type waits struct {
	mu       sync.Mutex
	servers  []string // that have not answered yet
	stdin    bool
	turn     string // the model, or the first call without result
	question bool   // stands on the terminal
}

func (w *waits) set(change func(*waits)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w)
}

// text is all of it, "" for nothing that has a name.
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
	return joinFew(all)
}
