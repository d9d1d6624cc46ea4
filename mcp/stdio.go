package mcp

import (
	"cmp"
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
	wire.FrameWriter

	closing sync.Once
}

// lastWrite is the time of the last Write, in Unix nanoseconds; 0 before any.
type lastWrite struct{ atomic.Int64 }

func (w *lastWrite) Write(p []byte) (int, error) {
	defer goroutine.Recover() // package exec calls it in its own goroutine
	w.Store(time.Now().UnixNano())
	return len(p), nil
}

// firstStderr is how much of the beginning of a server's stderr is kept, in bytes.
const firstStderr = 4 << 10

// startStdio starts a server. junk gets the lines of its stdout that are not messages, log
// gets the lines of its stderr. Its stdin and stdout are not pipes of exec.Cmd, because those
// are closed at the end of the child, before all output is read.
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
	c := &stdioTransport{in: in, out: out, FrameWriter: wire.NewFrameWriter(in, spec.Framing == "content-length")}
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

// silentFor is how long a server has been silent after a message that was sent at that time.
// Any output ends the silence, but after longest without an answer it counts as silent since
// sent. A server that has not read the message is still starting: a launcher such as npx may
// be installing it.
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

var errDirectory = errors.New("its working directory cannot be used")

// Receive returns io.EOF when the child closed its stdout or ended.
func (c *stdioTransport) Receive() ([]byte, error) {
	msg, err := c.frames.Next()
	if errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return msg, err
}

// endGrace is how long a server may take for each step of its end: after its stdin was
// closed, and after SIGTERM. The user waits for it at the end of a run.
const endGrace = 200 * time.Millisecond

// Close closes the child's stdin and ends its process group, within twice endGrace.
func (c *stdioTransport) Close() error {
	c.closing.Do(func() {
		c.in.Close()
		c.proc.End(endGrace)
		c.stderr.End()
		c.out.Close()
	})
	return nil
}

var errEnded = errors.New("the server ended")

// describeEnd describes the end of a child that closed its stdout, if it ends within a short
// time. For any other read error it kills the child.
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
