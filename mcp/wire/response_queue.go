package wire

import (
	"sync"
	"time"
)

const (
	maxQueued  = 1 << 20 // bytes of responses that the server has not taken
	entryCost  = 64      // bytes that a response costs beside its own
	maxSenders = 4

	// ResponseTimeout bounds the sending of one response.
	ResponseTimeout = 10 * time.Second
)

// ResponseQueue sends the responses to a server's requests in goroutines of its
// own: a pipe that is full because the server waits until its output is read
// must not stop the reading. A server may send requests without end and read no
// response; responses beyond maxQueued are dropped.
type ResponseQueue struct {
	Send  func(response []byte) // bounded in time
	Start func(func())          // runs a sender
	Full  func()                // called once, when the first response is dropped

	mu      sync.Mutex
	waiting [][]byte
	size    int // bytes of the responses that wait or are being sent
	senders int
	dropped bool
}

// Put queues a response. It never waits.
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

// drain sends responses until none waits.
func (o *ResponseQueue) drain() {
	for response := o.next(nil); response != nil; response = o.next(response) {
		o.Send(response)
	}
}

// next takes out the response to be sent after sent; nil when none waits.
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
