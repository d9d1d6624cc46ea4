//go:build !portable

package local

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"time"

	"toolpipe/mcp/process"
	"toolpipe/stream/goroutine"
)

// descriptor is the number of the door in a command. Scripts use small numbers.
const descriptor = 97

const maxLine = 64 // bytes of a line in the door

// Start starts cmd by start, with a door. The door is closed when the process has ended. close
// closes it earlier. Both end the clients and wait for them.
func (d *Door) Start(cmd *exec.Cmd, start func(*exec.Cmd) (*process.Process, error)) (p *process.Process, close func(), err error) {
	in, out, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer out.Close()
	cmd.ExtraFiles = append(make([]*os.File, descriptor-3), out)
	cmd.Env = append(slices.Clip(cmd.Env), fmt.Sprintf("%s=%d:%d", DoorVariable, descriptor, inode(in)))
	if p, err = start(cmd); err != nil {
		in.Close()
		return nil, nil, err
	}
	return p, d.keep(p, func(ctx context.Context) { d.admit(ctx, p, in) }), nil
}

// admit serves clients until ctx ends. It reads no further line while too many are served.
func (d *Door) admit(ctx context.Context, p *process.Process, in *os.File) {
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
		o, err := parseLine(line)
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
			if c, err := o.open(p, own); err == nil {
				c.serve(ctx, func() { d.Serve(ctx, n, c, c) })
			}
		})
	}
}

// An offer is a line in the door: the pid of a client, and the descriptors of its pipes.
type offer struct{ pid, requests, answers int }

func parseLine(line []byte) (o offer, err error) {
	_, err = fmt.Sscanf(string(line), "%d %d %d\n", &o.pid, &o.requests, &o.answers)
	if err == nil && (o.pid <= 0 || o.requests < 0 || o.answers < 0) {
		err = errors.New("no client has these numbers")
	}
	return o, err
}

// open opens the pipes of the client. They must be two pipes, and neither may be the door.
func (o *offer) open(p *process.Process, door uint64) (*client, error) {
	in, err := p.OpenPipe(o.pid, o.requests, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	out, err := p.OpenPipe(o.pid, o.answers, os.O_WRONLY)
	if err != nil {
		in.Close()
		return nil, err
	}
	c := &client{in: in, out: out, first: firstRequest}
	if in, out := inode(in), inode(out); in == out || in == door || out == door {
		c.close()
		return nil, errors.New("the pipes are not two of the client")
	}
	return c, nil
}

func inode(f *os.File) uint64 {
	if info, err := f.Stat(); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			return uint64(stat.Ino)
		}
	}
	return 0
}
