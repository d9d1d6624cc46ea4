//go:build unix

package endtoend

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFaultTable checks that every test which testdata/faults.md names exists.
func TestFaultTable(t *testing.T) {
	table, err := os.ReadFile("testdata/faults.md")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err = filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		prefix := filepath.Base(filepath.Dir(path)) + "."
		if prefix == "endtoend." {
			prefix = ""
		}
		for _, found := range function.FindAllSubmatch(text, -1) {
			tests[prefix+string(found[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, named := 0, regexp.MustCompile("`((?:\\w+\\.)?(?:Test|Fuzz)\\w+|script/\\w+)`")
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
