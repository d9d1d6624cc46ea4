package stream

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	"toolpipe/stream/secrets"
)

// A recording is a text file:
//
//	toolpipe recording 1
//	-- request --
//	{"model":"m","stream":true,…}
//	\
//	-- response 200 text/event-stream --
//	data: {…}
//	…
//	-- end --
//
// Bodies stand as they were. A body line that begins with a hyphen or a
// backslash gets a backslash before it; a line of one backslash says that the
// line break before it is not the body's. "-- cut --" in place of "-- end --"
// marks a transfer that broke. No header is stored but the status and the
// content type, and secrets are taken out of the bodies.
const recordingHead = "toolpipe recording 1\n"

// recorder writes a recording while exchanges are made.
type recorder struct {
	file    *os.File
	secrets *secrets.Set
	err     error // the first that came
}

func createRecording(path string, hidden *secrets.Set) (*recorder, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm() != 0o600 {
		if err := f.Chmod(0o600); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	r := &recorder{file: f, secrets: hidden}
	r.write([]byte(recordingHead))
	return r, nil
}

func (r *recorder) write(b []byte) {
	if _, err := r.file.Write(b); err != nil && r.err == nil {
		r.err = err
	}
}

func (r *recorder) request(b *body) {
	r.write([]byte("-- request --\n"))
	s := &section{recorder: r, lineStart: true}
	for _, part := range b.parts {
		s.Write(part)
	}
	s.close()
}

func (r *recorder) response(res *response) *section {
	r.write(fmt.Appendf(nil, "-- response %d %s --\n", res.status, r.secrets.Message().HideString(contentType(res))))
	return &section{recorder: r, lineStart: true}
}

func (r *recorder) close() error {
	return errors.Join(r.err, r.file.Close())
}

// section writes one body. Its Write never fails: a recording that cannot be
// written must not end the reply; close of the recorder tells.
type section struct {
	recorder  *recorder
	lineStart bool
	pieces    secrets.Pieces
	out       []byte
}

func (s *section) Write(p []byte) (int, error) {
	s.escape(s.pieces.Next(s.recorder.secrets.Content(), p))
	return len(p), nil
}

func (s *section) escape(p []byte) {
	out := s.out[:0]
	for len(p) > 0 {
		if s.lineStart && (p[0] == '-' || p[0] == '\\') {
			out = append(out, '\\')
		}
		i := bytes.IndexByte(p, '\n') + 1
		s.lineStart = i > 0
		if i == 0 {
			i = len(p)
		}
		out = append(out, p[:i]...)
		p = p[i:]
	}
	s.out = out
	s.recorder.write(out)
}

func (s *section) close() {
	s.escape(s.pieces.Rest(s.recorder.secrets.Content()))
	if !s.lineStart {
		s.recorder.write([]byte("\n\\\n"))
	}
}

// end ends a response; err is what the exchange ended with.
func (s *section) end(err error) {
	s.close()
	if e, ok := errors.AsType[*Error](err); err == nil || (ok && e.Cause == nil) {
		s.recorder.write([]byte("-- end --\n"))
	} else {
		s.recorder.write([]byte("-- cut --\n"))
	}
}
