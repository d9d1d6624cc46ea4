package face

import (
	"io"
	"time"

	"toolpipe/run/stdio"
)

// screen is standard output as it may appear on the screen of a face.
type screen struct {
	f *Face
	w io.Writer
}

// Out wraps standard output, unless nothing that goes there is seen here.
func (f *Face) Out(s stdio.Streams) io.Writer {
	if !s.ErrTerminal || s.OutFile {
		return s.Out
	}
	return &screen{f, s.Out}
}

func (s *screen) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return s.w.Write(p)
	}
	f := s.f
	f.mu.Lock()
	f.live.erase(f.w)
	if f.half && f.sameTTY {
		io.WriteString(f.w, "\n")
		f.half = false
	}
	f.writing, f.mid = true, p[len(p)-1] != '\n'
	f.mu.Unlock()
	n, err := s.w.Write(p)
	f.mu.Lock()
	f.writing, f.wrote = false, time.Now()
	f.mu.Unlock()
	return n, err
}

// foregroundWriter is stderr on a terminal that may stop who writes to it from the
// background (stty tostop). What the face shows is not worth that, and is left
// out then; errors do not go through here.
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
