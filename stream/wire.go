package stream

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// maxWireLine is the length at which the lines of the wire log are split.
const maxWireLine = 64 << 10

// tee returns a reader of in that copies to the recording and the wire log, and
// the function to call with the error of the exchange at its end.
func (c *Client) tee(res *http.Response, in io.Reader) (io.Reader, func(error)) {
	done := func(error) {}
	if c.cfg.Wire != nil {
		lines := &lineWriter{emit: func(line []byte) { c.wire('<', line) }}
		in, done = io.TeeReader(in, lines), func(error) { lines.flush() }
	}
	if c.recorder != nil {
		recorded, endLog := c.recorder.response(res), done
		in, done = io.TeeReader(in, recorded), func(err error) {
			endLog(err)
			recorded.end(err)
		}
	}
	return in, done
}

func (c *Client) wire(direction byte, line []byte) {
	c.cfg.Wire(direction, c.cfg.Secrets.Wire().Hide(line))
}

func (c *Client) wireRequest(req *http.Request, b *body) {
	if c.cfg.Wire == nil {
		return
	}
	c.wire('>', []byte(req.Method+" "+c.endpoint.origin+req.URL.EscapedPath()))
	c.wireHeader('>', req.Header)
	lines := &lineWriter{emit: func(line []byte) { c.wire('>', line) }}
	for _, part := range b.parts {
		lines.Write(part)
	}
	lines.flush()
}

func (c *Client) wireResponse(res *http.Response) {
	if c.cfg.Wire == nil {
		return
	}
	c.wire('<', []byte(res.Proto+" "+res.Status))
	c.wireHeader('<', res.Header)
}

func (c *Client) wireHeader(direction byte, h http.Header) {
	for _, name := range slices.Sorted(maps.Keys(h)) {
		value := strings.Join(h[name], ", ")
		if isSecretHeader(name) || slices.ContainsFunc(c.cfg.Headers, func(own Header) bool { return strings.EqualFold(own.Name, name) }) {
			value = "[removed]"
		}
		c.wire(direction, []byte(name+": "+value))
	}
	c.wire(direction, nil)
}

func isSecretHeader(name string) bool {
	switch strings.ToLower(name) {
	case "authorization", "x-api-key", "api-key", "cookie", "set-cookie", "proxy-authorization":
		return true
	}
	return false
}

// lineWriter gives each line that is written to emit, a long line in pieces.
type lineWriter struct {
	emit func(line []byte)
	rest []byte // of a line that has not ended
}

func (w *lineWriter) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		line, ended := bytes.CutSuffix(line, []byte{'\n'})
		for !ended && len(line) > 0 {
			n := min(len(line), maxWireLine)
			w.rest, line = append(w.rest, line[:n]...), line[n:]
			if len(w.rest) >= maxWireLine {
				w.flush()
			}
		}
		if ended {
			w.emit(append(w.rest, line...))
			w.rest = w.rest[:0]
		}
	}
	return len(p), nil
}

func (w *lineWriter) flush() {
	if len(w.rest) > 0 {
		w.emit(w.rest)
		w.rest = w.rest[:0]
	}
}
