package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
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
	frames wire.FrameReader
	stderr *process.Output
	heard  lastWrite // of the child, to stdout or stderr

	writing   chan struct{} // a lock for what follows: it holds one element
	truncated bool          // a message was sent in part

	closing sync.Once
}

// lastWrite is the time of the last Write, in Unix nanoseconds; 0 before any.
type lastWrite struct{ atomic.Int64 }

func (w *lastWrite) Write(p []byte) (int, error) {
	defer goroutine.Recover() // package exec calls it in a goroutine of its own
	w.Store(time.Now().UnixNano())
	return len(p), nil
}

// firstStderr is how much of the beginning of a server's stderr is kept, in bytes.
const firstStderr = 4 << 10

// startStdio starts a server. junk gets the lines of its stdout that are not
// messages, log those of its stderr. Its stdin and stdout are no pipes of exec.Cmd,
// which would be closed at the end of the child, with output that is not read yet.
func startStdio(spec *Spec, procs *process.Processes, junk func([]byte), log func(string)) (*stdioTransport, error) {
	dir := cmp.Or(spec.Dir, string(os.PathSeparator))
	if _, err := os.Stat(dir + "/."); err != nil { // the system would name the program instead
		return nil, fmt.Errorf("%w: %q: %w", errDirectory, dir, errors.Unwrap(err))
	}
	env := process.ChildEnv(spec.Environ, spec.Env, spec.InheritEnv)
	path, err := process.LookPath(spec.Command[0], env)
	if err != nil {
		return nil, err
	}
	stdin, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	out, stdout, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer stdout.Close()
	c := &stdioTransport{in: in, out: out, writing: make(chan struct{}, 1)}
	c.stderr = &process.Output{Head: firstStderr, Tail: process.MaxStderr, Log: log}
	c.frames = wire.FrameReader{R: io.TeeReader(out, &c.heard), Headed: spec.Framing == "content-length", Junk: junk}
	cmd := &exec.Cmd{Path: path, Args: spec.Command, Env: env, Dir: dir}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, io.MultiWriter(c.stderr, &c.heard)
	if c.proc, err = procs.StartGroup(cmd, true); err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	return c, nil
}

// silentFor is for how long a server has been silent that was sent a message at
// that time: not for longer than since it wrote anything, but for longest if it
// writes all that time and does not answer. A server that has not read the
// message is not silent but starting: a launcher such as npx may be installing it.
func (c *stdioTransport) silentFor(sent time.Time, longest time.Duration) time.Duration {
	now := time.Now()
	if process.Unread(c.in) {
		c.heard.Write(nil)
		return 0
	}
	if d := now.Sub(sent); d >= longest {
		return d
	}
	return min(now.Sub(sent), now.Sub(time.Unix(0, c.heard.Load())))
}

// errDirectory is why a server cannot start in its working directory.
var errDirectory = errors.New("its working directory cannot be used")

// Send writes the message in one piece. When the pipe stays full until ctx ends,
// the child has part of the message, and nothing can be sent any more.
func (c *stdioTransport) Send(ctx context.Context, msg []byte) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%w: %w", wire.ErrNotSent, context.Cause(ctx))
	}
	frame := wire.AppendFrame(make([]byte, 0, len(msg)+40), msg, c.frames.Headed)
	select { // a full pipe may block the current writer for longer than ctx lasts
	case c.writing <- struct{}{}:
		defer func() { <-c.writing }()
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", wire.ErrNotSent, context.Cause(ctx))
	}
	if c.truncated {
		return fmt.Errorf("%w: the server does not read, part of an earlier message is still in the pipe", wire.ErrNotSent)
	}
	n, err := c.write(ctx, frame)
	if err == nil {
		return nil
	}
	if n == 0 {
		return fmt.Errorf("%w: %w", wire.ErrNotSent, err)
	}
	c.truncated = true
	return err
}

// write writes until ctx ends. It removes the deadline that ended it, for the
// writes that follow.
func (c *stdioTransport) write(ctx context.Context, frame []byte) (int, error) {
	expired := make(chan struct{})
	stop := goroutine.AfterContext(ctx, func() {
		c.in.SetWriteDeadline(time.Unix(1, 0))
		close(expired)
	})
	n, err := c.in.Write(frame)
	if !stop() { // the function has begun, perhaps not ended
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

// endGrace is how long a server may take for each step of its end: after its
// stdin was closed, and after SIGTERM. The user waits for it, with the answer.
const endGrace = 200 * time.Millisecond

// Close closes the child's stdin, ends its process group within twice endGrace
// and returns then.
func (c *stdioTransport) Close() error {
	c.closing.Do(func() {
		c.in.Close()
		c.proc.End(endGrace)
		c.stderr.End()
		c.out.Close()
	})
	return nil
}

// errEnded is why a child that ended cannot be used.
var errEnded = errors.New("the server ended")

// describeEnd says how a child ended that closed its stdout, if it ends within a
// short time. For any other error of reading it kills the child.
func (c *stdioTransport) describeEnd(err error) error {
	if err != wire.ErrGone {
		c.proc.Kill()
		return err
	}
	if c.proc.EndsWithin(process.WaitDelay) {
		return fmt.Errorf("%w (%s)", errEnded, c.proc.State())
	}
	return err
}
