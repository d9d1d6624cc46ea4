package servers

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"toolpipe/mcp/oauth"
	"toolpipe/run/document"
	"toolpipe/run/failure"
)

// hostOAuth reads oauth in another host's file, which says how a person signs in. Unknown and
// invalid keys are ignored with a warning, so that the server stays usable. A named secret that is
// missing is an error, as elsewhere.
func (e *entry) hostOAuth(v document.Value) (*oauth.Settings, error) {
	s, on := &oauth.Settings{}, v.Kind() != 'f'
	if !strings.ContainsRune("{tf", rune(v.Kind())) {
		e.warn("oauth_ignored", v.Origin()+": oauth is ignored: it is not an object")
		on = false
	}
	keys := append(e.oauthKeys(s), document.Keys(
		"enabled", func(m document.Member) error {
			enabled, err := m.Boolean()
			on = enabled || err != nil
			return err
		},
		"callbackPort", func(m document.Member) error {
			port, err := m.Count()
			if err == nil {
				s.RedirectURI = "http://localhost:" + strconv.Itoa(port) + "/callback"
			}
			return err
		})...)
	ours := map[string]string{ // by the key in files of Claude Code, Gemini and opencode
		"clientId": "client_id", "clientSecret": "client_secret", "redirectUri": "redirect_uri", "clientMetadataUrl": "client_metadata_url",
		"clientName": "client_name", "authServerMetadataUrl": "metadata_url", "authorizationUrl": "authorization_url", "tokenUrl": "token_url",
	}
	for _, m := range v.Members() {
		if m.IsNull() {
			continue
		}
		spelling := m.Key
		m.Key = cmp.Or(ours[m.Key], m.Key)
		err := m.ReadKey(keys)
		switch {
		case err != nil && slices.Contains([]string{"client_secret", "client_secret_env", "private_key_file"}, m.Key):
			return nil, err
		case err != nil:
			e.warn("oauth_ignored", failure.Of(err).Message+": it is ignored")
		}
		if s.Grant == "" && (spelling != m.Key || m.Key == "grant") { // even if its value is ignored
			s.Grant = oauth.GrantCode // a secret there belongs to a client with which a person signs in
		}
	}
	e.mendHostOAuth(v, s)
	if err := checkOAuth(v, s); err != nil {
		e.warn("oauth_ignored", v.Origin()+": oauth is ignored: "+failure.Of(err).Message)
	} else if on {
		return s, nil
	}
	return e.OAuth, nil
}

// mendHostOAuth drops addresses that are useless alone, such as a metadata URL without its issuer.
// Other hosts trust whatever such a URL returns.
func (e *entry) mendHostOAuth(v document.Value, s *oauth.Settings) {
	if s.MetadataURL != "" && s.Issuer == "" {
		s.MetadataURL = ""
		e.warn("oauth_ignored", v.Origin()+`: oauth: the metadata's address is ignored: it needs "issuer", the name that its document must have`)
	}
	if (s.AuthorizationURL == "") != (s.TokenURL == "") {
		s.AuthorizationURL, s.TokenURL = "", ""
		e.warn("oauth_ignored", v.Origin()+": oauth: an address is ignored: authorizationUrl and tokenUrl belong together")
	}
}
