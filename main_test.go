//go:build unix

package main

import (
	"reflect"
	"testing"

	"toolpipe/run/config"
	"toolpipe/run/flags"
)

// TestFlags holds that the arguments can give every flag of the table, and that
// each changes the settings or asks for a text.
func TestFlags(t *testing.T) {
	values := map[string]string{"completion": "fish"} // of the flags that do not take 7
	for f := range flags.New(new(config.Config)).All() {
		if f.Name == "preset" { // its value must be in a config, so only scripts give it
			continue
		}
		word := "--" + f.Name
		if f.Bare() == "" {
			word += "=" + values[f.Name]
			if values[f.Name] == "" {
				word += "7"
			}
		}
		words := []string{word}
		if f.Short != "" {
			words = append(words, "-"+f.Short+word[len("--"+f.Name):])
		}
		for _, word := range words {
			given := new(config.Config)
			text, err := parse(given, []string{word})
			given.Args = nil
			if err != nil {
				t.Errorf("%s: %v", word, err)
			}
			if text == nil && reflect.DeepEqual(given, new(config.Config)) {
				t.Errorf("%s changes nothing", word)
			}
		}
	}
}
