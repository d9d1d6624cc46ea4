package stdio

import (
	"context"

	"toolpipe/stream/goroutine"
)

// Await returns the result of f. If ctx ends first, it returns the cause; f cannot be interrupted
// and goes on in its goroutine.
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
