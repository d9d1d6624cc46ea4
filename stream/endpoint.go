package stream

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"toolpipe/stream/netguard"
)

// endpoint is the destination of requests and of the key.
type endpoint struct {
	url      *url.URL
	origin   string // scheme, host and port: for messages, and the key goes nowhere else
	insecure string // the host, if it gets the key over plain http as Config.InsecureHTTP allows
}

// recordingEndpoint is the endpoint of a replay.
var recordingEndpoint = endpoint{url: &url.URL{}, origin: "the recording"}

// EndpointError is New's error about Config.BaseURL. It shows the URL without
// the parts that may be secret.
type EndpointError struct {
	Message  string
	Insecure string // the host to which the key would go over plain http; "" in other errors
}

func (e *EndpointError) Error() string { return e.Message }

func endpointError(format string, args ...any) error {
	return &EndpointError{Message: fmt.Sprintf(format, args...)}
}

// newEndpoint checks the base URL and whether the key may go there. Over plain http everybody on
// the way can read the key, so it goes only to this machine and to hosts that the user names.
func newEndpoint(cfg *Config, path string) (*endpoint, error) {
	if cfg.BaseURL == "" {
		return nil, endpointError("no base URL of a model endpoint")
	}
	u, err := url.Parse(cfg.BaseURL)
	switch {
	case err == nil && u.User != nil:
		return nil, endpointError("the URL for %q contains a user name or password; give the key separately", u.Host)
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", strings.HasSuffix(u.Host, ":"):
		return nil, endpointError("%s is not of the form http(s)://HOST[:PORT]/v1", shownURL(cfg.BaseURL))
	case u.Fragment != "":
		return nil, endpointError("%s contains a fragment", shownURL(cfg.BaseURL))
	}
	if cfg.Certificate != nil && u.Scheme != "https" {
		return nil, endpointError("%s is not https, and a client certificate needs https", shownURL(cfg.BaseURL))
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return nil, endpointError("%s: there is no port %s", shownURL(cfg.BaseURL), port)
		}
	}
	if err := cfg.Key.Check(); err != nil {
		return nil, err
	}
	e := &endpoint{url: u, origin: originOf(u)}
	secret := cfg.Key != "" || slices.ContainsFunc(cfg.Headers, func(h Header) bool { return h.Secret })
	if host := u.Hostname(); secret && u.Scheme == "http" && !netguard.IsLoopback(host) {
		if !slices.ContainsFunc(cfg.InsecureHTTP, func(h string) bool { return strings.EqualFold(h, host) }) {
			return nil, &EndpointError{Message: fmt.Sprintf("the key would go to %q over plain http", host), Insecure: host}
		}
		e.insecure = host
	}
	base := strings.TrimRight(u.Path, "/")
	u.Path = strings.TrimSuffix(base, path) + path
	u.RawPath = ""
	return e, nil
}

// shownURL returns the part of a URL that a message may show: the URL may hold a password or,
// after a question mark, a key.
func shownURL(s string) string {
	if strings.Contains(s, "@") {
		return "the URL (not shown, because it may contain a password)"
	}
	s, _, _ = strings.Cut(s, "?")
	return strconv.Quote(s)
}

// Check reports whether the text can be a key: it must fit into a header. Any other text is
// most often the content of the wrong file.
func (k Key) Check() error {
	if i := strings.IndexFunc(string(k), func(r rune) bool { return r <= ' ' || r > '~' }); i >= 0 {
		return fmt.Errorf("the key contains a byte that no key has, at offset %d (a line break, or the wrong file?)", i)
	}
	return nil
}

func originOf(u *url.URL) string {
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

func (e *endpoint) isMistral() bool {
	host := strings.ToLower(e.url.Hostname())
	return host == "mistral.ai" || strings.HasSuffix(host, ".mistral.ai")
}

// isOpenAI reports whether the endpoint belongs to OpenAI or Azure.
func (e *endpoint) isOpenAI() bool {
	host := strings.ToLower(e.url.Hostname())
	return host == "api.openai.com" || strings.HasSuffix(host, ".openai.azure.com") ||
		strings.HasSuffix(host, ".cognitiveservices.azure.com") || strings.HasSuffix(host, ".services.ai.azure.com")
}
