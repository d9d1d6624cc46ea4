//go:build !linux || portable

package socket

import "net"

// user is not told here. The mode of the socket's file says who may connect, which the
// systems other than Linux that this program runs on heed too.
func user(*net.UnixConn) (uid uint32, known bool) { return 0, false }
