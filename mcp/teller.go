package mcp

import (
	"strings"
	"sync"
	"time"
)

// teller calls the hooks, never after stop, and keeps secrets out of what it
// passes on.
type teller struct {
	mu      sync.RWMutex
	hooks   Hooks
	stopped bool
	secrets []string
}

func newTeller(hooks Hooks, spec *Spec) *teller {
	t := &teller{hooks: hooks}
	t.secret(spec.Bearer)
	for _, v := range spec.Headers {
		t.secret(v)
		if _, token, ok := strings.Cut(v, " "); ok { // Bearer, Basic, …
			t.secret(token)
		}
	}
	for name, v := range spec.Env {
		if secretName(name) {
			t.secret(v)
		}
	}
	if spec.OAuth != nil {
		t.secret(spec.OAuth.Secret)
	}
	return t
}

// secretName says whether a variable of that name usually holds a secret.
func secretName(name string) bool {
	name = strings.ToUpper(name)
	for _, part := range [...]string{"KEY", "TOKEN", "SECRET", "PASSW", "CREDENTIAL", "AUTH"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// secret is kept out of all that is told from now on.
func (t *teller) secret(value string) {
	if len(value) < 4 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.secrets = append(t.secrets, value)
}

func (t *teller) warn(code, message string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.hooks.Warning != nil && !t.stopped {
		t.hooks.Warning(code, t.hidden(message))
	}
}

func (t *teller) log(line string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.hooks.Log != nil && !t.stopped {
		t.hooks.Log(t.hidden(line))
	}
}

func (t *teller) outputWait() time.Duration {
	if t.hooks.OutputWait == nil {
		return 0
	}
	return t.hooks.OutputWait()
}

// hide takes the secrets out of text: a server may say them back anywhere.
func (t *teller) hide(text string) string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.hidden(text)
}

// hidden looks for secrets as they are and as they would stand in JSON. t.mu
// is held.
func (t *teller) hidden(text string) string {
	for _, s := range t.secrets {
		text = strings.ReplaceAll(text, s, "***")
		if q := quoted(s); len(q) != len(s)+2 {
			text = strings.ReplaceAll(text, string(q[1:len(q)-1]), "***")
		}
	}
	return text
}

// wire passes on a message.
func (t *teller) wire(direction byte, msg []byte) {
	if t.hooks.Wire == nil {
		return
	}
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.stopped {
		return
	}
	t.hooks.Wire(direction, []byte(t.hidden(string(msg))))
}

// stop waits for a hook that runs.
func (t *teller) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
}
