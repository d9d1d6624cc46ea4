package stream

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"

	"toolpipe/stream/text/secrets"
)

// maxWireLine is the length of the longest line of the wire log.
const maxWireLine = 64 << 10

// tee returns a reader of in that copies to the recording and the wire log, and
// the function to call with the error of the exchange at its end.
func (c *Client) tee(res *http.Response, in io.Reader) (io.Reader, func(error)) {
	done := func(error) {}
	if c.cfg.Wire != nil {
		lines := c.wireLines('<')
		in, done = io.TeeReader(in, lines), func(error) { lines.flush() }
	}
	if c.recorder != nil && res.Request.Method == http.MethodPost { // a list of models is not recorded
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

// wireHead logs the first line and the headers of a request or of an answer.
func (c *Client) wireHead(direction byte, first string, h http.Header) {
	if c.cfg.Wire == nil {
		return
	}
	c.wire(direction, []byte(first))
	for _, name := range slices.Sorted(maps.Keys(h)) {
		value := strings.Join(h[name], ", ")
		if isSecretHeader(name) || slices.ContainsFunc(c.cfg.Headers, func(own Header) bool { return strings.EqualFold(own.Name, name) }) {
			value = "[removed]"
		}
		c.wire(direction, []byte(name+": "+value))
	}
	c.wire(direction, nil)
}

func (c *Client) wireRequest(req *http.Request, b *body) {
	c.wireHead('>', req.Method+" "+c.endpoint.origin+req.URL.EscapedPath(), req.Header)
	if c.cfg.Wire == nil {
		return
	}
	lines := c.wireLines('>')
	b.writeTo(lines)
	lines.flush()
}

func isSecretHeader(name string) bool {
	return slices.Contains([]string{"authorization", "x-api-key", "api-key", "cookie", "set-cookie", "proxy-authorization"}, strings.ToLower(name))
}

// lineWriter passes each line that is written to emit, without the secrets, and a long line in
// pieces.
type lineWriter struct {
	emit    func(line []byte)
	finder  *secrets.Finder
	secrets secrets.Pieces // of a line that is emitted in pieces
	rest    []byte         // of a line that has not ended
}

func (c *Client) wireLines(direction byte) *lineWriter {
	return &lineWriter{
		emit:   func(line []byte) { c.cfg.Wire(direction, line) },
		finder: c.cfg.Secrets.Wire(),
	}
}

func (w *lineWriter) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		line, ended := bytes.CutSuffix(line, []byte{'\n'})
		for piece := range slices.Chunk(line, maxWireLine) {
			if len(w.rest)+len(piece) > maxWireLine {
				w.emit(w.secrets.Next(w.finder, w.rest))
				w.rest = w.rest[:0]
			}
			w.rest = append(w.rest, piece...)
		}
		if ended {
			w.end()
		}
	}
	return len(p), nil
}

// end passes the rest of a line to emit.
func (w *lineWriter) end() {
	line := slices.Clone(w.secrets.Next(w.finder, w.rest))
	w.emit(append(line, w.secrets.Rest(w.finder)...))
	w.rest = w.rest[:0]
}

// flush passes the unfinished line to emit, if there is one.
func (w *lineWriter) flush() {
	if len(w.rest) > 0 {
		w.end()
	}
}
