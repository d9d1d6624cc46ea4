package wire

import (
	"strings"
	"sync"
	"testing"
)

// TestResponseQueueIsBounded: what a server asks for and does not take costs no more
// than the bound, and all that was kept is sent once it is taken.
func TestResponseQueueIsBounded(t *testing.T) {
	for _, n := range []int{1, 1000, 3 << 20} {
		gate := make(chan struct{})
		var senders, sent sync.WaitGroup
		full := 0
		o := ResponseQueue{
			Send:  func([]byte) { <-gate; sent.Done() },
			Start: senders.Go,
			Full:  func() { full++ },
		}
		response := []byte(strings.Repeat("x", n))
		sent.Add(max(1, maxQueued/(n+entryCost)))
		for range maxQueued {
			o.Put(response)
		}
		o.mu.Lock()
		if o.size > max(maxQueued, n+entryCost) || o.senders > maxSenders || full != 1 {
			t.Errorf("%d bytes of responses of %d, %d senders, told %d times", o.size, n, o.senders, full)
		}
		o.mu.Unlock()
		close(gate)
		sent.Wait()
		senders.Wait()
		if o.size != 0 || o.senders != 0 {
			t.Errorf("%d bytes and %d senders are left", o.size, o.senders)
		}
	}
}
