package toolserver

import (
	"bytes"
	"testing"
)

func TestCapture(t *testing.T) {
	for _, size := range []int{0, 1, captured - 1, captured, captured + 1, 2*captured - 1, 2 * captured, 2*captured + 1, 5*captured + 77} {
		all := make([]byte, size)
		for i := range all {
			all[i] = byte('a' + i*7%26)
		}
		for _, step := range []int{1, 1000, captured, 3 * captured} {
			var c Capture
			for from := 0; from < size; from += step {
				c.Write(all[from:min(size, from+step)])
			}
			got := c.Bytes()
			if size <= 2*captured {
				if !bytes.Equal(got, all) {
					t.Errorf("%d bytes by %d: %d came back", size, step, len(got))
				}
				continue
			}
			if c.Dropped() != int64(size-2*captured) || !bytes.HasPrefix(got, all[:captured]) || !bytes.HasSuffix(got, all[size-captured:]) {
				t.Errorf("%d bytes by %d: dropped %d", size, step, c.Dropped())
			}
		}
	}
}
