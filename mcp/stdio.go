package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
)

// stdioTransport is the Transport to a child process over its standard streams.
type stdioTransport struct {
	proc   *process.Process
	in     *os.File // the child's stdin
	out    *os.File // the child's stdout
	errs   *os.File // the child's stderr
	frames wire.FrameReader
	framed bool // Content-Length framing
	tail   *process.Tail
	read   chan struct{} // closed when stderr ended

	writing chan struct{} // one element: somebody writes
	broken  bool          // part of a message is out

	closing sync.Once
}

// startStdio starts a stdio server. junk is told of lines of its stdout
// that are no messages, log of the lines of its stderr.
func startStdio(spec *Spec, procs *process.Processes, junk func([]byte), log func(string)) (*stdioTransport, error) {
	env := process.ChildEnv(spec.Environ, spec.Env, spec.InheritEnv)
	path, err := process.LookPath(spec.Command[0], env)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{Path: path, Args: spec.Command, Env: env, Dir: spec.Dir}
	if cmd.Dir == "" {
		cmd.Dir = string(os.PathSeparator)
	}
	c := &stdioTransport{framed: spec.Framing == "content-length", tail: &process.Tail{Log: log}, read: make(chan struct{}), writing: make(chan struct{}, 1)}
	theirs, err := c.pipes(cmd)
	if err != nil {
		return nil, err
	}
	c.proc, err = procs.StartGroup(cmd, true)
	for _, f := range theirs {
		f.Close()
	}
	if err != nil {
		c.closeFiles()
		return nil, startError(cmd.Dir, err)
	}
	c.frames = wire.FrameReader{R: c.out, Junk: junk}
	goroutine.Start(func() {
		defer close(c.read)
		io.Copy(c.tail, c.errs)
		c.tail.End()
	})
	return c, nil
}

// errDirectory is a working directory that does not exist.
var errDirectory = errors.New("its working directory cannot be used")

// startError blames the directory where the system names the program for it.
func startError(dir string, err error) error {
	info, why := os.Stat(dir)
	if e, ok := errors.AsType[*os.PathError](why); ok {
		why = e.Err
	}
	if why == nil && !info.IsDir() {
		why = syscall.ENOTDIR
	}
	if why == nil {
		return err
	}
	return fmt.Errorf("%w: %q: %w", errDirectory, dir, why)
}

// pipes makes the three pipes and returns the child's ends. They are made
// here, not by exec.Cmd, so that no goroutine stands between and Wait waits
// for nobody.
func (c *stdioTransport) pipes(cmd *exec.Cmd) (theirs []*os.File, err error) {
	var stdin, stdout, stderr *os.File
	if stdin, c.in, err = os.Pipe(); err == nil {
		if c.out, stdout, err = os.Pipe(); err == nil {
			c.errs, stderr, err = os.Pipe()
		}
	}
	theirs = []*os.File{stdin, stdout, stderr}
	if err != nil {
		c.closeFiles()
		for _, f := range theirs {
			f.Close()
		}
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stderr
	return theirs, nil
}

func (c *stdioTransport) closeFiles() {
	for _, f := range []*os.File{c.in, c.out, c.errs} {
		f.Close()
	}
}

// Send writes the message in one piece. A pipe that stays full until ctx ends
// leaves the child with half a message: nothing can be sent after that.
func (c *stdioTransport) Send(ctx context.Context, msg []byte) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", wire.ErrNotSent, context.Cause(ctx))
	}
	frame := wire.AppendFrame(make([]byte, 0, len(msg)+40), msg, c.framed)
	select { // who writes may be held up by a full pipe for longer than ctx lasts
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", wire.ErrNotSent, context.Cause(ctx))
	}
	if c.broken {
		return fmt.Errorf("%w: %w", wire.ErrNotSent, errHalfSent)
	}
	n, err := c.write(ctx, frame)
	if err == nil {
		return nil
	}
	if n == 0 {
		return fmt.Errorf("%w: %w", wire.ErrNotSent, err)
	}
	c.broken = true
	return err
}

var errHalfSent = errors.New("the server does not read, part of an earlier message is still in the pipe")

// write writes until ctx ends. The deadline that ends it is gone when it
// returns: it would fail all that is written later.
func (c *stdioTransport) write(ctx context.Context, frame []byte) (int, error) {
	expired := make(chan struct{})
	stop := goroutine.AfterContext(ctx, func() {
		c.in.SetWriteDeadline(time.Unix(1, 0))
		close(expired)
	})
	n, err := c.in.Write(frame)
	if !stop() { // it has begun, perhaps not ended
		<-expired
		c.in.SetWriteDeadline(time.Time{})
	}
	if errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return n, err
}

// Receive returns io.EOF when the child closed its stdout or ended.
func (c *stdioTransport) Receive() ([]byte, error) {
	msg, err := c.frames.Next()
	if errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return msg, err
}

// Close goes down the ladder and returns when the child's group is gone.
func (c *stdioTransport) Close() error {
	c.closing.Do(func() {
		c.in.Close()
		c.proc.End(wire.ShutdownGrace)
		c.out.Close()
		c.awaitStderr()
		c.errs.Close()
	})
	return nil
}

// awaitStderr gives the last lines of a child that ended the time to be read.
func (c *stdioTransport) awaitStderr() {
	t := time.NewTimer(process.WaitDelay)
	defer t.Stop()
	select {
	case <-c.read:
	case <-t.C:
	}
}

// errEnded is why a child that ended cannot be used.
var errEnded = errors.New("the server ended")

// describeEnd waits a moment for a child that closed its stdout and says how it
// ended. One that cannot be understood any more is ended here.
func (c *stdioTransport) describeEnd(err error) error {
	if err != wire.ErrGone {
		c.proc.Kill()
		return err
	}
	t := time.NewTimer(process.WaitDelay)
	defer t.Stop()
	select {
	case <-c.proc.Done():
		c.awaitStderr()
		return fmt.Errorf("%w (%s)", errEnded, c.proc.State())
	case <-t.C:
		return err
	}
}
