package input

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/stream/goroutine"
)

// One silence of standard input is told of, however often it is silent later, and
// none while something comes from time to time.
func TestSilenceOfStdin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		var told, toldEarly atomic.Int32
		goroutine.Start(func() {
			for _, pause := range []time.Duration{4 * time.Second, 4 * time.Second, 6 * time.Second, time.Minute} {
				toldEarly.Store(told.Load())
				time.Sleep(pause)
				io.WriteString(out, "x")
			}
			out.Close()
		})
		data, err := Read(t.Context(), in, func() { told.Add(1) })
		if string(data) != "xxxx" || err != nil || told.Load() != 1 {
			t.Errorf("read %q, %v; told %d times", data, err, told.Load())
		}
		if toldEarly.Load() != 1 { // after the third pause, not before
			t.Errorf("told %d times before the last pause", toldEarly.Load())
		}
	})
}
