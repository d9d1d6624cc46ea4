package schema

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Fault is one thing about a value that does not fit its schema.
type Fault struct {
	Path    string // of the part of the value, as a JSON Pointer; "" is the whole
	Keyword string // that it does not fit; "" where the text is not JSON
	Message string
}

func (f Fault) String() string {
	s := shown(f.Path) + ": "
	if f.Keyword != "" {
		s += f.Keyword + ": "
	}
	return s + f.Message
}

// Text joins faults to one line.
func Text(faults []Fault) string {
	var all []string
	for _, f := range faults {
		all = append(all, f.String())
	}
	return strings.Join(all, "; ")
}

// shown is a JSON Pointer for people.
func shown(path string) string {
	if path == "" {
		return "(the whole)"
	}
	return clip(path)
}

const maxFaults = 10

// add keeps a fault, once: two schemas may find the same.
func (c *check) add(path, keyword, format string, args ...any) {
	f := Fault{path, keyword, clip(fmt.Sprintf(format, args...))}
	if len(c.found) < maxFaults && !slices.Contains(c.found, f) {
		c.found = append(c.found, f)
	}
}

// clip shortens a text in its middle.
func clip(s string) string {
	const head, tail = 60, 140
	if len(s) <= head+tail {
		return s
	}
	from, to := head, len(s)-tail
	for !utf8.RuneStart(s[from]) {
		from--
	}
	for !utf8.RuneStart(s[to]) {
		to++
	}
	return s[:from] + " … " + s[to:]
}
