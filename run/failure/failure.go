// Package failure defines the errors that end a run. Each has a status, from which the end event
// and the exit status follow, and hints for the user.
package failure

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// Status is how a run ended: the status field of the end event. Each has one exit status, see Exit.
type Status string

const (
	StatusOK          Status = "ok"
	StatusTool        Status = "tool"        // only --call: the tool reported an error or was refused
	StatusUsage       Status = "usage"       // flags, input, config, policy
	StatusModel       Status = "model"       // unreachable, refused, cut off, malformed, content filter, no text
	StatusServer      Status = "server"      // a required tool server failed
	StatusUnapproved  Status = "unapproved"  // a call needed an approval that nobody could give
	StatusLimit       Status = "limit"       // rounds, time, tokens, cost, the answer's length
	StatusUnknown     Status = "unknown"     // a call's outcome is unknown and there is no answer
	StatusOutput      Status = "output"      // the output could not be written
	StatusInternal    Status = "internal"    // a defect of toolpipe
	StatusInterrupted Status = "interrupted" // ended by a signal
)

func exits() map[Status]int {
	return map[Status]int{
		StatusOK: 0, StatusTool: 1, StatusUsage: 2, StatusModel: 3, StatusServer: 4, StatusUnapproved: 5,
		StatusLimit: 6, StatusUnknown: 7, StatusOutput: 8, StatusInternal: 70,
	}
}

// Error ends a run. Message has the form "what: cause", lower-case. Hints say how to solve the
// problem, one line each.
type Error struct {
	Status  Status
	Message string
	Hints   []string
	Model   ModelFacts     // for StatusModel, as far as they are known
	Signal  syscall.Signal // for StatusInterrupted, and SIGPIPE if the reader of stdout is gone
	Cause   error
}

// ModelFacts describe a failure of a model for programs, which need them to decide about another
// try. Without a Kind nothing is known. The end event has them with these tags.
type ModelFacts struct {
	Kind       string        `event:"kind"`
	HTTPStatus int           `event:"http_status,opt"`    // 0 for none
	Code       string        `event:"code,opt"`           // the endpoint's own word, "" for none
	Retryable  bool          `event:"retryable"`          // the same run may succeed later
	RetryAfter time.Duration `event:"retry_after_ms,opt"` // the wait that the endpoint asks for, 0 for none
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.Cause }

func (e *Error) Exit() int {
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return exits()[e.Status]
}

func ExitStatus(err error) int {
	if err == nil {
		return 0
	}
	return Of(err).Exit()
}

// Interrupted is the cause with which main cancels a run after a signal.
type Interrupted struct{ Signal syscall.Signal }

func (i *Interrupted) Error() string {
	if i.Signal == syscall.SIGINT {
		return "interrupted"
	}
	return "ended by signal: " + i.Signal.String()
}

func UsageError(hints []string, format string, args ...any) *Error {
	return &Error{Status: StatusUsage, Message: fmt.Sprintf(format, args...), Hints: hints}
}

func Usage(format string, args ...any) *Error { return UsageError(nil, format, args...) }

// Within returns err with a position or a flag before its message, and with its hints.
func Within(where string, err error) *Error {
	e := Usage("%s: %v", where, err)
	if inner, ok := errors.AsType[*Error](err); ok {
		e.Hints = inner.Hints
	}
	return e
}

// Limit returns the error for a limit that was reached. hint says what raises the limit.
func Limit(hint, format string, args ...any) *Error {
	return &Error{Status: StatusLimit, Message: fmt.Sprintf(format, args...), Hints: []string{hint}}
}

// Output returns the error for a failed write to stdout, the log or the recording. It begins with
// what, the name of the target.
func Output(what string, err error) *Error {
	e := &Error{Status: StatusOutput, Message: what + ": " + Cause(err), Cause: err}
	if what == "standard output" && errors.Is(err, syscall.EPIPE) {
		e.Signal = syscall.SIGPIPE
	}
	if what == "standard output" && errors.Is(err, syscall.EBADF) {
		e.Hints = []string{"it is closed, or it is /dev/null opened for reading too: to drop the answer, open /dev/null only for writing"}
	}
	return e
}

// Overtime is the cause of the context after --timeout.
type Overtime struct {
	Limit   time.Duration
	Awaited string // what the run was waiting for
}

func (o *Overtime) Error() string {
	s := "the run took longer than --timeout " + o.Limit.String() + " allows"
	if o.Awaited != "" {
		s += ", waiting for " + o.Awaited
	}
	return s
}

// A modelError is an error of the client of the model (stream.Error).
type modelError interface {
	error
	ModelHints() []string
	Facts() (kind string, status int, code string, again bool, after time.Duration)
}

// Of returns the Error that err is or wraps. Other errors that can end a run get their status here:
// a signal, --timeout, an error of the model. Any other error is a defect.
func Of(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if i, ok := errors.AsType[*Interrupted](err); ok {
		return &Error{Status: StatusInterrupted, Message: i.Error(), Signal: i.Signal, Cause: err}
	}
	if o, ok := errors.AsType[*Overtime](err); ok {
		return Limit("--timeout gives the run more time", "%v", o)
	}
	if m, ok := errors.AsType[modelError](err); ok {
		e := &Error{Status: StatusModel, Message: "model: " + m.Error(), Hints: m.ModelHints(), Cause: err}
		e.Model.Kind, e.Model.HTTPStatus, e.Model.Code, e.Model.Retryable, e.Model.RetryAfter = m.Facts()
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Error{Status: StatusInterrupted, Message: "cancelled", Signal: syscall.SIGTERM, Cause: err}
	}
	return &Error{Status: StatusInternal, Message: "defect: " + err.Error(), Hints: []string{"this is an error of toolpipe itself; please report the line above"}, Cause: err}
}

// Cause is the system's error text, without the operation and the path, which the message contains
// already.
func Cause(err error) string {
	if e, ok := errors.AsType[syscall.Errno](err); ok {
		return e.Error()
	}
	return err.Error()
}

// IsCancelled reports whether err comes from the end of the run: a signal, --timeout, or a
// cancelled context.
func IsCancelled(err error) bool {
	_, interrupted := errors.AsType[*Interrupted](err)
	_, late := errors.AsType[*Overtime](err)
	return interrupted || late || errors.Is(err, context.Canceled)
}

// ErrLength is the cause of the limit error for an answer that was cut at the model's token limit.
var ErrLength = errors.New("the answer reached its length limit")
