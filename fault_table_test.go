//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFaultTable holds that what testdata/faults.md names exists.
func TestFaultTable(t *testing.T) {
	table, err := os.ReadFile("testdata/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	for _, dir := range []string{".", "run", "mcp", "stream", "approve"} {
		files, _ := filepath.Glob(filepath.Join(dir, "*_test.go"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, found := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllSubmatch(text, -1) {
				name := string(found[1])
				if dir != "." {
					name = dir + "." + name
				}
				tests[name] = true
			}
		}
	}
	rows, named := 0, regexp.MustCompile("`((?:(?:run|mcp|stream|approve)\\.)?(?:Test|Fuzz)\\w+|script/\\w+)`")
	for line := range strings.Lines(string(table)) {
		if !strings.HasPrefix(line, "| C") {
			continue
		}
		rows++
		names := named.FindAllStringSubmatch(line, -1)
		if len(names) == 0 && !strings.Contains(line, "does not apply") {
			t.Errorf("nothing holds this row, and no reason is given: %s", line)
		}
		for _, name := range names {
			if script, ok := strings.CutPrefix(name[1], "script/"); ok {
				if _, err := os.Stat(filepath.Join("testdata", "script", script+".txt")); err != nil {
					t.Error(err)
				}
			} else if !tests[name[1]] {
				t.Errorf("there is no test %s: %s", name[1], line)
			}
		}
	}
	if rows < 120 {
		t.Errorf("only %d rows", rows)
	}
}
