package toolbox

import (
	"slices"
	"strings"
	"testing"
)

// TestRanking holds which texts a query finds, and in which order.
func TestRanking(t *testing.T) {
	texts := []string{
		"read_file|Reads the contents of a file",
		"write_file|Writes text to a file and makes it if it is missing",
		"searchIssues|Search issues of a repository, also in a file of them",
		"run_query|Runs a query in the database",
		"list_tables|Lists the tables of the database",
	}
	r := newRanking(len(texts), func(i int, add func(string, float64)) {
		name, about, _ := strings.Cut(texts[i], "|")
		add(name, 3)
		add(about, 1)
	})
	for query, want := range map[string][]int{
		"":                     nil,
		"!":                    nil,
		"giraffe":              nil,
		"read file":            {0, 1, 2},
		"FILES":                {0, 1, 2},
		"issue":                {2},
		"repo":                 {2},
		"re":                   nil,
		"query the database":   {3, 4},
		"the of":               nil,
		"database database":    {3, 4},
		"list database tables": {4, 3},
	} {
		if got := r.best(query); !slices.Equal(got, want) {
			t.Errorf("%q finds %v, not %v", query, got, want)
		}
	}
	if got := newRanking(0, nil).best("x"); got != nil {
		t.Errorf("nothing has %v", got)
	}
}

// TestSearchWords holds what the words of a text are.
func TestSearchWords(t *testing.T) {
	for text, want := range map[string]string{
		"read_file":            "read file",
		"readFile-v2":          "read file v2",
		"gh__listPullRequests": "gh list pull request",
		"HTTPServer":           "httpserver",
		"Größe, Straße":        "größe straße",
		"class files is as":    "class file",
		"":                     "",
	} {
		if got := strings.Join(searchWords(text), " "); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}
