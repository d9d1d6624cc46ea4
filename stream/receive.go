package stream

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/tidwall/gjson"
)

// read reads the body of a successful answer into the draft. The first bytes
// decide what kind of body it is, because servers send wrong headers.
func (x *exchange) read(res *http.Response) error {
	if enc := strings.ToLower(res.Header.Get("Content-Encoding")); enc != "" && enc != "identity" && enc != "gzip" {
		return notAReply("its Content-Encoding is " + quoteShort(enc) + ", which was not requested")
	}
	in := bufio.NewReaderSize(&watchedReader{r: http.MaxBytesReader(nil, res.Body, maxResponse), x: x}, maxHead)
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		z, err := gzip.NewReader(in)
		if err != nil {
			return notAReply("it is broken gzip")
		}
		in = bufio.NewReaderSize(http.MaxBytesReader(nil, z, maxResponse), maxHead)
	}
	first, err := skipBlank(in)
	if err != nil {
		return x.broken(err)
	}
	body, done := x.client.tee(res, in)
	x.decoder = x.client.dialect.decoder(x.draft)
	head, _ := in.Peek(min(in.Buffered(), 2*maxShown))
	sample := bytes.Clone(head)
	switch first {
	case 0:
		err = notAReply("its body is empty")
	case '<':
		e := notAReply("it is HTML (" + contentType(res) + "): " + x.shownError(head))
		e.Hint = x.hint(WrongPath, &refusal{status: 404})
		err = e
		io.Copy(io.Discard, io.LimitReader(body, int64(len(sample)))) // so that a recording contains the answer
	case '{', '[':
		err = x.readEvents(jsonEvents(body), true, sample)
	default:
		if x.client.buffer == nil {
			x.client.buffer = make([]byte, streamBuffer)
		}
		err = x.readEvents(eventsThrough(x.client.buffer, body, MaxEvent), false, sample)
	}
	done(err)
	if e, ok := errors.AsType[*Error](err); ok && (e.Kind == Malformed || e.Kind == Cut) && !x.draft.began {
		if api, other := apiOfReply(sample), x.client.cfg.Hints.OtherAPI; api != "" && api != x.client.dialect.name && other != nil {
			e.Hint = other(api)
		}
	}
	return err
}

// maxHead is how much of a body may be buffered before it is decoded.
const maxHead = 4 << 10

// skipBlank skips a byte order mark and white space, such as the blank lines that may keep a
// connection alive for long. It returns the next byte, 0 at the end of the body.
func skipBlank(in *bufio.Reader) (byte, error) {
	for {
		r, _, err := in.ReadRune()
		switch {
		case err == io.EOF:
			return 0, nil
		case err != nil:
			return 0, err
		case !strings.ContainsRune("\ufeff"+whiteSpace, r):
			in.UnreadRune()
			next, err := in.Peek(1)
			return next[0], err
		}
	}
}

func contentType(res *http.Response) string {
	if t := res.Header.Get("Content-Type"); t != "" {
		return clean(t, 80)
	}
	return "without a Content-Type"
}

// readEvents decodes events up to the end marker or their end. whole says that the first of
// them holds the complete reply.
func (x *exchange) readEvents(events iter.Seq2[Event, error], whole bool, sample []byte) error {
	d := x.draft
	for ev, err := range events {
		if d.finishReason != "" && (errors.Is(err, errStalled) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET)) {
			break // it was silent, or cut, after the important part
		} else if err != nil {
			return x.broken(err)
		}
		if len(ev.Data) == 0 {
			continue
		}
		x.events++
		err = x.decoder.event(ev)
		if err = cmp.Or(d.err, err); err == errEnd {
			break
		} else if err != nil {
			return x.complete(err)
		}
		if d.finishReason != "" { // some endpoints still send events after it
			x.idle.shorten(endSilence)
		}
	}
	if x.events == 0 {
		return notAReply("its body contains no event: " + x.shown(sample))
	}
	cut := d.finishReason == "" && !d.done
	switch {
	case !d.seen, whole && cut:
		return notAReply("it says " + x.shown(sample))
	case cut:
		return cutReply()
	}
	return x.complete(x.decoder.finish())
}

// streamBuffer is the size of the buffers for a reply. The sink flushes before each read, so a
// fast stream of small deltas causes one write per full buffer. The part of a buffer that no
// read has filled takes no memory.
const streamBuffer = 256 << 10

// endSilence is how long to wait for the end of a reply after its finish reason. Some endpoints
// send usage and further calls then, and no end marker.
const endSilence = 2 * time.Second

// parseEvent returns the JSON of an event. The error is errEnd for the end marker that all
// dialects may send, or a *refusal that the event reports.
func parseEvent(ev Event) (root gjson.Result, err error) {
	switch {
	case string(bytes.TrimSpace(ev.Data)) == "[DONE]":
		return root, errEnd
	case !valid(ev.Data):
		return root, badEvent(ev)
	}
	root = gjson.ParseBytes(ev.Data)
	if !bytes.Contains(ev.Data, []byte("error")) && ev.Name != "error" {
		return root, nil
	}
	if f := reportedRefusal(root, ev.Name); f != nil {
		return root, f
	}
	return root, nil
}

// jsonEvents yields one JSON value, and then the events after it. Some endpoints send the value
// in place of a stream, or before its other events.
func jsonEvents(in io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		body, err := io.ReadAll(io.LimitReader(in, MaxEvent+1))
		if err == nil && len(body) > MaxEvent {
			err = tooLong(MaxEvent)
		}
		n := valueLen(body)
		if yield(Event{Data: body[:n], Unfinished: true}, err) && err == nil {
			Events(bytes.NewReader(body[n:]), MaxEvent)(yield)
		}
	}
}

// valueLen returns the length of the JSON value that b begins with, all of b if it does not end.
func valueLen(b []byte) int {
	in := json.NewDecoder(bytes.NewReader(b))
	var value json.RawMessage
	if in.Decode(&value) != nil {
		return len(b)
	}
	return int(in.InputOffset())
}

// complete turns a refusal that a decoder found into an error, and returns any other error.
func (x *exchange) complete(err error) error {
	if f, ok := errors.AsType[*refusal](err); ok {
		return x.failed(f)
	}
	return err
}

// watchedReader reads the body from the network: it lets the sink flush
// before a wait, and bounds the wait.
type watchedReader struct {
	r io.Reader
	x *exchange
}

func (w *watchedReader) Read(p []byte) (int, error) {
	if idle := w.x.sink.Idle; idle != nil {
		if err := idle(); err != nil {
			w.x.draft.fail(err)
			return 0, err
		}
	}
	w.x.idle.start(w.x.events + w.x.draft.followed)
	n, err := w.r.Read(p)
	w.x.idle.pause()
	w.x.bytes += n
	w.x.bodyEnded = err == io.EOF
	return n, err
}
