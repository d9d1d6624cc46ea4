package stdio

import (
	"context"

	"toolpipe/stream/goroutine"
)

// Await returns the result of f. When ctx ends first it returns the cause, and
// f, which cannot be interrupted, is left behind in its goroutine.
func Await[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	goroutine.Start(func() {
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
