package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/mcp/wire"
)

// transports are all the ways to carry messages. Each opens one to a peer that
// sends back what it gets, and says how to make the peer go away.
var transports = map[string]func(t *testing.T) (wire.Transport, func()){
	"newline":        func(t *testing.T) (wire.Transport, func()) { return echoCommand(t, "newline") },
	"content-length": func(t *testing.T) (wire.Transport, func()) { return echoCommand(t, "content-length") },
	"sse":            echoSSE,
}

func echoCommand(t *testing.T, framing string) (wire.Transport, func()) {
	var procs process.Processes
	c, err := startStdio(&Spec{Command: program("echo", framing), Framing: framing}, &procs, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return c, c.proc.Kill
}

func init() {
	programs["echo"] = func(args []string) int {
		headed := args[0] == "content-length"
		f, w := wire.FrameReader{R: os.Stdin, Headed: headed}, wire.NewFrameWriter(os.Stdout, headed)
		for {
			msg, err := f.Next()
			if err != nil {
				return 0
			}
			w.Send(context.Background(), msg)
		}
	}
}

func echoSSE(t *testing.T) (wire.Transport, func()) {
	posts := make(chan string)
	gone := make(chan struct{})
	web := serveWeb(t, func(w http.ResponseWriter, r webRequest) {
		if r.verb == http.MethodPost {
			w.WriteHeader(202)
			w.(http.Flusher).Flush()
			select {
			case posts <- r.body:
			case <-gone:
			}
			return
		}
		sendSSE(w, "event: endpoint\ndata: /post\n\n")
		w.(http.Flusher).Flush()
		for {
			select {
			case body := <-posts:
				io.WriteString(w, "data: "+body+"\n\n")
				w.(http.Flusher).Flush()
			case <-gone:
				return
			}
		}
	})
	end := sync.OnceFunc(func() { close(gone) })
	t.Cleanup(end)
	s := newSession(Spec{Name: "peer", URL: web.URL}, Hooks{}, nil)
	h, err := newHTTP(s)
	if err != nil {
		t.Fatal(err)
	}
	tr, err := openSSE(bounded(t), h)
	if err != nil {
		t.Fatal(err)
	}
	return tr, end
}

// TestTransports is one suite for every Transport.
func TestTransports(t *testing.T) {
	for name, open := range transports {
		t.Run(name, func(t *testing.T) {
			t.Run("messages arrive whole", func(t *testing.T) {
				tr, _ := open(t)
				defer tr.Close()
				for _, n := range []int{0, 1, 1000, 64 << 10, 1 << 20} {
					msg := fmt.Appendf(nil, `{"x":%q}`, strings.Repeat("y", n))
					go tr.Send(bounded(t), msg)
					if got, err := tr.Receive(); err != nil || !bytes.Equal(got, msg) {
						t.Fatalf("%d bytes: got %d, %v", len(msg), len(got), err)
					}
				}
			})
			t.Run("concurrent sends do not interleave", func(t *testing.T) {
				tr, _ := open(t)
				defer tr.Close()
				const senders, each = 8, 20
				for i := range senders {
					go func() {
						for range each {
							tr.Send(bounded(t), fmt.Appendf(nil, `{"x":%q}`, strings.Repeat(string(rune('a'+i)), 3000)))
						}
					}()
				}
				for range senders * each {
					got, err := tr.Receive()
					if err != nil || len(got) != 3008 || bytes.Count(got, got[6:7]) < 3000 {
						t.Fatalf("%.20q…, %v", got, err)
					}
				}
			})
			t.Run("close unblocks receive", func(t *testing.T) {
				tr, _ := open(t)
				ended := make(chan error)
				go func() {
					_, err := tr.Receive()
					ended <- err
				}()
				tr.Close()
				tr.Close()
				if err := <-ended; err != io.EOF {
					t.Errorf("receive: %v", err)
				}
				if err := tr.Send(bounded(t), []byte("{}")); err == nil {
					t.Error("a message was sent after the end")
				}
			})
			t.Run("the end of the peer is EOF", func(t *testing.T) {
				tr, end := open(t)
				defer tr.Close()
				end()
				if _, err := tr.Receive(); err != io.EOF {
					t.Errorf("receive: %v", err)
				}
			})
			t.Run("a context that ended sends nothing", func(t *testing.T) {
				tr, _ := open(t)
				defer tr.Close()
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				if err := tr.Send(ctx, []byte("{}")); !errors.Is(err, wire.ErrNotSent) {
					t.Errorf("send: %v", err)
				}
			})
		})
	}
}

// TestFullPipe: a server that does not read fails the call, not the program.
func TestFullPipe(t *testing.T) {
	c := neverReads(t)
	why := errors.New("waited long enough")
	for {
		ctx, cancel := context.WithCancelCause(bounded(t))
		go cancel(why)
		err := c.Send(ctx, make([]byte, 1<<20))
		if !errors.Is(err, why) {
			t.Fatalf("send: %v", err)
		}
		if !errors.Is(err, wire.ErrNotSent) {
			break // some of it is in the pipe
		}
	}
	if err := c.Send(bounded(t), []byte("{}")); err == nil {
		t.Error("a message follows half of another")
	}
}

// TestFullPipeHoldsNobody: who waits behind a write that a full pipe holds up
// leaves when its own time is over.
func TestFullPipeHoldsNobody(t *testing.T) {
	c := neverReads(t)
	held := make(chan error, 1)
	go func() { held <- c.Send(context.Background(), make([]byte, 4<<20)) }()
	time.Sleep(50 * time.Millisecond) // it is in the midst of it by now, or comes second: then nothing is held up
	why := errors.New("waited long enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	left := make(chan error, 1)
	go func() { left <- c.Send(ctx, []byte("{}")) }()
	cancel(why)
	select {
	case err := <-left:
		if !errors.Is(err, why) || !errors.Is(err, wire.ErrNotSent) {
			t.Errorf("send: %v", err)
		}
	case err := <-held:
		t.Errorf("the first send ended: %v", err)
	case <-bounded(t).Done():
		t.Error("it waited for the first")
	}
}

// TestEndedSendLeavesThePipe: a send whose context ended leaves nothing behind
// that fails the next one.
func TestEndedSendLeavesThePipe(t *testing.T) {
	c := neverReads(t)
	for range 5000 { // what is sent stays in the pipe, which has room for it
		ctx, cancel := context.WithCancel(context.Background())
		go cancel()
		c.Send(ctx, []byte("{}"))
		runtime.Gosched()
		if err := c.Send(context.Background(), []byte("{}")); err != nil {
			t.Fatal(err)
		}
	}
}

// neverReads is the connection to a server that reads nothing.
func neverReads(t *testing.T) *stdioTransport {
	t.Helper()
	c, err := startStdio(&Spec{Command: program("sleep")}, &process.Processes{}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.proc.Kill()
		c.Close()
	})
	return c
}

func init() {
	programs["sleep"] = func([]string) int { time.Sleep(time.Hour); return 0 }
}
