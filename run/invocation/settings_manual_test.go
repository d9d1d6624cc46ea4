package invocation

import (
	"regexp"
	"slices"
	"testing"

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
		"KEYS": configKeys, "KEYS OF A PROFILE": profileKeys, "KEYS OF A PRESET": presetKeys, "KEYS OF SHELL": shellKeys,
	} {
		for _, key := range keys {
			if !slices.Contains(manual[heading], key) {
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
