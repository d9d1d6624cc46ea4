package netguard

import "testing"

// Only what no resolver can lead elsewhere is this machine.
func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.8.8.8": true, "::1": true, "::ffff:127.0.0.1": true,
		"localhost.": false, "x.localhost": false, "localhost.example.com": false, "127.0.0.1.example.com": false,
		"127.1": false, "10.0.0.1": false, "::2": false, "::1%lo": false, "": false,
	} {
		if IsLoopback(host) != want {
			t.Errorf("%q: %v", host, !want)
		}
	}
}
