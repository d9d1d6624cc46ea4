package input

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"toolpipe/run/config"
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
		read, err := Read(t.Context(), &config.Config{}, in, func() { told.Add(1) })
		data := read.Data()
		if string(data) != "xxxx" || err != nil || told.Load() != 1 {
			t.Errorf("read %q, %v; told %d times", data, err, told.Load())
		}
		if toldEarly.Load() != 1 { // after the third pause, not before
			t.Errorf("told %d times before the last pause", toldEarly.Load())
		}
	})
}
