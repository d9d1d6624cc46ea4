package confine

import (
	"context"
	"fmt"
	"path/filepath"
)

// Bounds hold a call of a built-in server to what was approved: who approves
// looks at paths before the call runs, and links may be moved in between. They
// travel beside the arguments, which are sent as they came.
type Bounds struct {
	// Places is where a path argument, by its text, led when it was approved:
	// absolute and free of links. What leads elsewhere is not opened. A path
	// that is not in it, or has "", was not looked at.
	Places map[string]string
	// Denied are absolute paths without links. What is at and below them is
	// neither opened nor shown.
	Denied []string
}

type boundsKey struct{}

// WithBounds returns a context whose calls of a built-in server keep to b.
func WithBounds(ctx context.Context, b Bounds) context.Context {
	return context.WithValue(ctx, boundsKey{}, b)
}

// BoundsOf returns the bounds of a call, empty ones where none were set.
func BoundsOf(ctx context.Context) Bounds {
	b, _ := ctx.Value(boundsKey{}).(Bounds)
	return b
}

// Check refuses a path that leads to another place than the one approved.
func (b Bounds) Check(asked, real string) error {
	if place := b.Places[asked]; place != "" && place != filepath.Clean(real) {
		return fmt.Errorf("%q leads elsewhere since the call was approved; call again", asked)
	}
	return nil
}
