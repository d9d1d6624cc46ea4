package stream

import (
	"bytes"
	"io"
	"net/http"
	"testing"
)

// decoded is what one response body gave.
type decoded struct {
	reply           *Reply
	err             error
	text, reasoning string // the deltas
	done            bool   // the end marker was seen
}

// bodyIn is a response body and how it arrives.
type bodyIn struct {
	api     string
	data    []byte
	reads   []int // sizes of the reads; the last one repeats; none: all at once
	broken  error // what ends the body in place of its end
	request Request
	slow    bool
	header  http.Header
}

// decode reads a body as a Client does, without a network.
func decode(t testing.TB, in bodyIn) decoded {
	t.Helper()
	d, err := findDialect(in.api)
	if err != nil {
		t.Fatal(err)
	}
	var got decoded
	var text, reasoning bytes.Buffer
	sink := &Sink{
		Text:      func(p []byte) error { text.Write(p); return nil },
		Reasoning: func(p []byte) error { reasoning.Write(p); return nil },
	}
	x := &exchange{client: &Client{dialect: d}, request: &in.request, sink: sink, draft: newDraft(&in.request, sink)}
	x.idle = newIdleTimer(hangGuard, func() { panic("decode hangs") })
	var dec decoder
	watched := *d
	watched.decoder = func(draft *draft) decoder {
		dec = d.decoder(draft)
		switch d := dec.(type) {
		case *chatDecoder:
			d.shape.off = in.slow
		case *messagesDecoder:
			d.shape.off = in.slow
		}
		return dec
	}
	x.client.dialect = &watched
	header := in.header
	if header == nil {
		header = http.Header{}
	}
	res := &response{status: 200, header: header, body: io.NopCloser(&scriptedReader{rest: in.data, sizes: in.reads, end: in.broken})}
	if got.err = x.read(res); got.err == nil {
		got.reply, got.err = x.draft.reply()
	}
	x.idle.pause()
	got.text, got.reasoning = text.String(), reasoning.String()
	switch d := dec.(type) {
	case *chatDecoder:
		got.done = d.done
	case *messagesDecoder:
		got.done = d.done
	case *responsesDecoder:
		got.done = d.done
	}
	return got
}

// scriptedReader returns its bytes in reads of the given sizes.
type scriptedReader struct {
	rest  []byte
	sizes []int
	end   error
}

func (r *scriptedReader) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.end != nil {
			return 0, r.end
		}
		return 0, io.EOF
	}
	n := len(r.rest)
	if len(r.sizes) > 0 {
		n = max(r.sizes[0], 1)
		if len(r.sizes) > 1 {
			r.sizes = r.sizes[1:]
		}
	}
	n = copy(p, r.rest[:min(n, len(r.rest))])
	r.rest = r.rest[n:]
	return n, nil
}

// textOfParts joins the text of parts.
func textOfParts(parts []Part) string {
	var b bytes.Buffer
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}
