package oauth

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"toolpipe/mcp/netguard"
	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

// newClient is the client for URLs that a server names: it follows no
// redirections, waits for a short time, and reaches no private address unless
// the URL is trusted. A proxy would look up names itself, so it gets only
// requests to trusted URLs.
func newClient(trusted func(*url.URL) bool) *http.Client {
	open, guarded := netguard.NewTransport(), netguard.NewTransport()
	guarded.Proxy = nil
	guarded.DialContext = (&net.Dialer{Timeout: 10 * time.Second, Control: netguard.PublicOnly}).DialContext
	return &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if trusted(r.URL) {
				return open.RoundTrip(r)
			}
			if r.URL.Scheme != "https" {
				return nil, fmt.Errorf("refusing %s: only https is used for authorization", r.URL.Redacted())
			}
			if proxy, err := http.ProxyFromEnvironment(r); err == nil && proxy != nil {
				return nil, fmt.Errorf("refusing to ask a proxy for %s, which the server named: where a proxy leads cannot be checked; an \"issuer\" in the server's \"oauth\" is asked that way", r.URL.Redacted())
			}
			return guarded.RoundTrip(r)
		}),
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

const maxDocument = 1 << 20

// document fetches a JSON object.
func (g *Grant) document(ctx context.Context, place string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, place, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	return g.do(req)
}

// do returns the JSON object with which a request is answered.
func (g *Grant) do(req *http.Request) ([]byte, error) {
	place := req.URL.Scheme + "://" + req.URL.Host + req.URL.Path
	res, err := g.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocument))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", place, err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: HTTP status %d: %s", place, res.StatusCode, wire.Snippet(body))
	}
	if err := jsontext.CheckObject(body, jsontext.Peer, nil); err != nil {
		return nil, fmt.Errorf("%s: not a JSON object: %w", place, err)
	}
	return body[jsontext.Space(body, 0):], nil
}

// IsLoopback says whether a host name is this machine.
func IsLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
