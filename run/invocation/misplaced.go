package invocation

import (
	"slices"
	"strings"
	"toolpipe/run/document"
)

var secretKeys = []string{"apikey", "key", "openaiapikey", "secret", "password", "token", "accesstoken", "keycommand", "apikeycommand"}

// misplacedHint is a hint for a secret in the config, or for a key of a profile outside of one; ""
// for any other key. known are the keys of its object.
func misplacedHint(key string, known []string) string {
	plain := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
	if slices.Contains(secretKeys, plain) && slices.Contains(known, "key_env") {
		return `the config contains no key: "key_env" names the variable that has it, "key_command" the program that prints it`
	}
	if slices.Contains(secretKeys, plain) && slices.Contains(known, "auth_env") {
		return `"auth_env" names the variable with the bearer token, "token_command" the program that prints it, "headers" has keys of another kind`
	}
	if slices.Contains(known, "models") && (slices.Contains(secretKeys, plain) || slices.Contains(document.NamesOf(new(profile).keys()), key)) {
		return `it belongs to a profile: "models": {"NAME": {"base_url": "…", "key_env": "VARIABLE"}}`
	}
	return ""
}
