package oauth

import (
	"cmp"
	"slices"
	"strings"

	"toolpipe/mcp/wire"
)

// challenge is the combined content of the WWW-Authenticate challenges of a response (RFC
// 9110, 11.6.1).
type challenge struct {
	metadata string   // resource_metadata
	scopes   []string // scope
	codes    []string // each error
	dpop     bool     // the scheme DPoP is one of them
}

// InsufficientScope reports whether a challenge asks for a token with more scopes.
func InsufficientScope(challenges []string) bool {
	return slices.Contains(readChallenge(challenges).codes, "insufficient_scope")
}

// WantsNonce reports whether a challenge asks for a proof with the server's nonce, which came
// with it.
func WantsNonce(challenges []string) bool {
	return slices.Contains(readChallenge(challenges).codes, codeUseNonce)
}

// readChallenge reads all challenges in the values of the header. A challenge counts if its
// scheme belongs to OAuth or it has a resource_metadata. For each parameter the first value
// counts.
func readChallenge(values []string) (c challenge) {
	for _, v := range values {
		for _, found := range splitChallenges(v) {
			if found.scheme != "bearer" && found.scheme != "dpop" && found.parameters["resource_metadata"] == "" {
				continue
			}
			c.dpop = c.dpop || found.scheme == "dpop"
			c.metadata = cmp.Or(c.metadata, found.parameters["resource_metadata"])
			if len(c.scopes) == 0 {
				c.scopes = strings.Fields(found.parameters["scope"])
			}
			if code := found.parameters["error"]; code != "" {
				c.codes = append(c.codes, code)
			}
		}
	}
	return c
}

// schemeChallenge is one challenge. Its names are in lower case.
type schemeChallenge struct {
	scheme     string
	parameters map[string]string
}

// splitChallenges reads a list of challenges. Commas may be missing. A word without a value
// begins a challenge. In a challenge such as "Negotiate a87421000492aa87" the second word
// therefore counts as another, unknown scheme.
func splitChallenges(v string) (all []schemeChallenge) {
	for {
		v = strings.TrimLeft(v, " \t,")
		rest := strings.TrimLeftFunc(v, func(r rune) bool { return wire.IsToken(string(r)) })
		word, after := v[:len(v)-len(rest)], strings.TrimLeft(rest, " \t")
		switch {
		case v == "":
			return all
		case word == "": // not a list: continue after the next comma
			_, v, _ = strings.Cut(v, ",")
		case strings.HasPrefix(after, "="):
			var value string
			value, v = cutValue(strings.TrimLeft(after[1:], " \t"))
			name := strings.ToLower(word)
			if len(all) == 0 {
				continue
			}
			if _, twice := all[len(all)-1].parameters[name]; !twice {
				all[len(all)-1].parameters[name] = value
			}
		default:
			all = append(all, schemeChallenge{strings.ToLower(word), map[string]string{}})
			v = after
		}
	}
}

// cutValue reads the value of a parameter at the beginning of s: a quoted string, which may
// contain commas, or everything before the next comma.
func cutValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		value, rest, _ = strings.Cut(s, ",")
		return strings.TrimRight(value, " \t"), rest
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
