package face

import (
	"io"
	"time"

	"toolpipe/run/event"
)

// Stdout is standard output for the answer. What it holds back is written before
// the face shows the next event.
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

// sharedStdout is standard output that may appear on the screen of the face.
type sharedStdout struct {
	f *Face
	w io.Writer
}

func (s *sharedStdout) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return s.w.Write(p)
	}
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

// foregroundWriter is stderr on a terminal that may stop a program that writes to
// it from the background (stty tostop). A message of the face is not worth that
// and is left out then; errors are not written through it.
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
