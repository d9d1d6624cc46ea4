package oauth

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"toolpipe/mcp/htmltext"
	"toolpipe/mcp/wire"
	"toolpipe/stream/netguard"
	"toolpipe/stream/text/jsontext"
)

// agent sends the authorization requests for one server. The hosts that it may reach depend
// on who named them: the user or the server.
type agent struct {
	server   *url.URL
	settings *Settings
	client   *http.Client
	vouched  []string  // endpoints in the metadata of the configured issuer
	revision string    // of MCP, sent with requests for documents; "": no header
	key      *ProofKey // the key to bind tokens to; nil for none
}

func newAgent(server *url.URL, s *Settings) *agent {
	a := &agent{server: server, settings: s}
	a.client = newClient(a.trusts)
	return a
}

// newClient is the client for URLs that a server names: it follows no redirections, has short
// timeouts, and reaches no private address unless the URL is trusted. A proxy would look up
// names itself, so it gets only requests to trusted URLs.
func newClient(trusted func(*url.URL) bool) *http.Client {
	open, guarded := netguard.NewTransport(), netguard.NewTransport()
	guarded.Proxy = nil
	guarded.DialContext = (&net.Dialer{Timeout: 10 * time.Second, Control: netguard.PublicOnly}).DialContext
	return &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if r.URL.User != nil {
				return nil, errors.New("refusing a URL with a user name")
			}
			if trusted(r.URL) {
				return open.RoundTrip(r)
			}
			if r.URL.Scheme != "https" {
				return nil, fmt.Errorf("refusing %s: only https is used for authorization", r.URL.Redacted())
			}
			if proxy, err := http.ProxyFromEnvironment(r); err == nil && proxy != nil {
				return nil, fmt.Errorf("refusing to ask a proxy for %s, which the server named: the address to which a proxy connects cannot be checked; an \"issuer\" in the server's \"oauth\" is asked through the proxy", r.URL.Redacted())
			}
			return guarded.RoundTrip(r)
		}),
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// trusts reports whether a request to u needs no guard against private addresses: u is on the
// server's own host, at an origin that the user configured, or an endpoint that the
// configured issuer names.
func (a *agent) trusts(u *url.URL) bool {
	if sameHost(a.server, u) {
		return true
	}
	return (u.Scheme == "https" || netguard.IsLoopback(u.Hostname())) &&
		(slices.ContainsFunc(a.settings.urls(), func(configured string) bool { return sameOrigin(configured, u) }) || slices.Contains(a.vouched, u.String()))
}

// sameHost reports whether a URL is on the server's own host: the same origin, or any port if
// both are on this machine.
func sameHost(server, u *url.URL) bool {
	return netguard.Origin(u) == netguard.Origin(server) || netguard.IsLoopback(server.Hostname()) && netguard.IsLoopback(u.Hostname())
}

func sameOrigin(configured string, u *url.URL) bool {
	p, err := url.Parse(configured)
	return err == nil && p.Host != "" && netguard.Origin(p) == netguard.Origin(u)
}

const maxDocument = 1 << 20

type response struct {
	status      int
	contentType string
	body        []byte
	after       time.Duration // the wait that the server asks for; 0 for none
}

// failure is the error for an answer: its HTTP status, and a line of its body unless the body
// is empty or a web page.
func (r *response) failure() error {
	said := wire.Snippet(bytes.Join(bytes.Fields(r.body[:min(len(r.body), 1<<10)]), []byte(" ")))
	switch {
	case r.isPage():
		return fmt.Errorf("HTTP status %d with %s", r.status, r.page())
	case said != "":
		return fmt.Errorf("HTTP status %d: %s", r.status, said)
	}
	return fmt.Errorf("HTTP status %d", r.status)
}

func (r *response) isPage() bool { return htmltext.IsPage(r.body, r.contentType) }

func (r *response) page() string {
	return fmt.Sprintf("a web page (%s)", wire.Snippet([]byte(cmp.Or(r.contentType, "text/html"))))
}

// document fetches a JSON object. If there is none, the error is an absence.
func (a *agent) document(ctx context.Context, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	if a.revision != "" {
		req.Header.Set("MCP-Protocol-Version", a.revision)
	}
	r, err := a.do(req)
	if err != nil {
		return nil, err
	}
	at := req.URL.Scheme + "://" + req.URL.Host + req.URL.Path
	start := jsontext.Space(r.body, 0)
	wrong := jsontext.CheckObject(r.body, jsontext.Peer, nil)
	switch {
	case r.status >= 400 && r.status < 500 && r.status != http.StatusRequestTimeout && r.status != http.StatusTooManyRequests:
		return nil, absence{fmt.Errorf("%s: %w", at, r.failure())}
	case r.status != http.StatusOK:
		return nil, fmt.Errorf("%s: %w", at, r.failure())
	case r.isPage():
		return nil, absence{fmt.Errorf("%s: %s, not a JSON object", at, r.page())}
	case wrong != nil && bytes.HasPrefix(r.body[start:], []byte("{")):
		return nil, fmt.Errorf("%s: not a JSON object: %w", at, wrong)
	case wrong != nil:
		return nil, absence{fmt.Errorf("%s: not a JSON object: %w", at, wrong)}
	}
	return r.body[start:], nil
}

func (a *agent) do(req *http.Request) (*response, error) {
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Accept-Encoding", "identity")
	res, err := a.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	a.key.Learn(req.URL, res.Header)
	body, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	if err == nil && len(body) > maxDocument {
		err = errors.New("the answer is longer than 1 MiB")
	}
	if err != nil {
		return nil, fmt.Errorf("%s://%s%s: %w", req.URL.Scheme, req.URL.Host, req.URL.Path, err)
	}
	return &response{res.StatusCode, res.Header.Get("Content-Type"), body, netguard.RetryAfter(res.Header)}, nil
}

// textOf is the text of a member of a JSON object, and textsOf the texts of a member that is
// an array. Both are empty for a member that is missing or has another type.
func textOf(doc []byte, member string) string { return jsontext.Text(jsontext.Member(doc, member)) }

func textsOf(doc []byte, member string) []string {
	return jsontext.Strings(jsontext.Member(doc, member))
}
