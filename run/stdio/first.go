package stdio

import (
	"bufio"
	"errors"
	"io"
	"time"

	"toolpipe/stream/goroutine"
)

// maxFirst is the longest line from First, in bytes.
const maxFirst = 64 << 10

// First returns the first line of r if it comes within this time, and a reader of all of r. A line
// longer than maxFirst is cut.
func First(r io.Reader, within time.Duration) (line []byte, whole io.Reader) {
	p := &peeked{came: make(chan struct{}), rest: bufio.NewReaderSize(r, maxFirst)}
	goroutine.Start(func() {
		defer close(p.came)
		part, err := p.rest.ReadSlice('\n')
		p.first = append(p.first, part...)
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			p.err = err
		}
	})
	if goroutine.Await(p.came, within) {
		line = p.first
	}
	return line, p
}

// peeked is a reader with a first line that is already read, or is being read.
type peeked struct {
	came  chan struct{} // closed when the first line is there
	first []byte        // the unread part of it
	err   error         // after it
	rest  *bufio.Reader
}

func (p *peeked) Read(b []byte) (int, error) {
	<-p.came
	if len(p.first) > 0 {
		n := copy(b, p.first)
		p.first = p.first[n:]
		return n, nil
	}
	if p.err != nil {
		return 0, p.err
	}
	return p.rest.Read(b)
}
