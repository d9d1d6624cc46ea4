package schema

import (
	"fmt"
	"slices"
	"strings"

	"toolpipe/stream/text/readable"
)

// Fault says which part of a value does not match its schema, and why.
type Fault struct {
	Path    string // a JSON Pointer to the part; "" is the whole value
	Message string // begins with the keyword that failed
}

func Text(faults []Fault) string {
	var all []string
	for _, f := range faults {
		all = append(all, shown(f.Path)+": "+f.Message)
	}
	return strings.Join(all, "; ")
}

func shown(path string) string {
	if path == "" {
		return "(the whole)"
	}
	return clip(path)
}

const maxFaults = 10

// add reports a fault once: two schemas may find the same fault.
func (c *check) add(path, keyword, format string, args ...any) {
	f := Fault{path, keyword + ": " + clip(fmt.Sprintf(format, args...))}
	if len(c.found) < maxFaults && !slices.Contains(c.found, f) {
		c.found = append(c.found, f)
	}
}

func clip(s string) string {
	const head, tail = 60, 140
	if len(s) <= head+tail {
		return s
	}
	first, last := readable.Ends(s, head, tail)
	return first + " … " + last
}
