package oauth

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"toolpipe/mcp/netguard"
)

// Token is a bearer token. The zero time is no known end.
type Token struct {
	Value   string
	Expires time.Time
}

// tokenMargin is how long before its end a token is not used any more.
const tokenMargin = 30 * time.Second

// IsLoopback says whether a host name is this machine.
func IsLoopback(host string) bool {
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// grantClient is for the URLs that a server names: no redirections, short
// waits, and no way into the private network unless trusted says so. A proxy
// looks up names by itself, so what is not trusted is not asked for by one.
func grantClient(trusted func(*url.URL) bool) *http.Client {
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
