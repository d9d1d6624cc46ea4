package readable

import (
	"io"
	"net"
	"os"
	"syscall"
	"testing"
)

// The text of a failure names the phase that failed.
func TestNetworkError(t *testing.T) {
	nowhere := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}
	dial := func(err error) *net.OpError { return &net.OpError{Op: "dial", Net: "tcp", Addr: nowhere, Err: err} }
	noHost := &net.DNSError{Err: "no such host", Name: "x.example", IsNotFound: true}
	asked := &net.DNSError{Err: "i/o timeout", Name: "x.example", Server: "192.0.2.53:53", IsTimeout: true}
	for want, err := range map[string]error{
		"connection to 192.0.2.1:443 was refused":                            dial(os.NewSyscallError("connect", syscall.ECONNREFUSED)),
		"connection to 192.0.2.1:443 timed out":                              dial(os.NewSyscallError("connect", syscall.ETIMEDOUT)),
		"connection to 192.0.2.1:443 failed: " + syscall.ENETUNREACH.Error(): dial(os.NewSyscallError("connect", syscall.ENETUNREACH)),
		"could not resolve x.example: no such host":                          &net.OpError{Op: "dial", Net: "tcp", Err: noHost},
		"could not resolve x.example: i/o timeout (asked 192.0.2.53:53)":     &net.OpError{Op: "dial", Net: "tcp", Err: asked},
		"the proxy: connection to 192.0.2.1:443 was refused":                 &net.OpError{Op: "proxyconnect", Net: "tcp", Err: dial(syscall.ECONNREFUSED)},
		"the proxy: could not resolve x.example: no such host":               &net.OpError{Op: "proxyconnect", Net: "tcp", Err: &net.OpError{Op: "dial", Net: "tcp", Err: noHost}},
		"connection to 192.0.2.1:443 failed: " + syscall.ECONNRESET.Error():  &net.OpError{Op: "read", Net: "tcp", Addr: nowhere, Err: os.NewSyscallError("read", syscall.ECONNRESET)},
		"": io.EOF,
	} {
		if got := NetworkError(err); got != want {
			t.Errorf("%v\n got %s\nwant %s", err, got, want)
		}
	}
}
