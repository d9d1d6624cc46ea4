// Package local is MCP between processes of one user on one machine, with one message per line as
// over the standard streams of a process: over a Unix domain socket, and through the door of a
// command.
package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"

	"toolpipe/mcp/wire"
)

const scheme = "unix:"

// Path is the path of the socket in an address. ok reports whether the address is of a
// socket: unix:PATH, or unix://PATH with an absolute path.
func Path(address string) (path string, ok bool) {
	path, ok = strings.CutPrefix(address, scheme)
	if rest, slashes := strings.CutPrefix(path, "//"); ok && slashes && strings.HasPrefix(rest, "/") {
		path = rest
	}
	return path, ok
}

// A Transport is the client's end of a Unix domain socket, with one message per line as over
// stdio. The server is not ours: it continues when the session ends.
type Transport struct {
	conn   *net.UnixConn
	frames wire.FrameReader
	wire.FrameWriter
}

// Dial connects to the socket at path. It refuses a socket of another user except root. junk
// gets the lines that are not messages.
func Dial(ctx context.Context, path string, junk func([]byte)) (*Transport, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	c := conn.(*net.UnixConn)
	if uid, known := user(c); known && uid != 0 && int(uid) != os.Geteuid() {
		c.Close()
		return nil, fmt.Errorf("the server at the socket %q is run by user %d, and is not used", path, uid)
	}
	return &Transport{conn: c, frames: wire.FrameReader{R: c, Junk: junk}, FrameWriter: wire.NewFrameWriter(c, false)}, nil
}

// Receive returns io.EOF when the server has closed the connection, or was killed.
func (c *Transport) Receive() ([]byte, error) {
	msg, err := c.frames.Next()
	if _, failed := errors.AsType[*net.OpError](err); failed {
		err = io.EOF
	}
	return msg, err
}

func (c *Transport) Close() error {
	c.conn.Close()
	return nil
}
