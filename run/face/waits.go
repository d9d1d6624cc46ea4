package face

import (
	"strconv"
	"sync"
)

// Waits is what a run waits for, so that the error of --timeout can name it.
// Its lock is never held while something is written: a reader of stderr who
// has stopped must not hold back the end of the run.
type Waits struct {
	mu       sync.Mutex
	servers  []string // that have not answered yet
	Stdin    bool
	turn     string // the model, or the first call without result
	question bool   // stands on the terminal
}

func (w *Waits) Set(change func(*Waits)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(w)
}

// Text is all of it, "" for nothing that has a name.
func (w *Waits) Text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.question:
		return "an answer on the terminal"
	case len(w.servers) == 0 && !w.Stdin:
		return w.turn
	}
	var all []string
	for _, name := range w.servers {
		all = append(all, "server "+strconv.Quote(name))
	}
	if w.Stdin {
		all = append(all, "standard input")
	}
	return JoinFew(all)
}
