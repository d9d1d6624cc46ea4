package wire

import (
	"errors"
	"fmt"

	"toolpipe/stream/text/jsontext"
)

// ErrNotSent means that no byte of a message left this process.
var ErrNotSent = errors.New("not sent")

// ErrGone is the error for a peer that closed its side.
var ErrGone = errors.New("the server closed the connection")

type RPCError struct {
	Code    int
	Message string
	Data    []byte // raw; nil when absent
}

func (e *RPCError) Error() string {
	if e.Code == 0 { // the reply had no code
		return e.Message
	}
	return fmt.Sprintf("%s (code %d)", e.Message, e.Code)
}

func (e *RPCError) Reply(id []byte) []byte {
	b := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s`, id, e.Code, jsontext.Quoted(e.Message))
	if e.Data != nil {
		b = append(append(b, `,"data":`...), e.Data...)
	}
	return append(b, "}}"...)
}

// NoReplyError reports a request without a reply. If Sent is true, the outcome of a call is
// unknown.
type NoReplyError struct {
	Sent    bool   // the server may have got the request
	Message string // "": the message of Cause
	Cause   error  // may be nil if there is a message
}

func (e *NoReplyError) Error() string {
	if e.Message != "" {
		return e.Message
	}
	return e.Cause.Error()
}

func (e *NoReplyError) Unwrap() error { return e.Cause }

// MayHaveArrived reports whether the server may have received the request that failed with
// err.
func MayHaveArrived(err error) bool {
	e, ok := errors.AsType[*NoReplyError](err)
	return ok && e.Sent
}

// JoinErrors wraps all errors that are not nil, in one line.
func JoinErrors(errs ...error) (all error) {
	for _, err := range errs {
		switch {
		case all == nil:
			all = err
		case err != nil:
			all = fmt.Errorf("%w; %w", all, err)
		}
	}
	return all
}
