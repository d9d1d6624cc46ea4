package confine

import (
	"context"
	"fmt"
	"path/filepath"
)

// Bounds hold a call of a built-in tool to what was approved. Its paths were
// followed when it was decided, and links may be moved before it runs. Bounds
// travel in the context, beside the arguments, which are sent as they came.
type Bounds struct {
	// Places gives for the text of a path argument where it led when the call
	// was approved: absolute and free of links. If it leads elsewhere now, it
	// is not opened. A path without a place was not followed.
	Places map[string]string
	// Denied are absolute paths without links. Files at and below them are
	// neither opened nor shown.
	Denied []string
	// Known learns which files the call shows and writes. It may be nil.
	Known *Known
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

// Check returns an error when a path leads to another place than it did when the
// call was approved.
func (b Bounds) Check(asked, real string) error {
	if place := b.Places[asked]; place != "" && place != filepath.Clean(real) {
		return fmt.Errorf("%q leads elsewhere since the call was approved; call again", asked)
	}
	return nil
}
