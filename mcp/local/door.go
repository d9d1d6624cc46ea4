package local

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/stream/goroutine"
)

const (
	maxClients   = 256 // of one command that are served at once; more wait
	firstRequest = 10 * time.Second
)

// DoorVariable is the variable in the environment of a command that names its door: the descriptor
// and the inode of the pipe, or the path of the socket.
const DoorVariable = "TOOLPIPE_COMMAND"

const doorScheme = "door:"

// DoorAddress is the address of the door that the value of DoorVariable names.
func DoorAddress(value string) string { return doorScheme + value }

// DoorValue is the value of DoorVariable in an address. ok reports whether the address is of a
// door.
func DoorValue(address string) (value string, ok bool) { return strings.CutPrefix(address, doorScheme) }

// OnlyKey is the member of _meta that names the one tool that a client needs. The definitions of
// all tools would take longer than the call.
const OnlyKey = "toolpipe/only"

// errDoorClosed is the error for a door that nobody reads from.
var errDoorClosed = errors.New("the run does not serve this command: the command has ended, or the variable " + DoorVariable + " is a copy from another command")

// A Door lets the programs of one command call tools of the run that started the command.
//
// On Linux, it is a pipe without a name. The command inherits its write end, and the run reads
// from it. A client makes two more pipes, one for each direction, writes its first request, and
// then writes to the door its pid and the numbers of their descriptors. The run opens them under
// /proc/PID/fd:
//
//	program of the command                    run
//	door   "PID REQUESTS ANSWERS\n"    ──►    opens /proc/PID/fd/REQUESTS and ANSWERS
//	requests                           ──►    Door.Serve
//	answers                            ◄──    Door.Serve
//
// A sandbox without a network refuses socket(2), so the door cannot be one. A file, such as
// a FIFO, has a name: every other command of the run could read it, because Landlock has no rule
// that refuses a path. A pipe without a name can be reached only through a process that has it:
// by inheritance, or under /proc/PID/fd, which the kernel refuses to a process in another sandbox
// (ptrace(2), PTRACE_MODE_READ). So a client does not need to have inherited the door itself:
// subprocess of Python closes it, but a parent of the client still has it.
//
// The pid in a line may be a lie. The run opens pipes of descendants of the command alone; the
// kernel says who these are (process.Process.OpenPipe). Without a sandbox another process of the
// same user that is allowed to read the memory of the command can use the door through it.
//
// On other systems, where commands have no sandbox, the door is a Unix domain socket in a private
// directory. There every process of the user that knows its path can use it.
type Door struct {
	// Open is called when the command has started. The end of the context closes the door.
	Open func() context.Context
	// Serve serves client number client until it sends no more, or until ctx ends.
	Serve func(ctx context.Context, client int, r io.Reader, w io.Writer)
	// Closed is called when the door is closed and no client is left.
	Closed func()
}

// errEnded is the cause of the end of a client.
var errEnded = errors.New("the command has ended")

// keep keeps the door of a program open until the program or the context of Open ends, or until
// close, which waits for the end of admit.
func (d *Door) keep(p *process.Process, admit func(ctx context.Context)) (close func()) {
	ctx, stop := context.WithCancelCause(d.Open())
	goroutine.Start(func() {
		<-p.Done()
		stop(errEnded)
	})
	closed := goroutine.Done(func() {
		defer d.Closed()
		admit(ctx)
	})
	return func() {
		stop(errEnded)
		<-closed
	}
}
