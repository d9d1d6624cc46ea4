package goroutine

import (
	"context"
	"strings"
	"sync"
	"testing"
)

// TestPanics holds that each way to start a goroutine tells of a panic, after
// the deferred calls, and that what is told holds no data.
func TestPanics(t *testing.T) {
	told := make(chan *Panic, 1)
	OnPanic(func(p *Panic) { told <- p })
	t.Cleanup(func() { handler.Store(nil) })
	secret := strings.Repeat("sk-secret", 2)
	for name, start := range map[string]func(f func()){
		"Start":        Start,
		"AfterFunc":    func(f func()) { AfterFunc(1, f) },
		"AfterContext": func(f func()) { ctx, cancel := context.WithCancel(t.Context()); AfterContext(ctx, f); cancel() },
		"StartIn": func(f func()) {
			var group sync.WaitGroup
			StartIn(&group, f)
			group.Wait()
		},
	} {
		deferred := false
		start(func() {
			defer func() { deferred = true }()
			panic(secret)
		})
		p := (<-told).Error()
		if !deferred {
			t.Errorf("%s: the deferred calls had not run", name)
		}
		if strings.Contains(p, secret) || !strings.HasPrefix(p, "panic with a value of type string, at goroutine/goroutine_test.go:") {
			t.Errorf("%s: %s", name, p)
		}
	}
	Start(func() {
		var none []byte
		_ = none[len(secret)]
	})
	if p := (<-told).Error(); !strings.HasPrefix(p, "runtime error: index out of range [18] with length 0, at goroutine/goroutine_test.go:") {
		t.Error(p)
	}
	done := make(chan bool)
	Start(func() { close(done) })
	<-done
}
