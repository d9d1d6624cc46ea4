//go:build !portable

package local

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"toolpipe/mcp/wire"
	"toolpipe/stream/goroutine"
)

// A doorTransport is the client's end of a door.
type doorTransport struct {
	answers, requests *os.File
	frames            wire.FrameReader
	wire.FrameWriter

	door      *os.File
	announced sync.Once
	opened    sync.Once
	theirs    [2]*os.File // the other ends, until the run has opened them
	closed    chan struct{}
}

// DialDoor prepares to go through the door that value names. junk gets the lines that are not messages.
func DialDoor(value string, junk func([]byte)) (c *doorTransport, err error) {
	path, err := find(value)
	if err != nil {
		return nil, err
	}
	c = &doorTransport{closed: make(chan struct{})}
	if c.door, err = openDoor(path); err != nil || closed(c.door) {
		c.door.Close()
		return nil, errDoorClosed
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
func (c *doorTransport) Send(ctx context.Context, msg []byte) (err error) {
	if err = c.FrameWriter.Send(ctx, msg); err != nil {
		return err
	}
	c.announced.Do(func() {
		line := fmt.Sprintf("%d %d %d\n", os.Getpid(), c.theirs[0].Fd(), c.theirs[1].Fd())
		if _, failed := c.door.WriteString(line); failed != nil { // in one piece: write(2) of less than PIPE_BUF bytes to a pipe
			err = errDoorClosed
		}
	})
	return err
}

// find finds the door among the descriptors of this process, its parents and the leader of its
// session: programs close descriptors for their children.
func find(value string) (path string, err error) {
	fd, number, _ := strings.Cut(value, ":")
	if n, err := strconv.Atoi(fd); err != nil || n < 0 {
		return "", errDoorClosed
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
	return "", errDoorClosed
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
func (c *doorTransport) watch() {
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
func (c *doorTransport) release() {
	c.opened.Do(func() {
		close(c.closed)
		c.theirs[0].Close()
		c.theirs[1].Close()
	})
}

// Read reads answers, for the frames.
func (c *doorTransport) Read(p []byte) (int, error) {
	n, err := c.answers.Read(p)
	c.release()
	return n, err
}

// Receive returns io.EOF when the run has closed the connection, or was killed.
func (c *doorTransport) Receive() ([]byte, error) { return c.frames.Next() }

func (c *doorTransport) Close() error {
	c.release()
	c.requests.Close()
	c.answers.Close()
	return nil
}

func openDoor(path string) (*os.File, error) {
	fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), path), nil
}

// closed reports whether nobody reads from the door any more. A pipe without a name can be opened
// even then.
func closed(door *os.File) (is bool) {
	connection, err := door.SyscallConn()
	if err != nil {
		return true
	}
	connection.Control(func(fd uintptr) {
		const pollErr = 8 // poll(2)
		p := struct {
			fd              int32
			events, revents int16
		}{fd: int32(fd)}
		syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&syscall.Timespec{})), 0, 0, 0)
		is = p.revents&pollErr != 0
	})
	return is
}

func session() int {
	leader, _, _ := syscall.RawSyscall(syscall.SYS_GETSID, 0, 0, 0)
	return int(leader)
}
