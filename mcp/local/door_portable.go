//go:build !linux || portable

package local

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"toolpipe/mcp/process"
)

// Start starts cmd by start, with a door. The door is closed when the process has ended. close
// closes it earlier. Both end the clients and wait for them.
func (d *Door) Start(cmd *exec.Cmd, start func(*exec.Cmd) (*process.Process, error)) (p *process.Process, close func(), err error) {
	dir, err := os.MkdirTemp("", "toolpipe-door-")
	if err != nil {
		return nil, nil, err
	}
	path := filepath.Join(dir, "door")
	l, err := Listen(context.Background(), path)
	if err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	cmd.Env = append(slices.Clip(cmd.Env), DoorVariable+"="+path)
	if p, err = start(cmd); err != nil {
		l.Close()
		os.RemoveAll(dir)
		return nil, nil, err
	}
	l.first = firstRequest
	slots := make(chan struct{}, maxClients)
	return p, d.keep(p, func(ctx context.Context) {
		defer os.RemoveAll(dir)
		l.Serve(ctx, 0, func(ctx context.Context, n int, c io.ReadWriter) {
			select {
			case slots <- struct{}{}:
				d.Serve(ctx, n, c, c)
				<-slots
			case <-ctx.Done():
			}
		})
	}), nil
}

// DialDoor goes through the door that value names. junk gets the lines that are not messages.
func DialDoor(value string, junk func([]byte)) (*Transport, error) {
	c, err := Dial(context.Background(), value, junk)
	if err != nil {
		return nil, errDoorClosed
	}
	return c, nil
}
