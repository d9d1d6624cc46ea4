package readable

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

// NetworkError says why a host was not found or not reached, without the names of library
// calls. It is "" for another error.
func NetworkError(err error) string {
	if dns, ok := errors.AsType[*net.DNSError](err); ok {
		return fmt.Sprintf("the host %q: %s", dns.Name, dns.Err)
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Addr != nil {
		if number, ok := errors.AsType[syscall.Errno](op); ok {
			return "cannot reach " + op.Addr.String() + ": " + number.Error()
		}
	}
	return ""
}
