package mcp

import (
	"slices"
	"strings"
	"sync"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/stream/text/readable"
	"toolpipe/stream/text/secrets"
)

// maxReported limits one warning, log line or error, in bytes; it may quote the server.
const maxReported = 64 << 10

// reporter calls the hooks, but not after stop. It removes secrets from all it passes on,
// because a server may echo them anywhere.
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
	if hooks.OutputWait == nil {
		t.hooks.OutputWait = func() time.Duration { return 0 }
	}
	t.secrets.AddFrom("the token of server "+spec.Name, spec.Bearer)
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
		t.secrets.AddFrom("the secret of server "+spec.Name, spec.OAuth.Secret)
		if idp := spec.OAuth.IDP; idp != nil {
			t.secrets.Add(idp.Secret)
		}
	}
	return t
}

func (t *reporter) hide(text string) string { return t.secrets.Message().HideString(text) }

func (t *reporter) warn(code, message string) {
	if t.hooks.Warning != nil {
		t.unlessStopped(func() { t.hooks.Warning(code, readable.Cut(t.hide(message), maxReported, "…")) })
	}
}

func (t *reporter) log(line string) {
	if t.hooks.Log != nil {
		t.unlessStopped(func() { t.hooks.Log(readable.Cut(t.secrets.Wire().HideString(line), maxReported, "…")) })
	}
}

// logStderr logs a line of a child's stderr, at most half the length that process.Output
// gives, so that a secret that was cut off is not shown in part.
func (t *reporter) logStderr(line string) {
	t.log(readable.Cut(t.secrets.Wire().HideString(line), process.MaxLogLine/2, "…"))
}

func (t *reporter) logMessage(params []byte) {
	if t.hooks.LogMessage != nil && len(params) <= maxReported {
		t.unlessStopped(func() { t.hooks.LogMessage(t.secrets.Wire().Hide(params)) })
	}
}

func (t *reporter) announced(method string, params []byte) {
	if t.hooks.Announced != nil && len(params) <= maxReported {
		t.unlessStopped(func() { t.hooks.Announced(method, slices.Clone(params)) })
	}
}

func (t *reporter) message(direction byte, msg []byte) {
	if t.hooks.Wire != nil {
		t.unlessStopped(func() { t.hooks.Wire(direction, t.secrets.Wire().Hide(msg)) })
	}
}

func (t *reporter) unlessStopped(call func()) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if !t.stopped {
		call()
	}
}

// stop waits for a hook that is running.
func (t *reporter) stop() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stopped = true
}
