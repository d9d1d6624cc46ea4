package stream

import (
	"bytes"
	"io"
	"net/http"
	"sort"
	"strings"
)

// maxWireLine cuts the lines of the wire log.
const maxWireLine = 64 << 10

// tee returns in with its bytes going to the recording and the wire log as
// well, and what must be called with the end of the exchange.
func (c *Client) tee(res *response, in io.Reader) (io.Reader, func(error)) {
	done := func(error) {}
	if c.cfg.Wire != nil {
		lines := &lineWriter{emit: func(line []byte) { c.wire('<', line) }}
		in, done = io.TeeReader(in, lines), func(error) { lines.flush() }
	}
	if c.recorder != nil {
		section, logged := c.recorder.response(res), done
		in, done = io.TeeReader(in, section), func(err error) {
			logged(err)
			section.end(err)
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
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		value := strings.Join(h[name], ", ")
		if isSecretHeader(name) {
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

// lineWriter splits what is written into lines; a long one comes in pieces.
type lineWriter struct {
	emit func(line []byte)
	rest []byte
}

func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		switch {
		case i >= 0:
			w.rest = append(w.rest, p[:i]...)
			p = p[i+1:]
			w.emit(w.rest)
			w.rest = w.rest[:0]
		default:
			k := min(len(p), maxWireLine)
			w.rest = append(w.rest, p[:k]...)
			p = p[k:]
			if len(w.rest) >= maxWireLine {
				w.flush()
			}
		}
	}
	return n, nil
}

func (w *lineWriter) flush() {
	if len(w.rest) > 0 {
		w.emit(w.rest)
		w.rest = w.rest[:0]
	}
}
