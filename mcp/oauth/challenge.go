package oauth

import (
	"regexp"
	"strings"
)

// challenge is a Bearer challenge of WWW-Authenticate (RFC 9110, 11.6.1).
type challenge struct {
	metadata string // resource_metadata
	scopes   []string
	code     string // error
}

// InsufficientScope reports whether a challenge asks for a token with more scopes.
func InsufficientScope(challenges []string) bool {
	return readChallenge(challenges).code == "insufficient_scope"
}

// readChallenge reads the first Bearer challenge in the values of the header;
// other schemes before or after it are skipped.
func readChallenge(values []string) (c challenge) {
	scheme := regexp.MustCompile(`(?i)(?:^|,)[ \t]*bearer(?: |$)`)
	parameter := regexp.MustCompile(`^[ \t,]*([-!#$%&'*+.^_|~\w]+)[ \t]*=[ \t]*(?:"((?:[^"\\]|\\.)*)"|([^",]*))`)
	escape := regexp.MustCompile(`\\(.)`)
	for _, v := range values {
		at := scheme.FindStringIndex(v)
		if at == nil {
			continue
		}
		for v = v[at[1]:]; ; {
			found := parameter.FindStringSubmatch(v)
			if found == nil { // the end, or the next scheme
				return c
			}
			v = v[len(found[0]):]
			value := escape.ReplaceAllString(found[2], "$1") + strings.TrimSpace(found[3])
			switch strings.ToLower(found[1]) {
			case "resource_metadata":
				c.metadata = value
			case "scope":
				c.scopes = strings.Fields(value)
			case "error":
				c.code = value
			}
		}
	}
	return c
}
