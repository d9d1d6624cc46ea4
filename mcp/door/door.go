// Package door lets the programs of a command call tools of the run that started the command.
// MCP goes through it, one message per line.
//
// The door is a pipe without a name. The command inherits its write end, and the run reads
// from it. A client makes two more pipes, one for each direction, writes its first request, and then
// writes to the door its pid and the numbers of their descriptors. The run opens them under
// /proc/PID/fd:
//
//	program of the command                    run
//	door   "PID REQUESTS ANSWERS\n"    ──►    opens /proc/PID/fd/REQUESTS and ANSWERS
//	requests                           ──►    Host.Serve
//	answers                            ◄──    Host.Serve
//
// A sandbox without a network refuses socket(2), so the door cannot be a socket. A file, such as
// a FIFO, has a name: every other command of the run could read it, because Landlock has no rule
// that refuses a path. A pipe without a name can be reached only through a process that has it:
// by inheritance, or under /proc/PID/fd, which the kernel refuses to a process in another sandbox
// (ptrace(2), PTRACE_MODE_READ). So a client does not need to have inherited the door itself:
// subprocess of Python closes it, but a parent of the client still has it.
//
// The pid in a line may be a lie. The run opens pipes of descendants of the command alone; the
// kernel says who these are (process.Process.OpenPipe). Without a sandbox another process of the
// same user that is allowed to read the memory of the command can use the door through it.
package door

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/stream/goroutine"
)

// Variable is the variable in the environment of a command that names its door: the descriptor
// and the inode of the pipe.
const Variable = "TOOLPIPE_COMMAND"

// descriptor is the number of the door in a command. Scripts use small numbers.
const descriptor = 97

const (
	maxClients   = 256 // of one command that are served at once; more wait
	maxLine      = 64  // bytes of a line in the door
	firstRequest = 10 * time.Second
	unreadLimit  = 10 * time.Minute // how long a client may leave an answer unread
	endLimit     = time.Second      // the same after the end of the command
)

// A Host serves the clients of one command.
type Host struct {
	// Open is called when the command has started. The end of the context closes the door.
	Open func() context.Context
	// Serve serves client number client until it sends no more, or until ctx ends.
	Serve func(ctx context.Context, client int, r io.Reader, w io.Writer)
	// Closed is called when the door is closed and no client is left.
	Closed func()
}

// Start starts cmd by start, with a door. The door is closed when the process has ended. close
// closes it earlier. Both end the clients and wait for them.
func (h *Host) Start(cmd *exec.Cmd, start func(*exec.Cmd) (*process.Process, error)) (p *process.Process, close func(), err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer out.Close()
	cmd.ExtraFiles = append(make([]*os.File, descriptor-3), out)
	cmd.Env = append(slices.Clip(cmd.Env), fmt.Sprintf("%s=%d:%d", Variable, descriptor, inode(in)))
	if p, err = start(cmd); err != nil {
		in.Close()
		return nil, nil, err
	}
	ctx, stop := context.WithCancelCause(h.Open())
	goroutine.Start(func() {
		<-p.Done()
		stop(errEnded)
	})
	closed := goroutine.Done(func() { h.admit(ctx, p, in) })
	return p, func() {
		stop(errEnded)
		<-closed
	}, nil
}

// errEnded is the cause of the end of a client.
var errEnded = errors.New("the command has ended")

// admit serves clients until ctx ends. It reads no further line while too many are served.
func (h *Host) admit(ctx context.Context, p *process.Process, in *os.File) {
	defer h.Closed()
	var clients sync.WaitGroup
	defer clients.Wait()
	defer in.Close()
	defer goroutine.AfterContext(ctx, func() { in.SetReadDeadline(time.Unix(1, 0)) })()
	own, slots := inode(in), make(chan struct{}, maxClients)
	lines := bufio.NewReaderSize(in, maxLine)
	for n := 1; ; n++ {
		line, err := lines.ReadSlice('\n')
		if err != nil && err != bufio.ErrBufferFull {
			return
		}
		c, err := parseLine(line)
		if err != nil {
			continue // nobody can be answered
		}
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		goroutine.StartIn(&clients, func() {
			defer func() { <-slots }()
			if err := c.open(p, own); err == nil {
				h.serve(ctx, n, c)
			}
		})
	}
}

// A client is a program of the command at the other end of two pipes.
type client struct {
	pid              int
	requests, answer int // descriptors of the program
	in, out          *os.File
	ctx              context.Context
	heard            bool // it has sent something
}

func parseLine(line []byte) (*client, error) {
	c := &client{}
	_, err := fmt.Sscanf(string(line), "%d %d %d\n", &c.pid, &c.requests, &c.answer)
	if err == nil && (c.pid <= 0 || c.requests < 0 || c.answer < 0) {
		err = errors.New("no client has these numbers")
	}
	return c, err
}

// open opens the pipes of the client. They must be two pipes, and neither may be the door.
func (c *client) open(p *process.Process, door uint64) (err error) {
	if c.in, err = p.OpenPipe(c.pid, c.requests, os.O_RDONLY); err != nil {
		return err
	}
	if c.out, err = p.OpenPipe(c.pid, c.answer, os.O_WRONLY); err != nil {
		c.in.Close()
		return err
	}
	if in, out := inode(c.in), inode(c.out); in == out || in == door || out == door {
		c.close()
		return errors.New("the pipes are not two of the client")
	}
	return nil
}

func (c *client) close() {
	c.in.Close()
	c.out.Close()
}

func (h *Host) serve(ctx context.Context, n int, c *client) {
	defer c.close()
	c.ctx = ctx
	c.in.SetReadDeadline(time.Now().Add(firstRequest))
	defer goroutine.AfterContext(ctx, func() {
		c.in.SetReadDeadline(time.Unix(1, 0))
		c.out.SetWriteDeadline(time.Now().Add(endLimit))
	})()
	h.Serve(ctx, n, c, c)
}

// Read reads a request. A client that has sent one may take its time for the next.
func (c *client) Read(p []byte) (int, error) {
	n, err := c.in.Read(p)
	if c.heard {
		return n, err
	}
	c.heard = true
	if c.in.SetReadDeadline(time.Time{}); c.ctx.Err() != nil {
		c.in.SetReadDeadline(time.Unix(1, 0))
	}
	return n, err
}

func (c *client) Write(p []byte) (int, error) {
	if c.out.SetWriteDeadline(time.Now().Add(unreadLimit)); c.ctx.Err() != nil {
		c.out.SetWriteDeadline(time.Now().Add(endLimit))
	}
	return c.out.Write(p)
}

func inode(f *os.File) uint64 {
	if info, err := f.Stat(); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			return uint64(stat.Ino)
		}
	}
	return 0
}
