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

func TestObeysNowait(t *testing.T) {
	for release, obeys := range map[string]bool{
		"6.4.0": true, "6.18.5-generic\x00\x00": true, "6.10.0-rc1+": true, "7.0.1": true,
		"6.3.9": false, "5.15.153.1-microsoft-standard-WSL2": false, "4.4.0": false, "4.19.0-gvisor": false,
		"6.12.0-gvisor": false, "": false,
	} {
		if obeysNowait(release) != obeys {
			t.Errorf("%q: %v", release, !obeys)
		}
	}
}
