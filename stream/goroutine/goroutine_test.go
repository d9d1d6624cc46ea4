package goroutine

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestPanics shows that each way to start a goroutine reports a panic after the
// deferred calls, and that the report holds no data.
func TestPanics(t *testing.T) {
	panics := make(chan *Panic, 1)
	OnPanic(func(p *Panic) { panics <- p })
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
		"SideBySide": func(f func()) { SideBySide(1, func(int) { f() }) },
	} {
		deferred := false
		start(func() {
			defer func() { deferred = true }()
			panic(secret)
		})
		p := (<-panics).Error()
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
	if p := (<-panics).Error(); !strings.HasPrefix(p, "runtime error: index out of range [18] with length 0, at goroutine/goroutine_test.go:") {
		t.Error(p)
	}
	done := make(chan bool)
	Start(func() { close(done) })
	<-done
}

// TestSideBySide shows that the calls do not wait for one another, and that all have
// returned when SideBySide returns.
func TestSideBySide(t *testing.T) {
	for n := range 4 {
		var met sync.WaitGroup
		met.Add(n)
		called := make([]bool, n)
		SideBySide(n, func(i int) {
			met.Done()
			met.Wait()
			called[i] = true
		})
		if slices.Contains(called, false) {
			t.Errorf("of %d: %v", n, called)
		}
	}
}

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, takes := range []time.Duration{0, time.Second - 1, time.Second + 1} {
			if began := time.Now(); Within(time.Second, func() { time.Sleep(takes) }) != (takes < time.Second) || time.Since(began) != min(takes, time.Second) {
				t.Errorf("a function that takes %v: %v", takes, time.Since(began))
			}
		}
		time.Sleep(time.Nanosecond) // for the last one
	})
}
