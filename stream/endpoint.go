package stream

import (
	"fmt"
	"net"
	"net/url"
	"strings"
)

// endpoint is where requests go and the key with them.
type endpoint struct {
	url    *url.URL
	origin string // scheme, host and port, for messages and for the key
	key    Key
}

// newEndpoint checks the base URL and whether the key may go there (security
// E1). Errors name the URL without what could be secret in it.
func newEndpoint(cfg *Config, path string) (*endpoint, error) {
	if cfg.BaseURL == "" {
		return nil, fmt.Errorf("no base URL of a model endpoint")
	}
	u, err := url.Parse(cfg.BaseURL)
	switch {
	case err != nil:
		return nil, fmt.Errorf("base URL is no URL")
	case u.User != nil:
		return nil, fmt.Errorf("base URL for %q holds a user name or password; give the key apart", u.Host)
	case u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "", strings.HasSuffix(u.Host, ":"):
		return nil, fmt.Errorf("base URL %q is not of the form http(s)://HOST[:PORT]/v1", cfg.BaseURL)
	case u.Fragment != "":
		return nil, fmt.Errorf("base URL %q holds a fragment", cfg.BaseURL)
	}
	if i := badKeyByte(cfg.Key); i >= 0 {
		return nil, fmt.Errorf("the key holds a byte that no key has, at offset %d (a line break, or the wrong file?)", i)
	}
	if cfg.Key != "" && u.Scheme == "http" && !isLoopback(u.Hostname()) && !named(cfg.InsecureHTTP, u.Hostname()) {
		return nil, fmt.Errorf("the key would go to %q over plain http", u.Hostname())
	}
	base := strings.TrimRight(u.Path, "/")
	u.Path = strings.TrimSuffix(base, path) + path
	u.RawPath = ""
	return &endpoint{url: u, origin: originOf(u), key: cfg.Key}, nil
}

func badKeyByte(key Key) int {
	for i := range len(key) {
		if key[i] <= ' ' || key[i] > '~' {
			return i
		}
	}
	return -1
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
