//go:build unix

package endtoend

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// An archive is a text file that holds files: each section begins with a line
// `-- name --`, except the first, which has no name and holds the commands.
type archive struct {
	sections []section

	mu      sync.Mutex
	updated bool
}

type section struct{ name, text string }

// noFiles is the archive of a script that is written in Go.
var noFiles = &archive{sections: []section{{}}}

func splitArchive(text string) (*archive, error) {
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
	return &archive{sections: sections}, nil
}

func (a *archive) files() []section {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.sections[1:])
}

// replace changes the text of the file name, and reports whether the file exists.
func (a *archive) replace(name, text string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range a.sections {
		if i > 0 && a.sections[i].name == name {
			a.sections[i].text, a.updated = text, true
			return true
		}
	}
	return false
}

func (a *archive) join() string {
	text := a.sections[0].text
	for _, s := range a.sections[1:] {
		text += "-- " + s.name + " --\n" + s.text
	}
	return text
}

// A scriptCase is one scenario of a script. A script without a line `=== case
// NAME` is one case without a name; lines before the first such line belong to
// every case. `=== variant NAME` begins a case that is played with TOOLPIPE_LOAD only.
type scriptCase struct {
	name    string
	variant bool
	lines   []scriptLine
}

func parseCases(text string) (cases []scriptCase, err error) {
	lines, err := parseScript(text)
	if err != nil {
		return nil, err
	}
	var common []scriptLine
	seen := map[string]bool{}
	for _, line := range lines {
		name, begins := strings.CutPrefix(line.source, "=== case ")
		variant := false
		if !begins {
			name, variant = strings.CutPrefix(line.source, "=== variant ")
			begins = variant
		}
		switch {
		case begins && seen[name]:
			return nil, fmt.Errorf("line %d: two cases %q", line.number, name)
		case begins:
			seen[name] = true
			cases = append(cases, scriptCase{name, variant, slices.Clone(common)})
		case len(cases) == 0:
			common = append(common, line)
		default:
			last := &cases[len(cases)-1]
			last.lines = append(last.lines, line)
		}
	}
	if len(cases) == 0 {
		cases = []scriptCase{{lines: common}}
	}
	return cases, nil
}

// A scriptLine is one command. Its words are not expanded yet.
type scriptLine struct {
	number     int
	source     string
	conditions []string // of [NAME] before the command
	negate     bool
	words      []scriptWord
	statuses   []string // after =>; empty means 0
}

// A scriptWord is made of parts; the literal ones were in single quotes.
type scriptWord []struct {
	text    string
	literal bool
}

// isArrow reports whether the word is => without quotes.
func (w scriptWord) isArrow() bool {
	return len(w) == 2 && w[0].text == "=" && w[1].text == ">" && !w[0].literal && !w[1].literal
}

// parseScript splits the text into commands; a backslash at the end of a line
// joins the next line.
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
		line, err := parseLine(source)
		if err != nil {
			return nil, fmt.Errorf("line %d: %v", first, err)
		}
		line.number = first
		lines = append(lines, line)
	}
	return lines, nil
}

// parseLine takes apart `[CONDITION]… [!] WORD… [=> STATUS…]`.
func parseLine(source string) (line scriptLine, err error) {
	line.source = source
	for strings.HasPrefix(source, "[") {
		condition, rest, ok := strings.Cut(source[1:], "] ")
		if !ok {
			return line, errors.New("a condition without a command")
		}
		line.conditions = append(line.conditions, condition)
		source = strings.TrimSpace(rest)
	}
	if rest, ok := strings.CutPrefix(source, "! "); ok {
		line.negate, source = true, rest
	}
	line.words, err = splitWords(source)
	if at := slices.IndexFunc(line.words, scriptWord.isArrow); err == nil && at >= 0 {
		for _, word := range line.words[at+1:] {
			status := word.expand(func(string) string { return "" })
			if _, bad := strconv.Atoi(status); bad != nil && status != "any" {
				return line, fmt.Errorf("%q is not a status", status)
			}
			line.statuses = append(line.statuses, status)
		}
		line.words = line.words[:at]
		if len(line.statuses) == 0 || at == 0 {
			return line, errors.New("=> without a command or a status")
		}
	}
	return line, err
}

// splitWords splits a command into words as a shell does: single quotes keep
// everything, double quotes keep spaces, a backslash keeps the next byte.
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
