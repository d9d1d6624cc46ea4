//go:build unix

package endtoend

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the expected output in scripts")

// TestScripts runs testdata/script/*.txt; testdata/script/README.md says what
// a script is. Each runs in a folder of its own, with real processes.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/script/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			t.Parallel()
			runScript(t, file)
		})
	}
}

func runScript(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	sections, err := splitArchive(string(text))
	if err != nil {
		t.Fatal(err)
	}
	s := newScript(t, sections)
	defer s.close()
	lines, err := parseScript(sections[0].text)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	s.play(file, lines)
	if s.updated && !t.Failed() {
		if err := os.WriteFile(file, []byte(joinArchive(s.sections)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// play runs lines, the commands of file, and holds what must be true at the end.
func (s *script) play(file string, lines []scriptLine) {
	for i, line := range lines {
		s.next = nil
		if i+1 < len(lines) {
			s.next = &lines[i+1]
		}
		err := s.run(line)
		if err == errSkip {
			break
		}
		if err != nil {
			s.t.Errorf("%s:%d: %s\n%v", file, line.number, line.source, err)
			break
		}
	}
	if err := s.finish(); err != nil {
		s.t.Errorf("%s: at the end: %v", file, err)
	}
}

// A section is one file of a text archive; the first has no name and holds
// the commands.
type section struct{ name, text string }

// splitArchive takes apart a text archive: sections begin with `-- name --`.
func splitArchive(text string) ([]section, error) {
	sections := []section{{}}
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "-- "); ok && strings.HasSuffix(name, " --") {
			sections = append(sections, section{name: strings.TrimSuffix(name, " --")})
			continue
		}
		sections[len(sections)-1].text += line
	}
	seen := map[string]bool{}
	for _, s := range sections {
		if seen[s.name] {
			return nil, fmt.Errorf("two sections %q", s.name)
		}
		seen[s.name] = true
	}
	return sections, nil
}

func joinArchive(sections []section) string {
	text := sections[0].text
	for _, s := range sections[1:] {
		text += "-- " + s.name + " --\n" + s.text
	}
	return text
}

// A scriptLine is one command. Its words are still to be expanded.
type scriptLine struct {
	number int
	source string
	negate bool
	words  []scriptWord
}

// A scriptWord is made of parts, of which the literal ones stand in single quotes.
type scriptWord []struct {
	text    string
	literal bool
}

// parseScript splits commands into words as a shell does: single quotes keep
// everything, double quotes keep spaces, a backslash keeps the next byte, and
// at the end of a line it joins the next line.
func parseScript(text string) (lines []scriptLine, err error) {
	number := 0
	pending, first := "", 0
	for raw := range strings.Lines(text) {
		number++
		raw = strings.TrimSuffix(raw, "\n")
		if pending == "" {
			first = number
		}
		if strings.HasSuffix(raw, `\`) {
			pending += strings.TrimSuffix(raw, `\`)
			continue
		}
		source := strings.TrimSpace(pending + raw)
		pending = ""
		if source == "" || strings.HasPrefix(source, "#") {
			continue
		}
		line := scriptLine{number: first, source: source}
		if rest, ok := strings.CutPrefix(source, "! "); ok {
			line.negate, source = true, rest
		}
		if line.words, err = splitWords(source); err != nil {
			return nil, fmt.Errorf("line %d: %v", first, err)
		}
		lines = append(lines, line)
	}
	return lines, nil
}

func splitWords(source string) (words []scriptWord, err error) {
	var word scriptWord
	inWord := false
	add := func(text string, literal bool) {
		inWord = true
		word = append(word, struct {
			text    string
			literal bool
		}{text, literal})
	}
	for i := 0; i < len(source); i++ {
		switch c := source[i]; c {
		case ' ', '\t':
			if inWord {
				words, word, inWord = append(words, word), nil, false
			}
		case '\'':
			end := strings.IndexByte(source[i+1:], '\'')
			if end < 0 {
				return nil, fmt.Errorf("a single quote is not closed")
			}
			add(source[i+1:i+1+end], true)
			i += end + 1
		case '"':
			add("", false)
			for i++; ; i++ {
				if i >= len(source) {
					return nil, fmt.Errorf("a double quote is not closed")
				}
				if source[i] == '"' {
					break
				}
				if source[i] == '\\' && i+1 < len(source) {
					i++
					add(source[i:i+1], true)
					continue
				}
				add(source[i:i+1], false)
			}
		case '\\':
			if i++; i < len(source) {
				add(source[i:i+1], true)
			}
		default:
			add(source[i:i+1], false)
		}
	}
	if inWord {
		words = append(words, word)
	}
	return words, nil
}

// expand replaces $NAME and ${NAME} outside single quotes.
func (w scriptWord) expand(lookup func(string) string) string {
	var out, plain strings.Builder
	flush := func() {
		out.WriteString(os.Expand(plain.String(), lookup))
		plain.Reset()
	}
	for _, part := range w {
		if part.literal {
			flush()
			out.WriteString(part.text)
		} else {
			plain.WriteString(part.text)
		}
	}
	flush()
	return out.String()
}

// TestEveryFlagHasAScript holds that each flag of `toolpipe --help=all` is
// used by a script.
func TestEveryFlagHasAScript(t *testing.T) {
	files, _ := filepath.Glob("testdata/script/*.txt")
	used := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sections, err := splitArchive(string(text))
		if err != nil {
			t.Fatal(err)
		}
		lines, err := parseScript(sections[0].text)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range lines {
			if strings.Contains(line.source, "toolpipe ") {
				for _, name := range longFlags(line.source) {
					used[name] = true
				}
			}
		}
	}
	s := newScript(t, []section{{}})
	defer s.close()
	if err := s.run(scriptLine{words: mustWords(t, "toolpipe --help=all")}); err != nil {
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

func mustWords(t *testing.T, source string) []scriptWord {
	t.Helper()
	words, err := splitWords(source)
	if err != nil {
		t.Fatal(err)
	}
	return words
}
