package config

import (
	"slices"
	"strings"
)

// secretKeys are the keys under which other programs have a secret in the file.
var secretKeys = []string{"apikey", "key", "openaiapikey", "secret", "password", "token", "accesstoken", "keycommand", "apikeycommand"}

// hintOfOthers is what to write instead of a key of another program for a secret, and
// instead of a key of a profile that stands outside of one; "" for any other. known are
// the keys of the object that it stands in.
func hintOfOthers(key string, known []string) string {
	plain := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
	isSecret := slices.Contains(secretKeys, plain)
	switch {
	case isSecret && slices.Contains(known, "key_env"):
		return `the config holds no key: "key_env" names the variable that has it, "key_command" the program that prints it`
	case isSecret && slices.Contains(known, "auth_env"):
		return `"auth_env" names the variable that holds the bearer token, "token_command" the program that prints it, "headers" has keys of another kind`
	case slices.Contains(known, "models") && (isSecret || slices.Contains(namesOf(new(profile).keys()), key)):
		return `it belongs to a profile: "models": {"NAME": {"base_url": "…", "key_env": "VARIABLE"}}`
	}
	return ""
}
