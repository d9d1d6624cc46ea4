package servers

import (
	"regexp"
	"slices"
	"testing"

	"toolpipe/mcp/oauth"
	"toolpipe/run/document"
	"toolpipe/run/manual"
)

// described are the keys that the manual describes, by the headings of their objects.
func described() map[string][]string {
	all := map[string][]string{}
	heading := ""
	for _, line := range regexp.MustCompile(`(?m)^\.(SS|B) (.+)$`).FindAllStringSubmatch(manual.Roff("config"), -1) {
		if line[1] == "SS" {
			heading = line[2]
		} else {
			all[heading] = append(all[heading], line[2])
		}
	}
	return all
}

// TestManual holds that the manual describes every key, under the heading of its
// object, and no other.
func TestManual(t *testing.T) {
	manual := described()
	for heading, keys := range map[string][]string{
		"KEYS OF A SERVER": document.NamesOf(new(entry).ownKeys()), "KEYS OF OAUTH": document.NamesOf(new(entry).oauthKeys(new(oauth.Settings))),
	} {
		for _, key := range keys {
			if !slices.Contains(manual[heading], key) && !slices.Contains([]string{"environment", "httpUrl", "serverUrl"}, key) {
				t.Errorf("config.txt: %s: %q is missing", heading, key)
			}
		}
		for _, key := range manual[heading] {
			if !slices.Contains(keys, key) {
				t.Errorf("config.txt: %s: there is no key %q", heading, key)
			}
		}
	}
}
