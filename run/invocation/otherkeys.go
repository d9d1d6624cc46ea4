package invocation

import (
	"slices"
	"strings"
	"toolpipe/run/document"
)

// keysOfOthers are keys of other programs that people write into the config, in lower case and
// without separators, and the corresponding keys of toolpipe.
var keysOfOthers = []struct {
	ours, others string
}{
	{"base_url", "apibase endpoint url apiurl host openaiapibase"},
	{"api", "provider dialect wireapi type"},
	{"params", "maxtokens temperature topp stop seed extrabody options"},
	{"key_env", "apikeyenv envkey apikeyenvvar"},
	{"idle_timeout", "timeout idletimeout"},
	{"mcpServers", "servers mcp tools"},
	{"models", "profiles providers modelproviders"},
	{"auto_approve", "autoapprove alwaysallow allow allowedtools permissions"},
	{"max_rounds", "maxturns maxiterations maxsteps"},
	{"tool_timeout", "timeout tooltimeoutsec timeoutms"},
	{"startup_timeout", "startuptimeoutsec startuptimeoutms"},
	{"tools", "includetools enabledtools allowedtools"},
	{"exclude_tools", "excludetools disabledtools"},
	{"auth_env", "bearertokenenvvar tokenenv"},
	{"headers", "httpheaders requestinit"},
	{"trusted", "trust"},
	{"cwd", "workingdirectory dir workdir"},
	{"required", "optional"},
	{"url", "endpoint"},
}

var secretKeys = []string{"apikey", "key", "openaiapikey", "secret", "password", "token", "accesstoken", "keycommand", "apikeycommand"}

// hintOfOthers is a hint for a key of another program; "" for none. known are the keys of its
// object.
func hintOfOthers(key string, known []string) string {
	plain := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
	if slices.Contains(secretKeys, plain) && slices.Contains(known, "key_env") {
		return `the config contains no key: "key_env" names the variable that has it, "key_command" the program that prints it`
	}
	if slices.Contains(secretKeys, plain) && slices.Contains(known, "auth_env") {
		return `"auth_env" names the variable with the bearer token, "token_command" the program that prints it, "headers" has keys of another kind`
	}
	for _, k := range keysOfOthers {
		if slices.Contains(known, k.ours) && slices.Contains(strings.Fields(k.others), plain) {
			return `here this is "` + k.ours + `"`
		}
	}
	if slices.Contains(known, "models") && (slices.Contains(secretKeys, plain) || slices.Contains(document.NamesOf(new(profile).keys()), key)) {
		return `it belongs to a profile: "models": {"NAME": {"base_url": "…", "key_env": "VARIABLE"}}`
	}
	return ""
}
