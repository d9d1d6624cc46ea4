package stream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"syscall"
)

// unreachable turns a failure before the head of the answer into an error.
func (x *exchange) unreachable(ctx context.Context, err error) error {
	e := &Error{Kind: Unreachable, Cause: err}
	if context.Cause(ctx) == errStalled {
		e.Message = fmt.Sprintf("%s sent no answer within %v", x.where(), x.client.cfg.IdleTimeout)
		e.Hint = x.client.cfg.Hints.Idle
		return e
	}
	e.Message = "cannot reach " + x.where() + ": " + x.shown([]byte(failedPhase(x.client.endpoint.url.Hostname(), err)))
	dns, isDNS := errors.AsType[*net.DNSError](err)
	_, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, isPlain := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case isDNS && dns.IsNotFound:
		x.retry = x.client.cfg.RetryFor > 0 // the name of a service that is starting may not be there yet
		e.Hint = "is the host name right?"
	case isCertificate:
		e.Hint = "the server's certificate is not trusted here" + trustHint(err)
	case strings.Contains(err.Error(), "remote error: tls:") && strings.Contains(err.Error(), "certificate"):
		e.Hint = x.client.cfg.Hints.TLS
	case isPlain:
		e.Hint = "the server does not speak TLS there; is it an http:// endpoint?"
	case strings.Contains(err.Error(), "malformed HTTP"):
		e.Hint = "the server does not speak HTTP there; is it an https:// endpoint?"
	default: // these failures may pass
		x.retry = true
		if errors.Is(err, syscall.ECONNREFUSED) {
			e.Hint = "is the server running, and is the port right?"
		}
	}
	return e
}

// trustHint says how a private certificate authority is trusted, if err is about an unknown one.
// crypto/x509 reads the variables on Unix systems other than macOS.
func trustHint(err error) string {
	_, unknown := errors.AsType[x509.UnknownAuthorityError](err)
	switch {
	case !unknown:
		return ""
	case runtime.GOOS == "darwin" || runtime.GOOS == "windows":
		return "; a private authority belongs into the certificates of the system"
	}
	return "; SSL_CERT_FILE or SSL_CERT_DIR names the certificates of a private authority"
}

// failedPhase says which phase of the connection to host failed, and why.
func failedPhase(host string, err error) string {
	by := ""
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "proxyconnect" {
		by = "the proxy: "
	}
	dial := dialError(err)
	dns, isDNS := errors.AsType[*net.DNSError](err)
	switch {
	case isDNS && dns.Server != "":
		return fmt.Sprintf("%scould not resolve %s: %s (asked %s)", by, dns.Name, dns.Err, dns.Server)
	case isDNS:
		return fmt.Sprintf("%scould not resolve %s: %s", by, dns.Name, dns.Err)
	case strings.HasSuffix(err.Error(), "TLS handshake timeout"): // of net/http too, which does not export it
		return "TLS with " + host + " timed out"
	case dial == nil:
		return by + plainError(err)
	case errors.Is(dial, syscall.ECONNREFUSED):
		return fmt.Sprintf("%sconnection to %s was refused", by, dial.Addr)
	case dial.Timeout():
		return fmt.Sprintf("%sconnection to %s timed out", by, dial.Addr)
	}
	return fmt.Sprintf("%sconnection to %s failed: %s", by, dial.Addr, plainError(dial))
}

// dialError returns the failure to open a TCP connection, nil if err is something else.
func dialError(err error) *net.OpError {
	op, ok := errors.AsType[*net.OpError](err)
	for ok && (op.Op != "dial" || op.Addr == nil) { // it may be in the one of a proxy
		op, ok = errors.AsType[*net.OpError](op.Err)
	}
	return op
}

// plainError returns the innermost message that still says what happened,
// without the method and the URL.
func plainError(err error) string {
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Err != nil {
		err = op.Err
	}
	if number, ok := errors.AsType[syscall.Errno](err); ok {
		return number.Error()
	}
	if err == io.EOF {
		return "the connection was closed without an answer"
	}
	return err.Error()
}
