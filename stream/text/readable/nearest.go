package readable

import (
	"fmt"
	"strings"
)

// DidYouMean is a hint for the end of an error about a misspelt name, with a comma before it; ""
// if no candidate is near.
func DidYouMean(name string, candidates []string) string {
	if near := Nearest(name, candidates); near != "" {
		return fmt.Sprintf(", did you mean %q?", near)
	}
	return ""
}

// Nearest returns the candidate that a misspelt name most likely means, for the hint of an
// error: the one with the fewest differences from name, without regard to case. It returns ""
// if all have too many for its length. Names of more than 200 bytes are not compared.
func Nearest(name string, candidates []string) string {
	const longest = 200
	if len(name) > longest {
		return ""
	}
	best, least := "", min(len(name), 1+max(1, (len(name)+1)/3))
	folded := strings.ToLower(name)
	for _, c := range candidates {
		if len(c) > longest || len(c)-len(name) >= least || len(name)-len(c) >= least {
			continue
		}
		if d := editDistance(folded, strings.ToLower(c)); d < least {
			best, least = c, d
		}
	}
	return best
}

// editDistance is the least number of bytes to insert, delete or replace, and of
// neighbours to swap, that make a from b.
func editDistance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			cost := last[j]
			if a[i] != b[j] {
				cost++
			}
			cost = min(cost, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				cost = min(cost, before[j-1]+1)
			}
			row[j+1] = cost
		}
	}
	return row[len(b)]
}
