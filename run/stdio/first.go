package stdio

import (
	"bufio"
	"bytes"
	"io"
	"time"

	"toolpipe/stream/goroutine"
)

// maxFirst is the longest line from First, in bytes.
const maxFirst = 64 << 10

// First returns the first line of r if it comes within this time, and a reader of all of r. A line
// longer than maxFirst is cut.
func First(r io.Reader, within time.Duration) (line []byte, whole io.Reader) {
	p := &peeked{came: make(chan struct{})}
	goroutine.Start(func() {
		defer close(p.came)
		rest := bufio.NewReaderSize(r, maxFirst)
		part, err := rest.ReadSlice('\n')
		p.first = bytes.Clone(part)
		p.all = bytes.NewReader(p.first)
		if err != io.EOF {
			p.all = io.MultiReader(p.all, rest)
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
	first []byte
	all   io.Reader
}

func (p *peeked) Read(b []byte) (int, error) {
	<-p.came
	return p.all.Read(b)
}
