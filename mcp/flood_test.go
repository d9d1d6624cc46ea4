package mcp

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
)

// TestFloodOfRequests: a server that asks without end and reads no answer
// costs its call, nothing else.
func TestFloodOfRequests(t *testing.T) {
	t.Parallel()
	spec := stdio("-fault", "asks-unread")
	spec.ToolTimeout = 500 * time.Millisecond
	s, rec := connect(t, spec)
	most, ended := make(chan int), make(chan struct{})
	go func() {
		n := 0
		for {
			n = max(n, runtime.NumGoroutine())
			select {
			case <-ended:
				most <- n
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	before := runtime.NumGoroutine()
	e := callFails(t, s, "t", `{}`)
	close(ended)
	if n := <-most - before; n > 5000 || // of 20 000 requests; other tests run beside this one
		!e.Sent || e.RPC {
		t.Errorf("%d goroutines more; %+v", n, e)
	}
	if n := len(rec.sentLines("tools/call")); n != 1 {
		t.Errorf("%d calls went out", n)
	}
}

// TestQuestionsAreBounded: a server's questions wait for a person, but not by
// the thousand.
func TestQuestionsAreBounded(t *testing.T) {
	hold := make(chan struct{})
	s := newSession(Spec{Elicit: "ask"}, Hooks{Elicit: func(context.Context, wire.Form) (string, []byte) {
		<-hold
		return "cancel", nil
	}}, nil)
	remove := s.inFlight.add(&wire.Request{}, s.life)
	defer remove()
	var refused, answered atomic.Int32
	for range 1000 {
		s.onRequest(wire.Message{ID: []byte("1"), Method: []byte(`"elicitation/create"`)}, func(response []byte) {
			if m, _ := wire.ParseMessage(response); m.Error != nil {
				refused.Add(1)
			} else {
				answered.Add(1)
			}
		})
	}
	if n := refused.Load(); n != 1000-maxQuestions {
		t.Errorf("%d are refused at once", n)
	}
	close(hold)
	s.background.Wait()
	if n := answered.Load(); n != maxQuestions {
		t.Errorf("%d are answered", n)
	}
}

// TestCloseLeavesAQuestion: a session ends, although the function that asks the user
// does not return.
func TestCloseLeavesAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hold := make(chan struct{})
		s := newSession(Spec{Elicit: "ask"}, Hooks{Elicit: func(context.Context, wire.Form) (string, []byte) {
			<-hold
			return "cancel", nil
		}}, nil)
		remove := s.inFlight.add(&wire.Request{}, s.life)
		defer remove()
		s.onRequest(wire.Message{ID: []byte("1"), Method: []byte(`"elicitation/create"`)}, func([]byte) {})
		began := time.Now()
		goroutine.AfterFunc(time.Minute, func() { close(hold) })
		s.Close()
		if took := time.Since(began); took > wire.ShutdownGrace {
			t.Errorf("Close took %v", took)
		}
		time.Sleep(time.Minute) // until nothing is held
	})
}
