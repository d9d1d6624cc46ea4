package files

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"toolpipe/mcp/toolserver"
	"toolpipe/stream/text/jsontext"
)

// resultsOf offers texts as the results r1, r2 and so on.
func resultsOf(t *testing.T, limit int, texts ...string) func(tool, args string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("r%d", i+1)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s := NewResults(Results{Limit: limit, List: func() []byte { return []byte(strings.Repeat("r1 a__b {}\n", len(texts))) }, Open: func(id string) (*os.File, error) {
		return os.Open(filepath.Join(dir, id))
	}}, "1")
	return func(tool, args string) (string, error) {
		r, err := s.Call(t.Context(), tool, []byte(args), nil)
		if err != nil {
			return "", err
		}
		text := jsontext.Unquote(r.Content[0].Text)
		if r.IsError {
			return "", errors.New(text)
		}
		if len(text) > limit {
			t.Errorf("%s %s: %d bytes, the limit is %d", tool, args, len(text), limit)
		}
		return text, nil
	}
}

// TestResultsWhole holds that the answers lead through all of a text, whatever its lines.
func TestResultsWhole(t *testing.T) {
	texts := []string{"", "a", "a\n", "\n\n\n", strings.Repeat("line\n", 1000), strings.Repeat("é", 70_000), strings.Repeat("x", 3000) + "\n" + strings.Repeat("ab\n", 500) + strings.Repeat("y", 3000), "\x00\x01\n\x00"}
	numbers := regexp.MustCompile(`(?m)^\d+:`)
	goesOn := regexp.MustCompile(`\n\[toolpipe\] the answer is full; go on with (\w+) (\d+)\n$`)
	for _, limit := range []int{400, 1000, toolserver.MaxText} {
		call := resultsOf(t, limit, texts...)
		for i, want := range texts {
			var got strings.Builder
			for next, steps := `"start_line":1`, 0; next != "" && steps < 10_000; steps++ {
				answer, err := call("read", fmt.Sprintf(`{"id":"r%d",%s}`, i+1, next))
				if err != nil {
					t.Fatal(err)
				}
				_, part, _ := strings.Cut(answer, "\n")
				on := goesOn.FindStringSubmatch(part)
				if next, part = "", goesOn.ReplaceAllString(part, ""); on != nil {
					next = fmt.Sprintf(`"%s":%s`, on[1], on[2])
					if on[1] == "start_line" {
						part += "\n"
					}
				}
				if strings.Contains(answer, ": bytes ") { // the rest of a long line
					if size := len(want); got.Len()+len(part) < size {
						next = fmt.Sprintf(`"offset":%d`, got.Len()+len(part))
					}
				} else {
					part = numbers.ReplaceAllString(part, "")
				}
				got.WriteString(part)
			}
			if got.String() != want {
				t.Errorf("limit %d, text %d: %d bytes, want %d: %.60q", limit, i+1, got.Len(), len(want), got.String())
			}
		}
	}
}

// TestResultsGrep holds that matches are found in every line, that a long line is shown around its
// match, and that the answer says that it is full.
func TestResultsGrep(t *testing.T) {
	call := resultsOf(t, 2000, strings.Repeat("abc\n", 5000)+"needle\n", strings.Repeat("x", 1<<20-1000)+"needle"+strings.Repeat("y", 1<<20))
	for args, want := range map[string]string{
		`{"id":"r1","pattern":"needle"}`:               `^r1:5001:needle\n\[toolpipe\] matching lines: 1\n$`,
		`{"id":"r1","pattern":"needle","context":1}`:   `^r1-5000-abc\nr1:5001:needle\n`,
		`{"id":"r1","pattern":"b"}`:                    `(?s)^r1:1:abc\n.*the search stops here`,
		`{"id":"r1","pattern":"b","limit":2}`:          `^r1:1:abc\nr1:2:abc\n\[toolpipe\] the search stops here, after 2 matching lines`,
		`{"id":"r1","pattern":"nothing"}`:              `^\[toolpipe\] matching lines: 0\n$`,
		`{"id":"r2","pattern":"needle"}`:               `^r2:1:x{200,}needley+\[toolpipe: from offset 1047\d{3} of a long line\]\n`,
		`{"id":"r3","pattern":"needle"}`:               `^\[toolpipe\] r3 is no longer kept$`,
		`{"id":"r2","pattern":"needle","context":-1}`:  `^error: context is`,
		`{"id":"r2","pattern":"needle","context":100}`: `^error: context is`,
	} {
		answer, err := call("grep", args)
		if err != nil {
			answer = "error: " + err.Error()
		}
		if !regexp.MustCompile(want).MatchString(answer) {
			t.Errorf("%s: %.300q, want %s", args, answer, want)
		}
	}
}
