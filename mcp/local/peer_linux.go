//go:build linux && !portable

package local

import (
	"net"
	"syscall"
)

// user is the user of the process at the other end of the connection. known is false if the
// system does not report it (SO_PEERCRED of unix(7)).
func user(c *net.UnixConn) (uid uint32, known bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	raw.Control(func(fd uintptr) {
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			uid, known = cred.Uid, true
		}
	})
	return uid, known
}
