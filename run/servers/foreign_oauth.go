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

// hostOAuthKeys are the keys of oauth in other hosts' files that mean one of
// ours: Claude Code, Gemini, opencode.
func hostOAuthKeys() map[string]string {
	return map[string]string{
		"clientId": "client_id", "clientSecret": "client_secret", "redirectUri": "redirect_uri", "clientMetadataUrl": "client_metadata_url",
		"clientName": "client_name", "authServerMetadataUrl": "metadata_url", "authorizationUrl": "authorization_url", "tokenUrl": "token_url",
	}
}

// hostOAuth reads oauth in another host's file. It says how a person signs in
// there; what is not known or not right is left out with a warning, and the server
// stays usable. A secret that is named and not there is an error, as elsewhere.
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
	for _, m := range v.Members() {
		if m.IsNull() {
			continue
		}
		spelling := m.Key
		m.Key = cmp.Or(hostOAuthKeys()[m.Key], m.Key)
		err := m.ReadKey(keys)
		switch {
		case err != nil && slices.Contains([]string{"client_secret", "client_secret_env", "private_key_file"}, m.Key):
			return nil, err
		case err != nil:
			e.warn("oauth_ignored", failure.Of(err).Message+": it is ignored")
		}
		if s.Grant == "" && (spelling != m.Key || m.Key == "grant") { // also where its value is ignored
			s.Grant = oauth.GrantCode // a secret there is that of a client with which a person signs in
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

// mendHostOAuth leaves out places that are of no use without what belongs to
// them: other hosts believe what stands at them.
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
