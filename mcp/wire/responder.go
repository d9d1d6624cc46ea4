package wire

import (
	"context"
	"sync"
	"time"
)

const (
	maxResponses    = 1 << 20          // bytes of responses that the server has not taken, with their costs
	responseCost    = 16 << 10         // extra bytes that each response counts, for its goroutine
	responseTimeout = 10 * time.Second // for sending one response
)

// A Responder sends the responses to a server's requests, each in a new goroutine. Reading
// must not stop when the pipe is full because the server waits until its own output is read.
// A server may send requests without end and read no response; responses over maxResponses
// are dropped.
type Responder struct {
	Life  context.Context // after its end no response is sent
	Send  func(ctx context.Context, response []byte) error
	Start func(func()) // runs a function in a goroutine
	Full  func()       // called once, when the first response is dropped

	mu     sync.Mutex
	size   int // bytes of the responses that are being sent, with their costs
	warned sync.Once
}

// Respond sends a response without waiting.
func (o *Responder) Respond(response []byte) {
	size := len(response) + responseCost
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.size > 0 && o.size+size > maxResponses {
		o.warned.Do(o.Full)
		return
	}
	o.size += size
	o.Start(func() {
		ctx, cancel := context.WithTimeout(o.Life, responseTimeout)
		defer cancel()
		o.Send(ctx, response)
		o.mu.Lock()
		defer o.mu.Unlock()
		o.size -= size
	})
}
