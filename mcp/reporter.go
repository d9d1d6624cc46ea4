package mcp

import (
	"slices"
	"strings"
	"sync"
	"time"

	"toolpipe/stream/secrets"
)

// maxReported bounds what is told of a server in one warning, log line or error:
// the server's own text stands in them.
const maxReported = 64 << 10

// reporter calls the hooks, never after stop, and keeps secrets out of what it
// passes on: a server may say them back anywhere.
type reporter struct {
	mu      sync.RWMutex
	hooks   Hooks
	stopped bool
	secrets *secrets.Set
}

func newReporter(hooks Hooks, spec *Spec) *reporter {
	t := &reporter{hooks: hooks, secrets: hooks.Secrets}
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
func (t *reporter) hide(text string) string { return t.secrets.Message().HideString(text) }

func (t *reporter) warn(code, message string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.hooks.Warning != nil && !t.stopped {
		t.hooks.Warning(code, capped(t.hide(message), maxReported))
	}
}

func (t *reporter) log(line string) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if t.hooks.Log != nil && !t.stopped {
		t.hooks.Log(capped(t.secrets.Wire().HideString(line), maxReported))
	}
}

func (t *reporter) outputWait() time.Duration {
	if t.hooks.OutputWait == nil {
		return 0
	}
	return t.hooks.OutputWait()
}

// wire passes on a message.
func (t *reporter) message(direction byte, msg []byte) {
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
func (t *reporter) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
}
