package servers

import (
	"path/filepath"
	"slices"
	"strings"

	"toolpipe/run/config"
	"toolpipe/run/failure"
)

// NeutralDir is the default working directory of a stdio server. Files in the user's working directory
// could change what starts: launchers such as npx prefer packages that they find in it.
const NeutralDir = "/"

// place sets the working directory of a command server if neither a flag nor its entry has one. A
// relative path in its command line then makes the server unusable: "." would mean the whole disk.
func (s *Server) place() {
	if len(s.Command) == 0 {
		return
	}
	program := s.Command[0]
	isRelative := strings.Contains(program, "/") && !filepath.IsAbs(program)
	if s.Dir != "" {
		if isRelative {
			s.Command[0] = filepath.Join(s.Dir, program)
		}
		return
	}
	s.Dir = NeutralDir
	if isRelative {
		s.unusable(s.relative(program))
	} else if i := slices.IndexFunc(s.Command[1:], isRelativePath); i >= 0 {
		s.unusable(s.relative(s.Command[1+i]))
	}
}

// isRelativePath reports whether an argument, or the part after its =, is a path relative to the
// working directory.
func isRelativePath(w string) bool {
	for _, p := range [...]string{w, w[strings.IndexByte(w, '=')+1:]} {
		if p == "." || p == ".." || strings.HasPrefix(p, "./") || strings.HasPrefix(p, "../") {
			return true
		}
	}
	return false
}

func (s *Server) relative(w string) *failure.Error {
	hint, flag := "in a config write "+fromHere(w, "${PWD}")+`, or give the server a "cwd"`, "--mcp-cwd "
	if s.fromFlag {
		hint = `write "` + fromHere(w, "$PWD") + `" instead of ` + config.ShellQuote(w)
	}
	if s.own {
		flag += s.Name + "="
	}
	return failure.UsageError([]string{hint, flag + ". starts it in this directory"},
		"%s: server %q: %s is a relative path, but the server starts in %s", s.origin, s.Name, config.ShellQuote(w), NeutralDir)
}

// fromHere writes a relative path so that it starts at the user's working directory, written as
// here.
func fromHere(w, here string) string {
	option, path := w[:strings.IndexByte(w, '=')+1], w[strings.IndexByte(w, '=')+1:]
	if path = strings.TrimPrefix(path, "./"); path == "." || path == "" {
		return option + here
	}
	return option + here + "/" + path
}

// Misplaced returns a hint for each argument that names a file in the user's working directory but
// not in the server's, and a hint for a program name that contains its arguments.
func (s *Server) Misplaced() (hints []string) {
	if s.URL != "" || len(s.Command) == 0 {
		return nil
	}
	if words, err := config.SplitWords(s.Command[0]); err == nil && len(words) > 1 && !s.fromFlag && !config.Exists(s.Command[0]) {
		args := make([]string, len(words)-1)
		for i, w := range words[1:] {
			args[i] = `"` + w + `"`
		}
		hints = append(hints, `"command" is only the program: "command": "`+words[0]+`", "args": [`+config.JoinWords(args)+`]`)
	}
	if s.Dir != NeutralDir {
		return hints
	}
	for _, w := range s.Command[1:] {
		if w == "" || filepath.IsAbs(w) || config.Exists(filepath.Join(s.Dir, w)) || !config.Exists(w) {
			continue
		}
		if here, err := filepath.Abs(w); err == nil {
			hints = append(hints, "it starts in "+s.Dir+", where there is no "+config.ShellQuote(w)+"; the path from this directory is "+config.ShellQuote(here))
		}
	}
	return hints
}
