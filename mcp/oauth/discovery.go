package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"toolpipe/mcp/netguard"
	"toolpipe/mcp/wire"
	"toolpipe/stream/jsontext"
)

// issuer is an authorization server.
type issuer struct {
	name, tokenURL string
	methods        []string // token_endpoint_auth_methods_supported
}

// discover finds the issuer. Where no issuer is configured, only one on the
// server's own host is used.
func (g *Grant) discover(ctx context.Context, c challenge) error {
	resource, err := g.protectedResource(ctx, c)
	if err != nil {
		return err
	}
	servers := jsontext.Strings(jsontext.Member(resource, "authorization_servers"))
	name := g.credentials.Issuer
	switch {
	case name == "" && len(servers) == 0:
		return errors.New("the server names no authorization server")
	case name == "":
		name = servers[max(0, slices.IndexFunc(servers, g.owns))]
		if !g.owns(name) {
			return &ForeignIssuer{name, name}
		}
	case resource != nil && !slices.Contains(servers, name):
		return fmt.Errorf("the server does not name the configured issuer %q but %q", name, servers)
	}
	if len(g.scopes) == 0 && len(c.scopes) == 0 {
		g.scopes = jsontext.Strings(jsontext.Member(resource, "scopes_supported"))
	}
	found, err := g.metadata(ctx, name)
	if err == nil && g.credentials.Issuer == "" && !g.owns(found.tokenURL) {
		err = &ForeignIssuer{name, found.tokenURL}
	}
	if err == nil {
		g.issuer = found
	}
	return err
}

// ForeignIssuer is the refusal to send the credentials to another host that
// only the server named: an impostor would name its own.
type ForeignIssuer struct{ issuer, place string }

func (e *ForeignIssuer) Error() string {
	return fmt.Sprintf("the server names %q for its authorization, which is not on its own host; no credentials are sent there unless the config names the issuer", e.place)
}

// Hint says how to configure the issuer.
func (e *ForeignIssuer) Hint() string {
	return fmt.Sprintf(`if that is the right authorization server, add to the server's "oauth" in the config: "issuer": %s`, jsontext.Quoted(e.issuer))
}

// owns says whether a URL that the server gave is on its own host.
func (g *Grant) owns(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && sameHost(g.server, u)
}

// trusts says whether a request to u needs no guard against private addresses:
// u is on the server's own host or the configured issuer's, or is the token
// endpoint that this issuer names.
func (g *Grant) trusts(u *url.URL) bool {
	if sameHost(g.server, u) {
		return true
	}
	named, err := url.Parse(g.credentials.Issuer)
	pinned := err == nil && named.Host != "" && netguard.Origin(named) == netguard.Origin(u) ||
		g.credentials.Issuer != "" && g.issuer != nil && u.String() == g.issuer.tokenURL
	return pinned && (u.Scheme == "https" || IsLoopback(u.Hostname()))
}

// sameHost says whether a URL is on the server's own host: the same origin,
// or, where both are on this machine, any port.
func sameHost(server, u *url.URL) bool {
	return netguard.Origin(u) == netguard.Origin(server) || IsLoopback(server.Hostname()) && IsLoopback(u.Hostname())
}

// protectedResource reads the server's metadata; nil when there is none and an
// issuer is configured.
func (g *Grant) protectedResource(ctx context.Context, c challenge) ([]byte, error) {
	places := []string{c.metadata}
	if c.metadata == "" {
		places = wellKnownResource(g.server)
	}
	var failures []error
	for _, place := range places {
		doc, err := g.document(ctx, place)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if resource := jsontext.Text(jsontext.Member(doc, "resource")); !covers(resource, g.server) {
			return nil, fmt.Errorf("the metadata at %s is about %q, not about this server", place, resource)
		}
		return doc, nil
	}
	if g.credentials.Issuer != "" {
		return nil, nil
	}
	return nil, wire.JoinErrors(failures...)
}

// wellKnownResource are the places of a server's metadata where it names none.
func wellKnownResource(server *url.URL) []string {
	const known = "/.well-known/oauth-protected-resource"
	root := server.Scheme + "://" + server.Host + known
	if path := strings.TrimRight(server.EscapedPath(), "/"); path != "" {
		return []string{root + path, root}
	}
	return []string{root}
}

// covers says whether a resource identifier is the server's: it has the same
// origin, and the server's path begins with its path.
func covers(resource string, server *url.URL) bool {
	u, err := url.Parse(resource)
	if err != nil || u.Host == "" || netguard.Origin(u) != netguard.Origin(server) {
		return false
	}
	have, want := strings.TrimRight(server.Path, "/")+"/", strings.TrimRight(u.Path, "/")+"/"
	return strings.HasPrefix(have, want)
}

// metadata reads the issuer's metadata from the first place that has it. The
// issuer in it must be name, byte for byte.
func (g *Grant) metadata(ctx context.Context, name string) (*issuer, error) {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is not an issuer's URL", name)
	}
	var failures []error
	for _, place := range wellKnownIssuer(u) {
		doc, err := g.document(ctx, place)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		if said := jsontext.Text(jsontext.Member(doc, "issuer")); said != name {
			return nil, fmt.Errorf("the metadata at %s is that of issuer %q", place, said)
		}
		found := &issuer{name, jsontext.Text(jsontext.Member(doc, "token_endpoint")), jsontext.Strings(jsontext.Member(doc, "token_endpoint_auth_methods_supported"))}
		if found.tokenURL == "" {
			return nil, fmt.Errorf("the metadata at %s has no token_endpoint", place)
		}
		return found, nil
	}
	return nil, wire.JoinErrors(failures...)
}

// wellKnownIssuer are the places of an issuer's metadata.
func wellKnownIssuer(u *url.URL) []string {
	const oauth, openid = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	root := u.Scheme + "://" + u.Host
	path := strings.TrimRight(u.EscapedPath(), "/")
	if path == "" {
		return []string{root + oauth, root + openid}
	}
	return []string{root + oauth + path, root + openid + path, root + path + openid}
}
