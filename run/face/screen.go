package face

import (
	"io"
	"time"

	"toolpipe/run/event"
	"toolpipe/stream/text/escape"
)

// Stdout is standard output for the answer. The face flushes it before it shows the next event.
func (f *Face) Stdout() *event.Writer {
	out := f.streams.Out
	if f.streams.ErrTerminal && !f.streams.OutFile {
		out = &sharedStdout{f, out}
	}
	w := event.NewWriter(out, "standard output")
	if f.streams.ErrTerminal {
		f.flushStdout = w.Flush
	}
	return w
}

// sharedStdout is standard output that may be on the face's screen.
type sharedStdout struct {
	f *Face
	w io.Writer
}

func (s *sharedStdout) Write(p []byte) (int, error) {
	f := s.f
	f.mu.Lock()
	f.live.erase(f.w)
	if f.lineOpen && f.sharedScreen {
		io.WriteString(f.w, "\n")
		f.lineOpen = false
	}
	f.stdoutBusy, f.stdoutLineOpen = true, p[len(p)-1] != '\n'
	f.mu.Unlock()
	n, err := s.w.Write(p)
	f.mu.Lock()
	f.stdoutBusy, f.stdoutTime = false, time.Now()
	f.mu.Unlock()
	return n, err
}

// foregroundWriter is stderr on a terminal that may stop a background program that writes to it
// (stty tostop). It drops messages of the face in this case. Errors are written directly.
type foregroundWriter struct {
	w          io.Writer
	background func() (background, stops bool)
}

func (c *foregroundWriter) Write(p []byte) (int, error) {
	if _, stops := c.background(); stops {
		return len(p), nil
	}
	return c.w.Write(p)
}

// fitAfter cuts s so that it fits after a prefix on the same line.
func (f *Face) fitAfter(prefix, s string) string {
	n := 0
	if f.streams.Width != nil {
		n = f.streams.Width()
	}
	if n <= 0 {
		n = 80
	}
	if n -= 1 + escape.Columns(prefix); n < 1 {
		return ""
	}
	return escape.Cut(s, n)
}
