package stream

import (
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// endpoint is where requests go and the key with them.
type endpoint struct {
	url    *url.URL
	origin string // scheme, host and port, for messages and for the key
	key    Key

	insecure string // the host if the key goes there over plain http, as Config.InsecureHTTP allows
}

// EndpointError is New's error about Config.BaseURL. It names the URL without
// what could be secret in it.
type EndpointError struct {
	Message  string
	Insecure string // the host to which the key would go over plain http; "" for another error
}

func (e *EndpointError) Error() string { return e.Message }

func endpointError(format string, args ...any) error {
	return &EndpointError{Message: fmt.Sprintf(format, args...)}
}

// newEndpoint checks the base URL and whether the key may go there (security
// E1).
func newEndpoint(cfg *Config, path string) (*endpoint, error) {
	if cfg.BaseURL == "" {
		return nil, endpointError("no base URL of a model endpoint")
	}
	u, err := url.Parse(cfg.BaseURL)
	switch {
	case err == nil && u.User != nil:
		return nil, endpointError("the URL for %q holds a user name or password; give the key apart", u.Host)
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", strings.HasSuffix(u.Host, ":"):
		return nil, endpointError("%s is not of the form http(s)://HOST[:PORT]/v1", shownURL(cfg.BaseURL))
	case u.Fragment != "":
		return nil, endpointError("%s holds a fragment", shownURL(cfg.BaseURL))
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, endpointError("%s: there is no port %s", shownURL(cfg.BaseURL), port)
		}
	}
	if err := cfg.Key.Check(); err != nil {
		return nil, err
	}
	e := &endpoint{url: u, origin: originOf(u), key: cfg.Key}
	if host := u.Hostname(); cfg.Key != "" && u.Scheme == "http" && !isLoopback(host) {
		if !named(cfg.InsecureHTTP, host) {
			return nil, &EndpointError{Message: fmt.Sprintf("the key would go to %q over plain http", host), Insecure: host}
		}
		e.insecure = host
	}
	base := strings.TrimRight(u.Path, "/")
	u.Path = strings.TrimSuffix(base, path) + path
	u.RawPath = ""
	return e, nil
}

// shownURL is a URL that may hold a password or, behind a question mark, a key.
func shownURL(s string) string {
	if strings.Contains(s, "@") {
		return "the URL (not shown, for it may hold a password)"
	}
	s, _, _ = strings.Cut(s, "?")
	return strconv.Quote(s)
}

// Check tells whether the text can be a key: it must fit into a header. What
// fails is most often the wrong file.
func (k Key) Check() error {
	for i := range len(k) {
		if k[i] <= ' ' || k[i] > '~' {
			return fmt.Errorf("the key holds a byte that no key has, at offset %d (a line break, or the wrong file?)", i)
		}
	}
	return nil
}

func originOf(u *url.URL) string {
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

// isLoopback reports whether the host names this machine for certain.
func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func named(hosts []string, host string) bool {
	for _, h := range hosts {
		if strings.EqualFold(h, host) {
			return true
		}
	}
	return false
}

// isOpenAI reports whether OpenAI or Azure answers here.
func (e *endpoint) isOpenAI() bool {
	host := strings.ToLower(e.url.Hostname())
	return host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com") ||
		strings.HasSuffix(host, ".cognitiveservices.azure.com") || strings.HasSuffix(host, ".services.ai.azure.com")
}
