package oauth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"toolpipe/mcp/wire"
	"toolpipe/stream/netguard"
	"toolpipe/stream/text/jsontext"
)

// resource is the metadata that a server publishes about itself (RFC 9728).
type resource struct {
	id      string // the resource parameter for its tokens; "" for none
	issuers []string
	scopes  []string
	dpop    bool // it takes tokens that are bound to a key
}

// issuer is an authorization server: its metadata (RFC 8414), or the URLs that the user
// configured instead.
type issuer struct {
	Name             string   `json:"issuer"`
	AuthorizationURL string   `json:"authorization_endpoint"`
	TokenURL         string   `json:"token_endpoint"`
	RegistrationURL  string   `json:"registration_endpoint"`
	RevocationURL    string   `json:"revocation_endpoint"`
	AuthMethods      []string `json:"token_endpoint_auth_methods_supported"`
	Scopes           []string `json:"scopes_supported"`
	PKCE             []string `json:"code_challenge_methods_supported"`
	Documents        bool     `json:"client_id_metadata_document_supported"` // a client_id may be the URL of a metadata document
	DPoP             []string `json:"dpop_signing_alg_values_supported"`
	NamesItself      bool     `json:"authorization_response_iss_parameter_supported"` // redirects carry iss (RFC 9207)

	assumed bool // it is the server's own origin; nothing names it
	guessed bool // assumed, and without metadata: its endpoints are guessed
}

// maxShown limits the texts from outside in an address, a question or an error.
const maxShown = 8 << 10

const tooLong = "the names and URLs in the metadata at %s have more than 8 KiB"

// isShort reports whether texts from outside are short enough to be shown.
func isShort(texts ...string) bool { return len(strings.Join(texts, " ")) <= maxShown }

// discover finds the server's authorization server. previous is the issuer of the last
// sign-in; it is used again if the server still names it. The user's secrets never go to an
// issuer on another host that only the server named: an impostor would name its own issuer.
func (a *agent) discover(ctx context.Context, refusal *Refusal, previous string) (*resource, *issuer, error) {
	c, s := refusal.challenge(), a.settings
	r, err := a.protectedResource(ctx, c)
	if _, absent := errors.AsType[absence](err); absent && c.metadata == "" && refusal != nil && refusal.Status == http.StatusUnauthorized && s.SignsIn() {
		return a.originIssuer(ctx)
	}
	if err != nil {
		return nil, nil, err
	}
	if s.TokenURL != "" {
		return r, &issuer{Name: cmp.Or(s.Issuer, s.TokenURL), AuthorizationURL: s.AuthorizationURL, TokenURL: s.TokenURL, PKCE: []string{"S256"}}, nil
	}
	name, err := a.chooseIssuer(r, previous)
	if err != nil {
		return nil, nil, err
	}
	found, err := a.metadata(ctx, name)
	switch {
	case err != nil:
		return nil, nil, err
	case s.Issuer != "":
		a.vouched = []string{found.TokenURL, found.RegistrationURL, found.RevocationURL}
	case s.hasSecret() && !a.owns(found.TokenURL):
		return nil, nil, foreignIssuer(found.TokenURL)
	}
	// Many issuers could bind a token to a key even though the MCP server takes only bearer
	// tokens.
	if (r.dpop || c.dpop) && slices.Contains(found.DPoP, proofAlgorithm) {
		a.key, err = NewProofKey()
	}
	return r, found, err
}

// originIssuer is the authorization server of an MCP server from before RFC 9728, which asks
// for a token and has no metadata about itself: its own origin, without the path (MCP
// 2025-03-26, 2.3). If the origin has no metadata of an authorization server either, that
// revision's default endpoints are used.
func (a *agent) originIssuer(ctx context.Context) (*resource, *issuer, error) {
	r := &resource{id: *cmp.Or(a.settings.Resource, new(resourceOf(a.server)))} // RFC 8707 is newer than these servers, but harmless
	origin := strings.TrimSuffix(a.server.Scheme+"://"+strings.ToLower(a.server.Host), map[string]string{"http": ":80", "https": ":443"}[a.server.Scheme])
	a.revision = "2025-03-26"
	found, err := a.metadata(ctx, origin)
	if _, absent := errors.AsType[absence](err); absent {
		return r, &issuer{Name: origin, AuthorizationURL: origin + "/authorize", TokenURL: origin + "/token", RegistrationURL: origin + "/register", PKCE: []string{"S256"}, assumed: true, guessed: true}, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("the server does not publish its authorization server, and its origin is not used instead: %w", err)
	}
	found.assumed = true
	if a.settings.hasSecret() && !a.owns(found.TokenURL) {
		return nil, nil, foreignIssuer(found.TokenURL)
	}
	return r, found, nil
}

// chooseIssuer is the configured issuer, or else one that the server names.
func (a *agent) chooseIssuer(r *resource, previous string) (string, error) {
	switch {
	case a.settings.Issuer != "":
		return a.settings.Issuer, nil
	case len(r.issuers) == 0:
		return "", errors.New("the server names no authorization server")
	}
	name := r.issuers[max(0, slices.IndexFunc(r.issuers, a.owns))]
	switch {
	case a.settings.hasSecret() && !a.owns(name):
		return "", foreignIssuer(name)
	case r.names(previous) && !a.settings.hasSecret():
		return previous, nil
	}
	return name, nil
}

func (r *resource) names(issuer string) bool {
	return slices.ContainsFunc(r.issuers, func(named string) bool { return sameIssuer(named, issuer) })
}

// sameIssuer compares two names of issuers byte for byte, except that an empty path equals the
// path "/" (RFC 3986, 6.2.3): Google's servers and its authorization server, for example, write the
// slash differently (github/copilot-cli#4606).
func sameIssuer(a, b string) bool {
	short, long := min(a, b), max(a, b)
	u, err := url.Parse(short)
	return a == b || err == nil && u.Host != "" && short == u.Scheme+"://"+u.Host && long == short+"/"
}

// A SettingError is a failure that a setting in the config would fix.
type SettingError struct {
	message string
	Hint    string // the setting to add, without values from the server, which nobody has checked
	cause   error  // may be nil
}

func (e *SettingError) Error() string { return e.message }

func (e *SettingError) Unwrap() error { return e.cause }

// An absence is the answer of a server without the document: a 4xx status, or an answer that
// is not a JSON object, such as the page that some servers send for every address. A network
// or server failure, a redirection and a wrong document are not absences.
type absence struct{ error }

func (e absence) Unwrap() error { return e.error }

const issuerHint = `add to the server's "oauth" in the config: "issuer": "https://…", the issuer that the maker of the server documents`

const unsureHint = "does it need a login at all? If so, " + issuerHint

func foreignIssuer(address string) error {
	return &SettingError{
		fmt.Sprintf("the server names %q for its authorization, which is on another host; no credentials are sent there unless the config names the issuer", address),
		issuerHint, nil,
	}
}

// owns reports whether a URL from the server is on the server's own host.
func (a *agent) owns(raw string) bool {
	u, err := url.Parse(raw)
	return err == nil && sameHost(a.server, u)
}

// protectedResource reads the server's metadata. If there is none, the user must have
// configured the issuer.
func (a *agent) protectedResource(ctx context.Context, c challenge) (*resource, error) {
	urls := []string{c.metadata}
	if c.metadata == "" {
		urls = wellKnownResource(a.server)
	}
	r := &resource{id: resourceOf(a.server)}
	address, doc, missing := a.firstDocument(ctx, urls)
	bound := string(jsontext.Member(doc, "dpop_bound_access_tokens_required")) == "true" || slices.Contains(textsOf(doc, "dpop_signing_alg_values_supported"), proofAlgorithm)
	found := &resource{textOf(doc, "resource"), textsOf(doc, "authorization_servers"), textsOf(doc, "scopes_supported"), bound}
	if !isShort(slices.Concat(found.issuers, found.scopes, []string{found.id})...) {
		missing = fmt.Errorf(tooLong, address)
	}
	pin := a.settings.Resource
	switch {
	case missing == nil:
		r = found
		if !covers(r.id, a.server) && (pin == nil || *pin != r.id) {
			return nil, fmt.Errorf("the metadata at %s is about %q, not about this server", address, r.id)
		}
	case a.settings.Issuer == "" && a.settings.TokenURL == "":
		return nil, &SettingError{"the server does not publish its authorization server: " + missing.Error(), unsureHint, missing}
	}
	if pin != nil {
		r.id = *pin
	}
	return r, nil
}

// firstDocument fetches the document from the first address that has it. The error lists what
// is wrong with each address; it is an absence if every failure is one.
func (a *agent) firstDocument(ctx context.Context, urls []string) (address string, doc []byte, err error) {
	absent := true
	for _, address := range urls {
		doc, failed := a.document(ctx, address)
		if failed == nil {
			return address, doc, nil
		}
		none, is := errors.AsType[absence](failed)
		if absent = absent && is; is {
			failed = none.error
		}
		err = wire.JoinErrors(err, failed)
	}
	if absent {
		err = absence{err}
	}
	return "", nil, err
}

// wellKnownResource are the addresses to try for a server's metadata if the server names
// none.
func wellKnownResource(server *url.URL) []string {
	root := server.Scheme + "://" + server.Host + "/.well-known/oauth-protected-resource"
	return slices.Compact([]string{root + strings.TrimRight(server.EscapedPath(), "/"), root})
}

// covers reports whether a resource identifier is valid for the server: it has the same
// origin, and its path is a prefix of the server's path.
func covers(resource string, server *url.URL) bool {
	u, err := url.Parse(resource)
	if err != nil || u.Host == "" || netguard.Origin(u) != netguard.Origin(server) {
		return false
	}
	have, want := strings.TrimRight(server.Path, "/")+"/", strings.TrimRight(u.Path, "/")+"/"
	return strings.HasPrefix(have, want)
}

// resourceOf is the canonical form of the server's URL (RFC 8707).
func resourceOf(server *url.URL) string {
	u := *server
	u.Scheme, u.Host = strings.ToLower(u.Scheme), strings.ToLower(u.Host)
	if u.Path == "/" {
		u.Path = ""
	}
	return u.String()
}

// metadata reads the metadata of the issuer name from the first address that has it. The result has
// the issuer's own spelling of its name.
func (a *agent) metadata(ctx context.Context, name string) (*issuer, error) {
	u, err := url.Parse(name)
	if err != nil || u.Host == "" {
		return nil, fmt.Errorf("%q is not an issuer's URL", name)
	}
	urls := wellKnownIssuer(u)
	if a.settings.MetadataURL != "" {
		urls = []string{a.settings.MetadataURL}
	}
	address, doc, err := a.firstDocument(ctx, urls)
	if err != nil {
		return nil, err
	}
	found := &issuer{}
	json.Unmarshal(doc, found) // a member of another type counts as missing
	switch {
	case !isShort(found.AuthorizationURL, found.TokenURL, found.RegistrationURL, found.RevocationURL):
		return nil, fmt.Errorf(tooLong, address)
	case !sameIssuer(found.Name, name):
		return nil, fmt.Errorf("the metadata at %s belongs to issuer %q, not to %q", address, wire.Snippet([]byte(found.Name)), name)
	case found.TokenURL == "":
		return nil, fmt.Errorf("the metadata at %s has no token_endpoint", address)
	}
	return found, nil
}

func wellKnownIssuer(u *url.URL) []string {
	const oauth, openid = "/.well-known/oauth-authorization-server", "/.well-known/openid-configuration"
	root, path := u.Scheme+"://"+u.Host, strings.TrimRight(u.EscapedPath(), "/")
	return slices.Compact([]string{root + oauth + path, root + openid + path, root + path + openid})
}
