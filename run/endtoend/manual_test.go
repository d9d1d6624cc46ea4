//go:build unix

package endtoend

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"toolpipe/run/manual"
	"toolpipe/testdata/load"
)

// TestManual runs every example of the manual, see runExample. An example that
// begins with { is a file: a policy or a config is read by toolpipe, and is
// the file ci.json or config.json of the page's other examples.
func TestManual(t *testing.T) {
	t.Parallel()
	for _, topic := range manual.Topics() {
		files := map[string]string{"notes.txt": "a note\n", "prompt.txt": "name three rivers\n", "names.txt": "Rhine\nElbe\n", "prompts/1": "a\n", "prompts/2": "b\n", "jobs.log": "Seq\n"}
		page := manual.Page(topic)
		for _, at := range regexp.MustCompile(`(?m)^\n((?:      .*\n)+)`).FindAllStringSubmatchIndex(page, -1) {
			name := fmt.Sprintf("%s/line%d", topic, 1+strings.Count(page[:at[2]], "\n"))
			example := strings.ReplaceAll("\n"+page[at[2]:at[3]], "\n      ", "\n")[1:]
			if strings.HasPrefix(example, "{") {
				t.Run(name, func(t *testing.T) { readExample(t, example, files) })
				continue
			}
			if strings.Contains(example, "--sandbox") && !hasLandlock() {
				continue
			}
			for _, on := range []string{"pipes", "terminal"} {
				t.Run(name+"/"+on, func(t *testing.T) {
					t.Parallel()
					if on == "terminal" {
						load.Variant(t)
					}
					runExample(t, example, files, on == "terminal")
				})
			}
		}
	}
}

// readExample has toolpipe read an example of a file, which it adds to files. The first policy
// of a page is the one that its commands are about.
func readExample(t *testing.T, text string, files map[string]string) {
	s := newScript(t, noFiles)
	defer s.close()
	name, command := "config.json", "toolpipe --list servers --config config.json => 0 4" // its servers do not exist
	switch {
	case !gjson.Valid(text):
		t.Fatalf("not JSON:\n%s", text)
	case gjson.Get(text, "rules").Exists():
		name, command = "ci.json", "toolpipe --list-tools --shell --files . --policy ci.json"
	}
	if name != "ci.json" || files[name] == "" {
		files[name] = text
	}
	s.env["GH_TOKEN"] = "x"
	for name, text := range map[string]string{name: text, "policy.json": `{"version":1,"rules":[]}`} {
		if err := os.WriteFile(filepath.Join(s.work, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.run(mustLine(t, command)); err != nil {
		t.Error(err)
	}
}

// TestManualFlags checks that every flag in the manual exists, and that it has
// all exit statuses.
func TestManualFlags(t *testing.T) {
	t.Parallel()
	s := newScript(t, noFiles)
	defer s.close()
	if err := s.run(mustLine(t, "toolpipe --help=all")); err != nil {
		t.Fatal(err)
	}
	known := append(longFlags(string(s.stdout)), "--read-only", "--json") // of the server db, and of bd
	others := regexp.MustCompile(`(?s)\b(parallel|sbatch) -.*?toolpipe |mcp-language-server -[^"]*"`)
	for _, topic := range manual.Topics() {
		for _, name := range longFlags(others.ReplaceAllString(otherPrograms.ReplaceAllString(manual.Page(topic), " "), " ")) {
			if !slices.Contains(known, name) {
				t.Errorf("%s.txt has %s, --help=all has not", topic, name)
			}
		}
	}
	for _, status := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "70", "134", "129", "130", "141", "143"} {
		if !strings.Contains(manual.Page("exit"), "\n  "+status+"  ") {
			t.Errorf("exit.txt has no line for exit status %s", status)
		}
	}
}

// TestManPage holds that the manual as roff is without a fault.
func TestManPage(t *testing.T) {
	t.Parallel()
	s := newScript(t, noFiles)
	defer s.close()
	for _, line := range []string{
		"toolpipe --help=man",
		"[!program:mandoc] skip needs mandoc",
		"sh 'toolpipe --help=man >toolpipe.1; mandoc -T lint toolpipe.1'",
		"! stdout .",
		`sh 'mandoc -T ascii toolpipe.1 | sed "s/.$(printf "\b")//g" | tr -s " \t"'`,
		"stdout -count=1 '^ --max-result-bytes N$'",
		"stdout '\\.git-credentials \\.htpasswd'",
	} {
		if err := s.run(mustLine(t, line)); err != nil {
			t.Fatalf("%s\n%v", line, err)
		}
	}
}
