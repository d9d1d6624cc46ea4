package stream

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"os"

	"toolpipe/stream/disk"
	"toolpipe/stream/text/secrets"
)

// A recording is a text file:
//
//	toolpipe recording 1
//	-- request chat --
//	{"model":"m","stream":true,…}
//	\
//	-- response 200 text/event-stream --
//	data: {…}
//	…
//	-- end --
//
// Bodies are stored as they were, without secrets. A line of a body that begins with a hyphen
// or a backslash gets a backslash before it; a line with only a backslash says that the line
// break before it does not belong to the body. The mark of a request names its dialect, and
// is "-- request chat openai --" if the form of the request is that for OpenAI. "-- cut --" in
// place of "-- end --" marks a transfer that broke. Of the headers only the status and the
// content type are stored. The lines of a Tape are before "-- request" and at the end.
const (
	recordingHead = "toolpipe recording 1\n"
	openAIMark    = " openai"
)

type recorder struct {
	file   *os.File
	tape   Tape
	inside bool  // the last request has no complete answer yet
	err    error // the first error of a write
}

func createRecording(path string, hidden *secrets.Set) (*recorder, error) {
	f, err := disk.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm() != 0o600 {
		if err := f.Chmod(0o600); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	r := &recorder{file: f, tape: Tape{hidden: hidden}}
	r.write([]byte(recordingHead))
	return r, nil
}

func (r *recorder) write(b []byte) {
	_, err := r.file.Write(b)
	r.err = cmp.Or(r.err, err)
}

func (r *recorder) request(d *dialect, b *body) {
	form := d.name
	if b.openAI {
		form += openAIMark
	}
	r.answers()
	r.inside = true
	r.write([]byte("-- request " + form + " --\n"))
	s := &bodyWriter{recorder: r, lineStart: true}
	b.writeTo(s)
	s.close()
}

func (r *recorder) response(res *http.Response) *bodyWriter {
	r.write(fmt.Appendf(nil, "-- response %d %s --\n", res.StatusCode, r.tape.hidden.Message().HideString(contentType(res))))
	return &bodyWriter{recorder: r, lineStart: true}
}

func (r *recorder) close() error {
	r.answers()
	return errors.Join(r.err, r.file.Close())
}

// answers writes the lines of the tape, but not into an exchange: the server of a tool may answer
// while the model is asked.
func (r *recorder) answers() {
	if r.inside {
		return
	}
	if lines := r.tape.lines(); lines != nil {
		r.write(lines)
	}
}

// bodyWriter writes one body of a recording. Its Write never fails, so that a recording that
// cannot be written does not end the reply; recorder.close returns the error.
type bodyWriter struct {
	recorder  *recorder
	lineStart bool
	pieces    secrets.Pieces
	out       []byte
}

func (w *bodyWriter) Write(p []byte) (int, error) {
	w.escape(w.pieces.Next(w.recorder.tape.hidden.Content(), p))
	return len(p), nil
}

func (w *bodyWriter) escape(p []byte) {
	out := w.out[:0]
	for line := range bytes.Lines(p) {
		if w.lineStart && (line[0] == '-' || line[0] == '\\') {
			out = append(out, '\\')
		}
		out = append(out, line...)
		w.lineStart = line[len(line)-1] == '\n'
	}
	w.out = out
	w.recorder.write(out)
}

func (w *bodyWriter) close() {
	w.escape(w.pieces.Rest(w.recorder.tape.hidden.Content()))
	if !w.lineStart {
		w.recorder.write([]byte("\n\\\n"))
	}
}

// end ends a response with the error of the exchange.
func (w *bodyWriter) end(err error) {
	w.close()
	w.recorder.inside = false
	if e, ok := errors.AsType[*Error](err); err == nil || (ok && e.Cause == nil) {
		w.recorder.write([]byte("-- end --\n"))
	} else {
		w.recorder.write([]byte("-- cut --\n"))
	}
}
