package mcp

import (
	"slices"
	"strings"
	"sync"
	"time"

	"toolpipe/stream/secrets"
)

// maxTold bounds what is told of a server in one warning, log line or error:
// the server's own text stands in them.
const maxTold = 64 << 10

// teller calls the hooks, never after stop, and keeps secrets out of what it
// passes on: a server may say them back anywhere.
type teller struct {
	mu      sync.RWMutex
	hooks   Hooks
	stopped bool
	secrets *secrets.Set
}

func newTeller(hooks Hooks, spec *Spec) *teller {
	t := &teller{hooks: hooks, secrets: hooks.Secrets}
	if t.secrets == nil {
		t.secrets = &secrets.Set{}
	}
	t.secrets.Add(spec.Bearer)
	t.secrets.AddURL(spec.URL)
	for name, v := range spec.Headers {
		t.secrets.AddHeader(name, v)
	}
	for name, v := range spec.Env {
		if secrets.Named(name) || strings.Contains(v, "://") {
			t.secrets.AddNamed(name, v)
		}
	}
	for _, kv := range spec.Environ {
		if name, v, ok := strings.Cut(kv, "="); ok && slices.Contains(spec.InheritEnv, name) {
			t.secrets.AddNamed(name, v)
		}
	}
	if spec.OAuth != nil {
		t.secrets.Add(spec.OAuth.Secret)
	}
	return t
}

// hide takes the secrets out of text.
func (t *teller) hide(text string) string { return t.secrets.Message().HideString(text) }

func (t *teller) warn(code, message string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.hooks.Warning != nil && !t.stopped {
		t.hooks.Warning(code, capped(t.hide(message), maxTold))
	}
}

func (t *teller) log(line string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.hooks.Log != nil && !t.stopped {
		t.hooks.Log(capped(t.secrets.Wire().HideString(line), maxTold))
	}
}

func (t *teller) outputWait() time.Duration {
	if t.hooks.OutputWait == nil {
		return 0
	}
	return t.hooks.OutputWait()
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
	t.hooks.Wire(direction, t.secrets.Wire().Hide(msg))
}

// stop waits for a hook that runs.
func (t *teller) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
}
