package wire

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestResponderIsBounded: the responses to a server that does not take them cost no
// more than the bound, and all that were kept are sent once it takes them.
func TestResponderIsBounded(t *testing.T) {
	for _, n := range []int{1, 1000, 3 << 20} {
		gate := make(chan struct{})
		var senders sync.WaitGroup
		var sent atomic.Int32
		full := 0
		o := Responder{
			Life:  t.Context(),
			Send:  func(context.Context, []byte) error { <-gate; sent.Add(1); return nil },
			Start: senders.Go,
			Full:  func() { full++ },
		}
		response := []byte(strings.Repeat("x", n))
		for range maxResponses {
			o.Respond(response)
		}
		o.mu.Lock()
		if o.size > max(maxResponses, n+responseCost) || full != 1 {
			t.Errorf("%d bytes of responses of %d, told %d times", o.size, n, full)
		}
		o.mu.Unlock()
		close(gate)
		senders.Wait()
		if want := max(1, maxResponses/(n+responseCost)); o.size != 0 || int(sent.Load()) != want {
			t.Errorf("%d responses were sent, want %d; %d bytes are left", sent.Load(), want, o.size)
		}
	}
}
