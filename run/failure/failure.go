// Package failure is the errors that end a run: each has a status, which the
// end event names and the exit status follows from, and hints that get the
// user out.
package failure

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"toolpipe/stream"
)

// Status is how a run ended: the status field of the end event. Each has one
// exit status, see Exit.
type Status string

// The statuses of DESIGN part 6.
const (
	StatusOK          Status = "ok"
	StatusTool        Status = "tool"        // only --call: the tool reported an error or was refused
	StatusUsage       Status = "usage"       // flags, input, config, policy
	StatusModel       Status = "model"       // unreachable, refused, cut off, malformed, content filter
	StatusServer      Status = "server"      // a required tool server failed
	StatusUnapproved  Status = "unapproved"  // a call needed an approval that nobody could give
	StatusLimit       Status = "limit"       // rounds, time, tokens, the answer's length
	StatusUnknown     Status = "unknown"     // a call's outcome is unknown and there is no answer
	StatusOutput      Status = "output"      // the output could not be written
	StatusInternal    Status = "internal"    // a defect of toolpipe
	StatusInterrupted Status = "interrupted" // ended by a signal
)

var exits = map[Status]int{
	StatusOK: 0, StatusTool: 1, StatusUsage: 2, StatusModel: 3, StatusServer: 4, StatusUnapproved: 5,
	StatusLimit: 6, StatusUnknown: 7, StatusOutput: 8, StatusInternal: 70,
}

// Error ends a run. Message has the form "what: cause", lower-case; Hints get
// the user out, one line each.
type Error struct {
	Status  Status
	Message string
	Hints   []string
	Signal  syscall.Signal // for StatusInterrupted, and SIGPIPE when the reader of stdout went away
	Cause   error
}

func (e *Error) Error() string { return e.Message }
func (e *Error) Unwrap() error { return e.Cause }

// Exit is the exit status that goes with e: for a signal 128 and its number.
func (e *Error) Exit() int {
	if e.Signal != 0 {
		return 128 + int(e.Signal)
	}
	return exits[e.Status]
}

// ExitStatus is the exit status of a run that returned err.
func ExitStatus(err error) int {
	if err == nil {
		return 0
	}
	return Of(err).Exit()
}

// Interrupted is the cause that main gives when it cancels a run for a signal.
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

// Within is err with a place or a flag before its message; its hints stay.
func Within(where string, err error) *Error {
	e := Usage("%s: %v", where, err)
	if inner, ok := errors.AsType[*Error](err); ok {
		e.Hints = inner.Hints
	}
	return e
}

func Limit(hint, format string, args ...any) *Error {
	return &Error{Status: StatusLimit, Message: fmt.Sprintf(format, args...), Hints: []string{hint}}
}

// Output is a failed write to stdout, to the log or to the recording.
func Output(what string, err error) *Error {
	e := &Error{Status: StatusOutput, Message: what + ": " + Cause(err), Cause: err}
	if errors.Is(err, syscall.EPIPE) && what == "standard output" {
		e.Signal = syscall.SIGPIPE
	}
	return e
}

// Overtime is the cause of the context when --timeout is over.
type Overtime struct {
	Limit   time.Duration
	Awaited string // when it was over
}

func (o *Overtime) Error() string {
	s := "the run took longer than --timeout " + o.Limit.String() + " allows"
	if o.Awaited != "" {
		s += ", waiting for " + o.Awaited
	}
	return s
}

// Of gives every error that can end a run its status: the one place where
// causes of the context and errors of the leaves are told apart.
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
	if m, ok := errors.AsType[*stream.Error](err); ok {
		e := &Error{Status: StatusModel, Message: "model: " + m.Message, Cause: err}
		if m.Hint != "" {
			e.Hints = strings.Split(m.Hint, "\n")
		}
		return e
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return &Error{Status: StatusInterrupted, Message: "cancelled", Signal: syscall.SIGTERM, Cause: err}
	}
	return &Error{Status: StatusInternal, Message: "defect: " + err.Error(), Hints: []string{"this is an error of toolpipe itself; please report the line above"}, Cause: err}
}

// Cause is err's last part, without the operation and the path that the
// message names already.
func Cause(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err.Error()
	}
	if p, ok := errors.AsType[*os.SyscallError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// IsCancelled tells whether err is the end of the run and not a server's own.
func IsCancelled(err error) bool {
	if _, ok := errors.AsType[*Interrupted](err); ok {
		return true
	}
	if _, ok := errors.AsType[*Overtime](err); ok {
		return true
	}
	return errors.Is(err, context.Canceled)
}

// ErrLength is the cause of the limit error of an answer that was cut at the
// model's token limit.
var ErrLength = errors.New("the answer reached its length limit")
