package config

import (
	"regexp"
	"slices"
	"testing"

	"toolpipe/mcp/oauth"
	"toolpipe/run/manual"
)

// TestManual holds that the manual describes every key of the config, under the
// heading of its object, and no other.
func TestManual(t *testing.T) {
	described := map[string][]string{}
	heading := ""
	for _, line := range regexp.MustCompile(`(?m)^\.(SS|B) (.+)$`).FindAllStringSubmatch(manual.Roff("config"), -1) {
		if line[1] == "SS" {
			heading = line[2]
		} else {
			described[heading] = append(described[heading], line[2])
		}
	}
	for heading, keys := range map[string][]string{
		"KEYS": configKeys, "KEYS OF A PROFILE": profileKeys, "KEYS OF A SERVER": serverKeys, "KEYS OF OAUTH": namesOf(new(entry).oauthKeys(new(oauth.Settings))), "KEYS OF SHELL": shellKeys,
	} {
		for _, key := range keys {
			if !slices.Contains(described[heading], key) && !slices.Contains([]string{"environment", "httpUrl", "serverUrl"}, key) { // other names of env and url
				t.Errorf("config.txt: %s: %q is missing", heading, key)
			}
		}
		for _, key := range described[heading] {
			if !slices.Contains(keys, key) {
				t.Errorf("config.txt: %s: there is no key %q", heading, key)
			}
		}
	}
}
