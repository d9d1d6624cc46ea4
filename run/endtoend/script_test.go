//go:build unix

package endtoend

import (
	"flag"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"

	"toolpipe/testdata/load"
)

var update = flag.Bool("update", false, "rewrite the expected output in scripts")

// TestScripts runs testdata/script/*.txt; testdata/script/README.md says what
// a script is. Each of its cases runs in a folder of its own, with real processes.
func TestScripts(t *testing.T) {
	t.Parallel()
	for _, file := range scriptFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			runScript(t, file)
		})
	}
}

// part is the part of the scripts and faults that is played, as load.In describes it. With the
// race detector .ci/run plays a seventh, by the number of the commit.
var part = os.Getenv("TOOLPIPE_SCRIPTS")

func scriptFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/script/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	return files
}

// runScript runs the cases of a file side by side.
func runScript(t *testing.T, file string) {
	a := readArchive(t, file)
	t.Cleanup(func() { // after the cases
		if a.updated && !t.Failed() {
			if err := os.WriteFile(file, []byte(a.join()), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
	cases, err := parseCases(a.sections[0].text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	run := func(t *testing.T, lines []scriptLine) {
		s := newScript(t, a)
		defer s.close()
		s.play(file, lines)
	}
	for _, one := range cases {
		if one.name == "" {
			if load.In(part, t.Name()) {
				run(t, one.lines)
			}
			continue
		}
		t.Run(one.name, func(t *testing.T) {
			if !load.In(part, t.Name()) {
				t.Skip("another part of the scripts, by TOOLPIPE_SCRIPTS")
			}
			if one.variant {
				load.Variant(t)
			}
			t.Parallel()
			run(t, one.lines)
		})
	}
}

func readArchive(t *testing.T, file string) *archive {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	a, err := splitArchive(string(text))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return a
}

// play runs lines, the commands of file, and checks what must hold at the end.
func (s *script) play(file string, lines []scriptLine) {
	for _, line := range lines {
		if err := s.run(line); err != nil {
			s.t.Errorf("%s:%d: %s\n%v", file, line.number, line.source, err)
			break
		}
	}
	if err := s.finish(); err != nil {
		s.t.Errorf("%s: at the end: %v", file, err)
	}
}

// TestEveryFlagHasAScript checks that a script uses each flag of
// `toolpipe --help=all`.
func TestEveryFlagHasAScript(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for _, file := range scriptFiles(t) {
		lines, err := parseScript(readArchive(t, file).sections[0].text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, line := range lines {
			if strings.Contains(line.source, "toolpipe ") {
				for _, name := range longFlags(line.source) {
					used[name] = true
				}
			}
		}
	}
	s := newScript(t, noFiles)
	defer s.close()
	if err := s.run(mustLine(t, "toolpipe --help=all")); err != nil {
		t.Fatal(err)
	}
	known := longFlags(string(s.stdout))
	if len(known) < 20 {
		t.Fatalf("--help=all shows only these flags: %q", known)
	}
	var missing []string
	for _, name := range known {
		if !used[name] {
			missing = append(missing, name)
		}
	}
	sort.Strings(missing)
	if len(missing) > 0 {
		t.Errorf("flags in --help=all that no script uses: %s", strings.Join(missing, " "))
	}
}

func mustLine(t *testing.T, source string) scriptLine {
	t.Helper()
	line, err := parseLine(source)
	if err != nil {
		t.Fatal(err)
	}
	return line
}
