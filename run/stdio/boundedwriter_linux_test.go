//go:build !portable

package stdio

import "testing"

// A pipe that is full grows: nine tenths of a megabyte wait for a reader that does not
// read yet.
func TestBoundedGrows(t *testing.T) {
	t.Parallel()
	_, w := pipe(t)
	text := numbered(900 << 10)
	if n, err := endedWriter(w).Write(text); n != len(text) || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
}
