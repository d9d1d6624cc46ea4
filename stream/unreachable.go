package stream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"

	"toolpipe/stream/text/readable"
)

// unreachable turns a failure before the head of the answer into an error.
func (x *exchange) unreachable(ctx context.Context, err error) error {
	e := &Error{Kind: Unreachable, Cause: err}
	if context.Cause(ctx) == errStalled {
		e.Message = fmt.Sprintf("%s sent no answer within %v", x.where(), x.client.cfg.IdleTimeout)
		e.Hint = x.client.cfg.Hints.Idle
		return e
	}
	what := cmp.Or(readable.NetworkError(err), plainError(err))
	if strings.HasSuffix(what, "TLS handshake timeout") { // of netguard, or of net/http, which does not export it
		what = "TLS with " + x.client.endpoint.url.Hostname() + " timed out"
	}
	e.Message = "cannot reach " + x.where() + ": " + x.shown([]byte(what))
	dns, isDNS := errors.AsType[*net.DNSError](err)
	_, isCertificate := errors.AsType[*tls.CertificateVerificationError](err)
	_, isPlain := errors.AsType[tls.RecordHeaderError](err)
	switch {
	case isDNS && dns.IsNotFound:
		e.Again = x.client.cfg.RetryFor > 0 // the name of a service that is starting may not be there yet
		e.Hint = "is the host name right?"
	case isCertificate:
		e.Hint = "the server's certificate is not trusted here"
		if how := readable.TrustHint(err); how != "" {
			e.Hint += "; " + how
		}
	case readable.MayWantCertificate(err):
		e.Hint = x.client.cfg.Hints.TLS
	case isPlain:
		e.Hint = "the server does not speak TLS there; is it an http:// endpoint?"
	case strings.Contains(err.Error(), "malformed HTTP"):
		e.Hint = "the server does not speak HTTP there; is it an https:// endpoint?"
	default: // these failures may pass
		e.Again = true
		if errors.Is(err, syscall.ECONNREFUSED) {
			e.Hint = "is the server running, and is the port right?"
		}
	}
	e.Hint = strings.Trim(e.Hint+"\n"+x.client.cfg.Hints.Address, "\n")
	return e
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
