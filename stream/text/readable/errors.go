package readable

import (
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"syscall"
)

// NetworkError says which phase of a connection failed and why, as curl does, without the names
// of library calls. It is "" for another error.
func NetworkError(err error) string {
	by := ""
	var at *net.OpError // the innermost one with an address: the others are of a proxy
	for op, ok := errors.AsType[*net.OpError](err); ok; op, ok = errors.AsType[*net.OpError](op.Err) {
		if op.Op == "proxyconnect" {
			by = "the proxy: "
		}
		if op.Addr != nil {
			at = op
		}
	}
	number, isNumber := errors.AsType[syscall.Errno](err)
	dns, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case isDNS && dns.Server != "":
		return fmt.Sprintf("%scould not resolve %s: %s (asked %s)", by, dns.Name, dns.Err, dns.Server)
	case isDNS:
		return fmt.Sprintf("%scould not resolve %s: %s", by, dns.Name, dns.Err)
	case at == nil:
		return ""
	case number == syscall.ECONNREFUSED:
		return fmt.Sprintf("%sconnection to %s was refused", by, at.Addr)
	case at.Op == "dial" && at.Timeout():
		return fmt.Sprintf("%sconnection to %s timed out", by, at.Addr)
	case isNumber:
		return fmt.Sprintf("%sconnection to %s failed: %s", by, at.Addr, number.Error())
	}
	return ""
}

// TrustHint says how the authority of a certificate becomes trusted, if err is about an unknown
// one; else it is "". crypto/x509 reads the variables on Unix systems other than macOS.
func TrustHint(err error) string {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case !unknown:
		return ""
	case runtime.GOOS == "darwin" || runtime.GOOS == "windows":
		return "a private authority must be among the certificates of the system"
	}
	return "SSL_CERT_FILE or SSL_CERT_DIR names the certificates of a private authority"
}

// MayWantCertificate reports whether the other side may have ended the handshake because of a
// client certificate that is wrong or missing. In TLS 1.2 a missing one is a handshake failure.
// crypto/tls does not export the type of alerts.
func MayWantCertificate(err error) bool {
	_, alert, found := strings.Cut(err.Error(), "remote error: tls: ")
	return found && (strings.Contains(alert, "certificate") || alert == "handshake failure")
}
