package config

import (
	"path/filepath"
	"strings"
)

// neutralDir is where a stdio server runs unless its config says otherwise:
// not in the user's working directory, whose files could change what starts
// (security.md R5: launchers such as npx prefer local packages).
const neutralDir = "/"

// fromHere is a relative path as a shell makes it one from this directory.
func fromHere(path string) string {
	switch path = strings.TrimPrefix(path, "./"); {
	case path == "." || path == "":
		return `"$PWD"`
	case ShellQuote(path) == path:
		return `"$PWD/` + path + `"`
	}
	return `"$PWD"/` + ShellQuote(path)
}

// Misplaced are hints on arguments that are paths only in this directory: a
// server that starts elsewhere does not find them.
func (s *Server) Misplaced() (hints []string) {
	if s.URL != "" || s.Dir != neutralDir {
		return nil
	}
	for _, w := range s.Command[min(1, len(s.Command)):] {
		if w == "" || filepath.IsAbs(w) || exists(filepath.Join(s.Dir, w)) || !exists(w) {
			continue
		}
		if here, err := filepath.Abs(w); err == nil {
			hints = append(hints, "it starts in "+s.Dir+", where there is no "+ShellQuote(w)+"; that of this directory is "+ShellQuote(here))
		}
	}
	return hints
}
