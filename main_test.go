//go:build unix

package main

import (
	"reflect"
	"testing"

	"toolpipe/run"
	"toolpipe/run/flags"
)

// TestFlags holds that the arguments can give every flag of the table, and that
// each changes the settings or asks for a text.
func TestFlags(t *testing.T) {
	for f := range flags.New(new(run.Config)).All() {
		word := "--" + f.Name
		if f.Bare() == "" {
			word += "=7"
		}
		words := []string{word}
		if f.Short != "" {
			words = append(words, "-"+f.Short+word[len("--"+f.Name):])
		}
		for _, word := range words {
			given := new(run.Config)
			text, err := parse(given, []string{word})
			given.Args = nil
			if err != nil {
				t.Errorf("%s: %v", word, err)
			}
			if text == "" && reflect.DeepEqual(given, new(run.Config)) {
				t.Errorf("%s changes nothing", word)
			}
		}
	}
}
