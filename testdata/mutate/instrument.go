package main

import (
	"bytes"
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// instrument returns the source with all changes built in whose edit can be. The
// lines keep their numbers.
func instrument(source []byte, mutants []*mutant) []byte {
	type insertion struct {
		at, until, order int // until: where the text is put when it replaces others
		text             string
	}
	var all []insertion
	for i, m := range mutants {
		e := m.edit
		if e.before == "" {
			continue
		}
		// At one place: the ends of edits, the inner ones first; then the beginnings,
		// the outer ones first. Of edits around the same node, the first one is outside.
		n := len(mutants)
		all = append(all, insertion{e.from, e.from, 2*n + 1 + i, strings.Replace(e.before, "#", strconv.Itoa(m.number), 1)},
			insertion{e.to, e.to, n - i, e.after})
		if e.opEnd > 0 {
			all = append(all, insertion{e.op, e.opEnd, 2 * n, ","})
		}
	}
	if len(all) == 0 {
		return source
	}
	slices.SortStableFunc(all, func(a, b insertion) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.order, b.order)) })
	var out bytes.Buffer
	from := 0
	for _, in := range all {
		out.Write(source[from:in.at])
		out.WriteString(in.text)
		from = in.until
	}
	out.Write(source[from:])
	clause := regexp.MustCompile(`(?m)^package \w+`)
	return clause.ReplaceAll(out.Bytes(), []byte(`$0; import "toolpipe/testdata/mutate/active"`))
}

// takeOut takes out the edits at the places that the compiler's errors name,
// "FILE:LINE:COLUMN: …", and returns how many these are.
func takeOut(errors []byte, files map[string][]*mutant, sources map[string][]byte) (n int) {
	for _, place := range regexp.MustCompile(`(?m)^(?:\./)?(\S+\.go):(\d+):\d+: `).FindAllSubmatch(errors, -1) {
		line, _ := strconv.Atoi(string(place[2]))
		for file, mutants := range files {
			if !strings.HasSuffix(string(place[1]), file) {
				continue
			}
			for _, m := range mutants {
				last := m.line + bytes.Count(sources[file][m.edit.from:m.edit.to], []byte("\n"))
				if m.edit.before != "" && m.line <= line && line <= last {
					m.edit.before = ""
					n++
				}
			}
		}
	}
	return n
}
