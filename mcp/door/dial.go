package door

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
)

const scheme = "door:"

// Address is the address of the door that the value of Variable names.
func Address(value string) string { return scheme + value }

// Value is the value of Variable in an address. ok reports whether the address is of a door.
func Value(address string) (value string, ok bool) { return strings.CutPrefix(address, scheme) }

// OnlyKey is the member of _meta that names the one tool that a client needs. The definitions of
// all tools would take longer than the call.
const OnlyKey = "toolpipe/only"

// A Transport is the client's end.
type Transport struct {
	answers, requests *os.File
	frames            wire.FrameReader
	wire.FrameWriter

	door      *os.File
	announced sync.Once
	opened    sync.Once
	theirs    [2]*os.File // the other ends, until the run has opened them
	closed    chan struct{}
}

// errClosed is the error for a door that nobody reads from.
var errClosed = errors.New("the run does not serve this command: the command has ended, or the variable " + Variable + " is a copy from another command")

// Dial prepares to go through the door that value names. junk gets the lines that are not messages.
func Dial(value string, junk func([]byte)) (c *Transport, err error) {
	path, err := find(value)
	if err != nil {
		return nil, err
	}
	c = &Transport{closed: make(chan struct{})}
	if c.door, err = openDoor(path); err != nil || closed(c.door) {
		c.door.Close()
		return nil, errClosed
	}
	if c.theirs[0], c.requests, err = os.Pipe(); err == nil {
		c.answers, c.theirs[1], err = os.Pipe()
	}
	if err != nil {
		c.door.Close()
		c.Close()
		return nil, err
	}
	c.frames, c.FrameWriter = wire.FrameReader{R: c, Junk: junk}, wire.NewFrameWriter(c.requests, false)
	goroutine.Start(c.watch)
	return c, nil
}

// Send sends a message. The first one must fit into a pipe. It is there before the run knows the
// pipe, because the run gives up a client that sends nothing for a while, and on a busy machine an
// honest client can be slow.
func (c *Transport) Send(ctx context.Context, msg []byte) (err error) {
	if err = c.FrameWriter.Send(ctx, msg); err != nil {
		return err
	}
	c.announced.Do(func() {
		line := fmt.Sprintf("%d %d %d\n", os.Getpid(), c.theirs[0].Fd(), c.theirs[1].Fd())
		if _, failed := c.door.WriteString(line); failed != nil { // in one piece: write(2) of less than PIPE_BUF bytes to a pipe
			err = errClosed
		}
	})
	return err
}

// find finds the door among the descriptors of this process, its parents and the leader of its
// session: programs close descriptors for their children.
func find(value string) (path string, err error) {
	fd, number, _ := strings.Cut(value, ":")
	if n, err := strconv.Atoi(fd); err != nil || n < 0 {
		return "", errClosed
	}
	at := func(pid int) bool {
		path = "/proc/" + strconv.Itoa(pid) + "/fd/" + fd
		target, err := os.Readlink(path)
		return err == nil && target == "pipe:["+number+"]"
	}
	for pid := os.Getpid(); pid > 0; pid = parent(pid) {
		if at(pid) {
			return path, nil
		}
	}
	if at(session()) {
		return path, nil
	}
	return "", errClosed
}

// parent is the pid of the parent of a process; 0 for none.
func parent(pid int) int {
	stat, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:])) // from the third field on: proc_pid_stat(5)
	if len(fields) < 2 {
		return 0
	}
	ppid, _ := strconv.Atoi(fields[1])
	return ppid
}

// watchPause is how often a client that waits looks whether the door is still open.
const watchPause = 200 * time.Millisecond

// watch gives up when the door is closed before the run has opened the pipes.
func (c *Transport) watch() {
	defer c.door.Close()
	tick := time.NewTicker(watchPause)
	defer tick.Stop()
	for !closed(c.door) {
		select {
		case <-c.closed:
			return
		case <-tick.C:
		}
	}
	c.release()
}

// release closes the ends of the run, so that the end of the run becomes the end of the answers.
func (c *Transport) release() {
	c.opened.Do(func() {
		close(c.closed)
		c.theirs[0].Close()
		c.theirs[1].Close()
	})
}

// Read reads answers, for the frames.
func (c *Transport) Read(p []byte) (int, error) {
	n, err := c.answers.Read(p)
	c.release()
	return n, err
}

// Receive returns io.EOF when the run has closed the connection, or was killed.
func (c *Transport) Receive() ([]byte, error) { return c.frames.Next() }

func (c *Transport) Close() error {
	c.release()
	c.requests.Close()
	c.answers.Close()
	return nil
}
