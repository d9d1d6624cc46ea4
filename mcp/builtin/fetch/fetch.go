// Package fetch is the built-in fetch tool: a tool server that reads a URL for the model.
// Only allowed addresses are reached.
package fetch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"toolpipe/mcp/htmltext"
	"toolpipe/mcp/toolserver"
	"toolpipe/mcp/wire"
	"toolpipe/stream/netguard"
	"toolpipe/stream/text/readable"
)

// A Spec configures the fetch tool.
type Spec struct {
	AllowFlag    string        // the flag that sets AllowPrivate, for error messages
	AllowPrivate []string      // networks, addresses and host globs that may be reached although they are not public
	Limit        time.Duration // the longest time of a fetch, at most 30 s; 0: 30 s
	Version      string
}

const (
	fetchTimeout  = 30 * time.Second
	maxRedirects  = 5
	maxURL        = 16 << 10 // bytes; servers accept half of that
	maxFetched    = 8 << 20  // bytes of a body that are read
	maxReplyHead  = 64 << 10 // bytes of a reply's header
	fetchDialTime = 10 * time.Second
)

// New makes a server with one tool that fetches a URL. Addresses that are not public are
// refused when a connection is made, after the name was resolved, so that neither a redirect
// nor a changing name leads to one. For the same reason it uses no proxy. Errors are about a
// pattern.
func New(spec Spec) (*toolserver.Server, error) {
	rules, err := netguard.ParseRules(spec.AllowPrivate)
	if err != nil {
		return nil, err
	}
	f := &fetch{spec: spec, rules: rules, limit: min(fetchTimeout, cmp.Or(spec.Limit, fetchTimeout))}
	tool := toolserver.Define("fetch_url", "Fetch a web page or file by HTTP GET and return its text; HTML is made readable.", toolserver.Fetches, toolserver.Effects{Sends: true, Destination: "url", Untrusted: true},
		toolserver.Parameter{Name: "url", Kind: "string", About: "http or https URL", Required: true},
		toolserver.Parameter{Name: "raw", Kind: "boolean", About: "return HTML unchanged"},
	)
	s := toolserver.New("fetch", spec.Version)
	s.AddBuiltin(tool, func(ctx context.Context, args toolserver.Arguments, _ func(wire.Progress)) (*wire.Result, error) {
		return f.url(ctx, args.Text("url"), args.Flag("raw"))
	})
	return s, nil
}

type fetch struct {
	spec  Spec
	rules *netguard.Rules
	limit time.Duration // of a whole fetch
}

// client makes a client with its own transport: calls share nothing.
func (f *fetch) client() *http.Client {
	transport := netguard.NewTransport()
	transport.Proxy = nil
	transport.DialContext = f.dial
	transport.DisableKeepAlives = true
	transport.MaxResponseHeaderBytes = maxReplyHead
	return &http.Client{
		Transport: transport,
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			r.Header.Del("Referer")
			return checkURL(r.URL)
		},
	}
}

// dial checks each resolved address of a name when it connects.
func (f *fetch) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := net.Dialer{Timeout: fetchDialTime}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	named := f.rules.AllowsHost(host)
	d.Control = func(_, resolved string, _ syscall.RawConn) error { return f.rules.Check(resolved, named) }
	return d.DialContext(ctx, network, address)
}

func checkURL(u *url.URL) error {
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("the scheme %q is not supported, only http and https are", u.Scheme)
	case u.Host == "":
		return errors.New("the URL has no host")
	case u.User != nil:
		return errors.New("a URL with a user name or password is not fetched")
	}
	return nil
}

func (f *fetch) url(ctx context.Context, address string, raw bool) (*wire.Result, error) {
	if len(address) > maxURL {
		return nil, fmt.Errorf("the URL has %d bytes, at most %d are allowed", len(address), maxURL)
	}
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return nil, fmt.Errorf("%q is not a URL", address)
	}
	if err := checkURL(u); err != nil {
		return nil, fmt.Errorf("%q: %w", address, err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, f.limit, fmt.Errorf("no complete answer within %v", f.limit))
	defer cancel()
	header := http.Header{"User-Agent": {"toolpipe/" + f.spec.Version}, "Accept-Encoding": {"identity"}, "Accept": {"text/markdown, text/plain;q=0.9, text/html;q=0.8, application/json;q=0.8, */*;q=0.1"}}
	resp, err := f.client().Do((&http.Request{URL: u, Header: header}).WithContext(ctx))
	if err != nil {
		return nil, fmt.Errorf("%q: %w", address, f.failure(ctx, err))
	}
	defer resp.Body.Close()
	return f.readPage(ctx, resp, raw)
}

// failure is the error for the model, which already knows the URL.
func (f *fetch) failure(ctx context.Context, err error) error {
	if private, ok := errors.AsType[*netguard.PrivateAddressError](err); ok {
		return fmt.Errorf("%w; %s %s would allow it", private, f.spec.AllowFlag, private.Address)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if e, ok := errors.AsType[*url.Error](err); ok {
		return e.Err
	}
	return err
}

func (f *fetch) readPage(ctx context.Context, resp *http.Response, raw bool) (*wire.Result, error) {
	at := resp.Request.URL.String()
	if e := resp.Header.Get("Content-Encoding"); e != "" && !strings.EqualFold(e, "identity") {
		return nil, fmt.Errorf("%q: the body is encoded as %q, which was not requested", at, e)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxFetched+1))
	if err != nil && len(body) == 0 {
		return nil, fmt.Errorf("%q: the answer ended early: %w", at, f.failure(ctx, err))
	}
	cut := len(body) > maxFetched
	if cut {
		body = readable.WholeRunes(body[:maxFetched])
	}
	declared := resp.Header.Get("Content-Type")
	kind, params, _ := mime.ParseMediaType(declared)
	if kind == "" {
		kind, _, _ = mime.ParseMediaType(http.DetectContentType(body))
	}
	if !textual(kind, body) {
		return nil, fmt.Errorf("%q is %s, %d bytes: not text", at, kind, len(body))
	}
	text := bytes.TrimPrefix(body, toolserver.ByteOrderMark)
	switch strings.ToLower(params["charset"]) {
	case "iso-8859-1", "latin1", "windows-1252":
		text = asUTF8(text)
	}
	if !raw && (kind == "text/html" || kind == "application/xhtml+xml") {
		text = htmltext.Text(text, resp.Request.URL)
	}
	status := strings.ReplaceAll(resp.Status, "\r", " ") // the rest could be mistaken for a line of ours
	b := fmt.Appendf(nil, "URL: %s\nStatus: %s\nContent-Type: %s\n\n", at, status, declared)
	if room := toolserver.MaxText - len(b); len(text) > room {
		text, cut = readable.WholeRunes(text[:room]), true
	}
	b = append(b, text...)
	switch {
	case err != nil:
		b = append(b, "\n[toolpipe] the answer ended early\n"...)
	case cut:
		b = append(b, "\n[toolpipe] the text goes on and is cut here\n"...)
	}
	r := toolserver.TextResult(b)
	r.IsError = resp.StatusCode >= 400
	return r, nil
}

func textual(kind string, body []byte) bool {
	named := strings.HasPrefix(kind, "text/") || strings.HasSuffix(kind, "+json") || strings.HasSuffix(kind, "+xml")
	return !toolserver.LooksBinary(body) && (named || utf8.Valid(readable.WholeRunes(body[:min(len(body), 4096)])))
}

// asUTF8 converts a text that is declared as Latin 1 to UTF-8. On the web Latin 1 means
// Windows-1252, and many such texts already are UTF-8; those are not changed.
func asUTF8(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	var b []byte
	for _, c := range text {
		r := rune(c)
		if c >= 0x80 && c < 0xA0 {
			r = windows1252[c-0x80]
		}
		b = utf8.AppendRune(b, r)
	}
	return b
}

// windows1252 are the characters of Windows-1252 from 0x80 on, where it differs from Latin 1
// (https://encoding.spec.whatwg.org/#names-and-labels).
var windows1252 = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")
