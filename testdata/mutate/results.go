package main

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"strings"
)

// results are what became of changes in earlier runs and in this one. A line of
// their file has the change, a hash of the function that it is in, the outcome,
// and the test that noticed it.
type results struct {
	file *os.File // nil: they are not kept
	old  map[string][2]string
	seen map[string]int
}

func openResults(path string) (*results, error) {
	r := &results{old: map[string][2]string{}, seen: map[string]int{}}
	if path == "" {
		return r, nil
	}
	var err error
	if r.file, err = os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(r.file)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t"); len(fields) == 3 {
			r.old[fields[0]] = [2]string{fields[1], fields[2]}
		}
	}
	return r, nil
}

func (r *results) close() {
	if r.file != nil {
		r.file.Close()
	}
}

// of returns what became of a change. A change that no test noticed is to be tried
// again: tests may have come.
func (r *results) of(m *mutant) (o outcome, by string, done bool) {
	// The same change may be possible at several places of a function.
	name := m.file + " " + m.function + " " + m.what
	r.seen[name]++
	m.key = fmt.Sprintf("%s #%d %.8x", name, r.seen[name], sha256.Sum256([]byte(m.text)))
	was, done := r.old[m.key]
	o = outcome(was[0])
	return o, was[1], done && (o == killed || o == slow)
}

func (r *results) add(m *mutant, o outcome, by string) {
	if r.file != nil {
		fmt.Fprintf(r.file, "%s\t%s\t%s\n", m.key, o, by)
	}
}
