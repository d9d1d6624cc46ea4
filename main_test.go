//go:build unix

package main

import (
	"testing"

	"github.com/spf13/pflag"

	"toolpipe/run"
)

// TestHelpGroups holds that the full help shows every flag, once: a flag that
// no group names would be missing from it.
func TestHelpGroups(t *testing.T) {
	fs, _ := flags(&run.Config{})
	shown := map[string]int{}
	for _, g := range groups {
		for _, name := range g.names {
			shown[name]++
		}
	}
	fs.VisitAll(func(f *pflag.Flag) {
		if shown[f.Name] != 1 {
			t.Errorf("--%s is in %d groups of the help", f.Name, shown[f.Name])
		}
		delete(shown, f.Name)
	})
	for name := range shown {
		t.Errorf("the help groups --%s, which is no flag", name)
	}
}
