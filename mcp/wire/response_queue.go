package wire

import (
	"sync"
	"time"
)

const (
	maxQueued       = 1 << 20 // bytes of responses that a server asked for and has not taken
	entryCost       = 64      // of each, beside its bytes
	maxSenders      = 4
	ResponseTimeout = 10 * time.Second // for sending one
)

// ResponseQueue sends the responses to what a server asks, beside everything else: a
// pipe that is full because the server waits for us to read must not stop the
// reading. A server may ask without end and take no answer; what would go
// beyond maxQueued is dropped then.
type ResponseQueue struct {
	Send  func(response []byte) // bounded in time
	Start func(func())          // runs a sender
	Full  func()                // told once, when the first response is dropped

	mu      sync.Mutex
	waiting [][]byte
	size    int // of what waits and what is being sent
	senders int
	dropped bool
}

// Put never waits.
func (o *ResponseQueue) Put(response []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.size > 0 && o.size+len(response)+entryCost > maxQueued {
		if !o.dropped {
			o.dropped = true
			o.Full()
		}
		return
	}
	o.size += len(response) + entryCost
	o.waiting = append(o.waiting, response)
	if o.senders < maxSenders {
		o.senders++
		o.Start(o.drain)
	}
}

// drain is a sender: it ends when nothing waits.
func (o *ResponseQueue) drain() {
	var sent []byte
	for {
		if sent = o.next(sent); sent == nil {
			return
		}
		o.Send(sent)
	}
}

// Next takes out what is to be sent after sent, nil for nothing.
func (o *ResponseQueue) next(sent []byte) []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	if sent != nil {
		o.size -= len(sent) + entryCost
	}
	if len(o.waiting) == 0 {
		o.senders--
		return nil
	}
	response := o.waiting[0]
	o.waiting[0] = nil
	o.waiting = o.waiting[1:]
	return response
}
