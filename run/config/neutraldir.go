package config

import (
	"path/filepath"
	"strings"
)

// neutralDir is the working directory of a stdio server unless its config says
// another. It is not the user's working directory, whose files could change
// what starts: launchers such as npx prefer packages that they find there.
const neutralDir = "/"

// fromHere writes a relative path for a shell so that it begins at the user's
// working directory.
func fromHere(path string) string {
	switch path = strings.TrimPrefix(path, "./"); {
	case path == "." || path == "":
		return `"$PWD"`
	case ShellQuote(path) == path:
		return `"$PWD/` + path + `"`
	}
	return `"$PWD"/` + ShellQuote(path)
}

// Misplaced returns a hint for each argument that names a file in the user's
// working directory but none in the directory in which the server starts.
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
