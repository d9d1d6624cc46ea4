package oauth

import (
	"strings"

	"toolpipe/mcp/wire"
)

// challenge is a Bearer challenge of WWW-Authenticate (RFC 9110, 11.6.1).
type challenge struct {
	metadata string // resource_metadata
	scopes   []string
	code     string // error
}

// InsufficientScope says whether a challenge asks for a token with more scopes.
func InsufficientScope(challenges []string) bool {
	return readChallenge(challenges).code == "insufficient_scope"
}

// readChallenge reads the first Bearer challenge in the values of the header;
// other schemes before or after it are skipped.
func readChallenge(values []string) challenge {
	var c challenge
	for _, v := range values {
		rest, ok := bearerPart(v)
		if !ok {
			continue
		}
		for ok && rest != "" {
			var name, value string
			name, value, rest, ok = nextParam(rest)
			switch strings.ToLower(name) {
			case "resource_metadata":
				c.metadata = value
			case "scope":
				c.scopes = strings.Fields(value)
			case "error":
				c.code = value
			}
		}
		return c
	}
	return c
}

// bearerPart returns the parameters of the scheme Bearer in a value.
func bearerPart(v string) (string, bool) {
	for i := 0; i+6 <= len(v); i++ {
		before := strings.TrimRight(v[:i], " \t")
		if strings.EqualFold(v[i:i+6], "bearer") && (before == "" || strings.HasSuffix(before, ",")) && (i+6 == len(v) || v[i+6] == ' ') {
			return strings.TrimLeft(v[i+6:], " "), true
		}
	}
	return "", false
}

// nextParam reads name=value or name="value" and the comma after it.
func nextParam(s string) (name, value, rest string, ok bool) {
	name, s, ok = strings.Cut(strings.TrimLeft(s, " \t,"), "=")
	name = strings.TrimSpace(name)
	if !ok || !wire.IsToken(name) {
		return "", "", "", false // the next scheme
	}
	s = strings.TrimLeft(s, " \t")
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, ",")
		return name, strings.TrimSpace(value), rest, true
	}
	var text []byte
	for i := 1; i < len(s); i++ {
		if s[i] == '"' {
			return name, string(text), s[i+1:], true
		}
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		text = append(text, s[i])
	}
	return "", "", "", false
}
