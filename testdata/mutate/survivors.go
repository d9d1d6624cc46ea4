package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// survivors are the changes that are known to survive. A line of survivors.txt has
// the source file, the function, the change and the reason, separated by tabs. It
// has no line number, so that it stays valid when other code changes.
type survivors map[string]*survivor

type survivor struct {
	tried, survived bool
}

func readSurvivors(file string) (survivors, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	known, number := survivors{}, 0
	for line := range strings.Lines(string(text)) {
		number++
		if line = strings.TrimSuffix(line, "\n"); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) != 4 || fields[3] == "" {
			return nil, fmt.Errorf("%s:%d: not a file, a function, a change and a reason, with tabs between", file, number)
		}
		known[strings.Join(fields[:3], "\t")] = &survivor{}
	}
	return known, nil
}

// tried records whether a mutant survived, and reports whether it is a known one.
func (s survivors) tried(m *mutant, survived bool) bool {
	k := s[m.file+"\t"+m.function+"\t"+m.what]
	if k == nil {
		return false
	}
	k.tried = true
	k.survived = k.survived || survived
	return true
}

// stale returns the known survivors that were tried and did not survive.
func (s survivors) stale() (stale []string) {
	for key, k := range s {
		if k.tried && !k.survived {
			stale = append(stale, key)
		}
	}
	slices.Sort(stale)
	return stale
}
