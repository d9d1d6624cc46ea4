package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"toolpipe/approve"
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
	return asError(err).Exit()
}

// Interrupted is the cause that main gives when it cancels a run for a signal.
type Interrupted struct{ Signal syscall.Signal }

func (i *Interrupted) Error() string {
	if i.Signal == syscall.SIGINT {
		return "interrupted"
	}
	return "ended by signal: " + i.Signal.String()
}

func usageError(hints []string, format string, args ...any) *Error {
	return &Error{Status: StatusUsage, Message: fmt.Sprintf(format, args...), Hints: hints}
}

func usage(format string, args ...any) *Error { return usageError(nil, format, args...) }

// within is err with a place or a flag before its message; its hints stay.
func within(where string, err error) *Error {
	e := usage("%s: %v", where, err)
	if inner, ok := errors.AsType[*Error](err); ok {
		e.Hints = inner.Hints
	}
	return e
}

func limitError(hint, format string, args ...any) *Error {
	return &Error{Status: StatusLimit, Message: fmt.Sprintf(format, args...), Hints: []string{hint}}
}

// outputError is a failed write to stdout, to the log or to the recording.
func outputError(what string, err error) *Error {
	e := &Error{Status: StatusOutput, Message: what + ": " + cause(err), Cause: err}
	if errors.Is(err, syscall.EPIPE) && what == "standard output" {
		e.Signal = syscall.SIGPIPE
	}
	return e
}

// overtime is the cause of the context when --timeout is over.
type overtime struct {
	limit   time.Duration
	awaited string // when it was over
}

func (o *overtime) Error() string {
	s := "the run took longer than --timeout " + o.limit.String() + " allows"
	if o.awaited != "" {
		s += ", waiting for " + o.awaited
	}
	return s
}

// asError gives every error that can end a run its status: the one place where
// causes of the context and errors of the leaves are told apart.
func asError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if i, ok := errors.AsType[*Interrupted](err); ok {
		return &Error{Status: StatusInterrupted, Message: i.Error(), Signal: i.Signal, Cause: err}
	}
	if o, ok := errors.AsType[*overtime](err); ok {
		return limitError("--timeout gives the run more time", "%v", o)
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

// cause is err's last part, without the operation and the path that the
// message names already.
func cause(err error) string {
	if p, ok := errors.AsType[*os.PathError](err); ok {
		return p.Err.Error()
	}
	if p, ok := errors.AsType[*os.SyscallError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// PrintError prints the error of a run once, with its hints: in silence when
// the reader of stdout went away. When ctx has ended, a reader of stderr who
// does not read is waited for only a moment.
func PrintError(ctx context.Context, c *Config, s Streams, err error) {
	e := asError(err)
	if e.Signal != 0 && e.Status != StatusInterrupted {
		return
	}
	var b strings.Builder
	red, off := "", ""
	if c.colored(s) {
		red, off = "\x1b[1;31m", reset
	}
	fmt.Fprintf(&b, "toolpipe: %serror:%s %s\n", red, off, escapeLines(e.Message))
	for _, h := range e.Hints {
		fmt.Fprintf(&b, "toolpipe: hint: %s\n", escapeQuoted(h))
	}
	bounded(ctx, s.Err, nil).Write([]byte(b.String()))
}

// escapeLines makes a message safe for a terminal; its lines are kept, each
// with our own margin, so that none can pass for one of ours.
func escapeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = escapeQuoted(strings.TrimRight(lines[i], "\r"))
	}
	return strings.Join(lines, "\ntoolpipe: | ")
}

// escapeQuoted makes text safe for a terminal in which foreign words are
// quoted already: its backslashes stay as they are.
func escapeQuoted(s string) string {
	parts := strings.Split(s, `\`)
	for i := range parts {
		parts[i] = approve.Escape(parts[i])
	}
	return strings.Join(parts, `\`)
}
