// Package goroutine starts the goroutines of this program, so that a panic in any of them ends
// the run in order. A panic that is not recovered ends the process at once with status 2:
// without an end event, with children that still run, and with a trace that may show an
// argument or a key.
//
// Every other package uses it instead of the go statement, time.AfterFunc,
// context.AfterFunc and sync.WaitGroup.Go.
package goroutine

import (
	"context"
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

var handler atomic.Pointer[func(*Panic)]

// OnPanic makes every goroutine that panics call handle after its deferred
// calls. Without a handler a panic ends the process as usual.
func OnPanic(handle func(*Panic)) { handler.Store(&handle) }

// Start calls f in a new goroutine.
func Start(f func()) { go begin(f) }

// StartMany is Start for thousands of goroutines that may wait at once: their stacks are small
// at first.
func StartMany(f func()) { go guarded(f)() }

// StartIn is Start; group waits for f.
func StartIn(group *sync.WaitGroup, f func()) { group.Go(func() { begin(f) }) }

func begin(f func()) {
	GrowStack()
	guarded(f)()
}

func guarded(f func()) func() {
	return func() {
		defer Recover()
		f()
	}
}

// SideBySide calls f concurrently with the numbers from 0 to n-1, the last one in the caller's
// goroutine. It returns when all calls have returned.
func SideBySide(n int, f func(int)) {
	var group sync.WaitGroup
	for i := range n - 1 {
		StartIn(&group, func() { f(i) })
	}
	if n > 0 {
		guarded(func() { f(n - 1) })()
	}
	group.Wait()
}

// GrowStack makes the stack of the calling goroutine 16 KiB large. Called while the stack is
// nearly empty, it avoids later doublings. Each doubling walks the frames through tables of the
// executable that may not be in memory yet.
func GrowStack() { growStack(0) }

// growStack takes the room of all its variables when it is called, also of those that it does
// not reach.
//
//go:noinline
func growStack(use int) byte {
	if use == 0 {
		return 0
	}
	var room [12 << 10]byte
	room[use] = 1
	return room[use/2]
}

// Within calls f in a new goroutine, and reports whether it returned within d. If not, the
// goroutine goes on.
func Within(d time.Duration, f func()) bool { return Await(Done(f), d) }

// Done is Start. The channel is closed when f has returned.
func Done(f func()) <-chan struct{} {
	done := make(chan struct{})
	Start(func() {
		defer close(done)
		f()
	})
	return done
}

// Await waits until a channel is closed, no longer than d, and reports whether it was.
func Await(done <-chan struct{}, d time.Duration) bool {
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}

// AfterFunc is time.AfterFunc.
func AfterFunc(d time.Duration, f func()) *time.Timer { return time.AfterFunc(d, guarded(f)) }

// AfterContext is context.AfterFunc.
func AfterContext(ctx context.Context, f func()) (stop func() bool) {
	return context.AfterFunc(ctx, guarded(f))
}

// Recover is deferred in functions that the standard library calls in a new goroutine.
func Recover() {
	handle := handler.Load()
	if handle == nil {
		return
	}
	if p := recover(); p != nil {
		(*handle)(NewPanic(p))
	}
}

// Panic describes a panic by its kind and its position in the source, without data: the value
// of the panic may be an argument or a key.
type Panic struct{ message string }

func (p *Panic) Error() string { return p.message }

// NewPanic describes the panic with the value p, which a deferred function has just recovered.
func NewPanic(p any) *Panic {
	message := fmt.Sprintf("panic with a value of type %T", p)
	if e, ok := p.(runtime.Error); ok {
		message = e.Error() // types, lengths and indices
	}
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	before := []string{", at ", ", called from ", ", ", ", "} // before the positions of the calls, the innermost first
	for inside := false; len(before) > 0; {
		f, more := frames.Next()
		switch fromRuntime := strings.HasPrefix(f.Function, "runtime."); {
		case f.Function == "runtime.gopanic":
			inside = true
		case inside && !fromRuntime && f.File != "":
			pack, _, _ := strings.Cut(path.Base(f.Function), ".")
			message += fmt.Sprintf("%s%s/%s:%d", before[0], pack, path.Base(f.File), f.Line)
			before = before[1:]
		}
		if !more {
			break
		}
	}
	return &Panic{message}
}

// AwaitResult returns the result of f. If ctx ends first, it returns the cause, and f, which
// cannot be interrupted, goes on in its goroutine.
func AwaitResult[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	Start(func() {
		value, err := f()
		done <- result{value, err}
	})
	select {
	case r := <-done:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}
